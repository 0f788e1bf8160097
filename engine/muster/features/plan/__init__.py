"""`muster plan`, `diff` and `comment`: what a reconcile or a branch would change."""
