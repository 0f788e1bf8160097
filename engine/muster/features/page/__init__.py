"""`muster site`: the fleet as a page."""
