"""`muster lint`: things that are valid but probably unintended."""
