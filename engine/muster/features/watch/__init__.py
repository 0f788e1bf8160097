"""`muster watch`: reconcile on every change and at every horizon, and serve the page."""
