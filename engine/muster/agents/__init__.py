"""Agents: heartbeats, detectors, reports and relays; their view of the hub, identity and HTTP server."""
