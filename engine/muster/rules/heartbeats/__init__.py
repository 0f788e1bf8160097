"""Leases, silence and staleness: which agents report, and for how long each lease lasts."""
