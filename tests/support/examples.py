"""How many examples a property is tried on: a few in the gate; `make soak` tries `EXAMPLES` times as many."""

import os


def often(times: int) -> int:
    """Return how many they are, of so many in the gate."""
    return times * int(os.environ.get("EXAMPLES", "1"))
