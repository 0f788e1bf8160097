"""Agents of clusters: what runs one, and many at once from a table."""
