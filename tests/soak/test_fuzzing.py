"""Some thousand broken fleets: no input stops the engine.

`SEED` and `ROUNDS` in the environment choose others, and more.
"""

import os
from pathlib import Path

from tests.support.fuzzing import by_place, faults

SEED = int(os.environ.get("SEED", "100000"))
ROUNDS = int(os.environ.get("ROUNDS", "2000"))


def test_no_broken_fleet_is_a_fault_of_ours(tmp_path: Path) -> None:
    found = [fault for seed in range(SEED, SEED + ROUNDS) for fault in faults(seed, tmp_path)]
    assert not found, "\n" + by_place(found)
