"""`muster export`: objects for a hub, endpoints for a load balancer, schemas for an editor."""
