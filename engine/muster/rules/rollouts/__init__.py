"""Rollouts: bring a revision to clusters step by step."""
