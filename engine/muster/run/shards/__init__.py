"""Whole fleets in shards: cut, evaluated by workers, and gathered."""
