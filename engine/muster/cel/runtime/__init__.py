"""What compiled expressions call: operators on plain Python values, with CEL's semantics."""
