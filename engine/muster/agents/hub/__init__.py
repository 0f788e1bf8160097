"""What the hub says about a cluster to its agent, and the ref that the agent writes."""
