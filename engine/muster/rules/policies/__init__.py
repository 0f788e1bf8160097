"""Policies in general: how expressions are compiled, what they see, and what they may cost."""
