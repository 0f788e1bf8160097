"""Some thousand broken fleets: no input stops the engine.

`SEED` and `ROUNDS` in the environment choose others, and more.
"""

import os
from pathlib import Path

import pytest

from tests.support.fuzzing import by_place, faults

SEED = int(os.environ.get("SEED", "100000"))
ROUNDS = int(os.environ.get("ROUNDS", "2000"))


@pytest.mark.parametrize("first", range(SEED, SEED + ROUNDS, 20))
def test_no_broken_fleet_is_a_fault_of_ours(tmp_path: Path, first: int) -> None:
    found = [fault for seed in range(first, first + 20) for fault in faults(seed, tmp_path)]
    assert not found, "\n" + by_place(found)
