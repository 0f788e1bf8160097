"""`muster history`: the transitions of an object."""
