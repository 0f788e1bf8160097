"""One-way sync of what muster decides to a live hub."""
