"""`muster reconcile`: evaluate the fleet and commit the result."""
