"""What this muster is: its version, its kinds, and its completion for shells."""
