"""Remedies: which actions each cluster needs."""
