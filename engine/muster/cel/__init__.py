"""The Common Expression Language: compiled, typed, bounded, aware of time."""
