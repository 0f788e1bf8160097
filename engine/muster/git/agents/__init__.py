"""Agents' refs: fetching them, reading them, what relays collect, who signed."""
