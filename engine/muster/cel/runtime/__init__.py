"""What compiled expressions call: operators over plain values with CEL's semantics."""
