"""The type checker: the types of an expression's parts, and what is wrong with it, before there is any data."""
