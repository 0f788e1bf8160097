"""`muster drill`: what happens if clusters are lost, for each failure domain."""
