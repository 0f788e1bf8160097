"""Notifications: transitions sent to people."""
