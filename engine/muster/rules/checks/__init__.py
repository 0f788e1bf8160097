"""Validation: what is wrong with a fleet before anything is decided."""
