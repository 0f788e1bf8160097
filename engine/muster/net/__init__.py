"""Exchanges with others: HTTP that is served, and deadlines of exchanges."""
