"""Taints: those of policies and those that people set."""
