"""Commits of runs and of people's verbs, and how they reach a branch."""
