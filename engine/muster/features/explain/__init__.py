"""`muster explain` and `muster describe`: why a field is what it is."""
