"""Drills: what may be lost, and what must hold then."""
