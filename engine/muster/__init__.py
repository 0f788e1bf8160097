"""muster turns a git repository into the control plane of a fleet of clusters."""
