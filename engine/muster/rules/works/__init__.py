"""Works: the ManifestWorks of ManifestWorkReplicaSets, rolled out cluster by cluster."""
