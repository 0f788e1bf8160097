"""One run: a snapshot and an instant in, decisions and transitions out; and the state kept for the next run."""
