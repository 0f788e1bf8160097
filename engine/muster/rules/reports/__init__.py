"""Adapter reports: which of them count."""
