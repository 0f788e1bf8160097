"""Outputs: objects in the formats of other projects, which repeat what muster has decided."""
