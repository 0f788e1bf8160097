"""Objects, paths and processes: what git keeps, read as it is."""
