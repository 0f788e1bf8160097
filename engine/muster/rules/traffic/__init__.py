"""MultiClusterIngresses: where backends run, and which clusters get no traffic."""
