"""Disruptive effects: what taint policies and Remedies request, before budgets allow it."""
