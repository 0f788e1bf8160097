"""An HTTP server for clients that do not trust each other."""
