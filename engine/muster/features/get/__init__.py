"""`muster get` and `muster wait`: the fleet as tables and documents."""
