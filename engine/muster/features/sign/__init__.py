"""`muster sign`: certificates for approved requests."""
