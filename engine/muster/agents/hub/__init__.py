"""What the hub says to a cluster's agent, and the ref on which the agent answers."""
