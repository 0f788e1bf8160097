"""Disruption budgets: how much of the fleet may be disrupted at once."""
