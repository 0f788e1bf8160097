"""API servers: kubeconfigs, credentials and requests."""
