"""Placements: how they are compiled, and the stage that chooses clusters."""
