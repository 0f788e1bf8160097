"""`muster get` and `muster render`: the fleet as tables and documents."""
