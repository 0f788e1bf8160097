"""ManagedClusterSets and their bindings."""
