"""`muster validate`: the pre-commit hook."""
