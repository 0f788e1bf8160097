"""What the exit codes of `muster` mean."""

FINE, FINDINGS, USAGE, FAULT, REPOSITORY, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 4, 130, 143
