"""`muster heartbeat`: leases, availability and facts of a cluster."""
