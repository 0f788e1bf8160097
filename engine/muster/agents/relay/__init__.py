"""Relays: what many agents say becomes one commit."""
