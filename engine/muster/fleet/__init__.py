"""Parts of files become objects, and objects a fleet; validation."""
