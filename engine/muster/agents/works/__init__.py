"""ManifestWorks, applied by the agent of their cluster."""
