"""Projections: files for the tools that act on what muster decides."""
