"""The way: what is the least that has to change, or how long to wait, until something comes about."""
