"""The part of a fleet that a run evaluates, and what makes it larger."""
