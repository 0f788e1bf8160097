"""git: snapshots, refs, commits, pushes and the log."""
