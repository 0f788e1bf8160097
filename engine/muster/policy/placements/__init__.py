"""Placements as they are written: read, compiled and checked once, so that deciding only evaluates."""
