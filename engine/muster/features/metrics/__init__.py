"""Metrics and traces of runs."""
