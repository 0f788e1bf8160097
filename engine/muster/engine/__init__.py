"""The run: a snapshot and an instant in, decisions and transitions out, and what of an earlier run still stands."""
