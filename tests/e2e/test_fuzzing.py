"""A few broken fleets with fixed seeds; `make soak` breaks some thousand.

Among the seeds are some that once ended a run.
"""

from pathlib import Path

import pytest

from tests.support.examples import often
from tests.support.fuzzing import by_place, faults

ONCE_FATAL = (2, 93, 122, 290, 521, 100453, 101131, 101754)


@pytest.mark.parametrize("seeds", [range(often(2)), ONCE_FATAL], ids=["first", "once fatal"])
def test_no_broken_fleet_is_a_fault_of_ours(seeds: range | tuple[int, ...], tmp_path: Path) -> None:
    found = [fault for seed in seeds for fault in faults(seed, tmp_path)]
    assert not found, "\n" + by_place(found)
