"""`muster init`: a new fleet repository."""
