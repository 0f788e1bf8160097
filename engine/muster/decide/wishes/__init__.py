"""Wishes: what policies and Remedies ask for on each cluster. The one place where they are asked."""
