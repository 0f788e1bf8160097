"""What if: suppositions as edits, and runs in a scratch repository."""
