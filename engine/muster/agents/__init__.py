"""Agents: heartbeats, detectors, relays, their identity, and the HTTP that they are served by."""
