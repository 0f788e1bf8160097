"""git: reading snapshots, committing by compare-and-swap, pushing without force."""
