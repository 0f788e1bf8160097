"""Registration and removal of clusters, and requests for certificates."""
