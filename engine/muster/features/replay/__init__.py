"""`muster replay`: what policies would have decided over past commits."""
