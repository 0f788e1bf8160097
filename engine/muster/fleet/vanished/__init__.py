"""Vanished objects: those of the last run that no file declares any more, although nobody removed them."""
