"""What runs beside a managed cluster: heartbeats and detectors."""
