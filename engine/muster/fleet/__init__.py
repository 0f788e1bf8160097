"""Files become parts, parts objects, and objects a fleet."""
