"""`muster join`: what a cluster needs to run an agent."""
