"""What a run leaves for the next one: the state, and the records in it."""
