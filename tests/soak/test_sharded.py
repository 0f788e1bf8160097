"""Fleets live for long, and are decided in shards of all sizes."""

from pathlib import Path

import pytest

from tests.run.shards.test_sharded import live
from tests.run.shuffled import Shuffled
from tests.support.admission_happenings import Reading
from tests.support.living import Living
from tests.support.policy_happenings import OF_POLICIES


@pytest.mark.parametrize("seed", range(20, 32))
def test_of_a_fleet_that_lives_for_long(tmp_path: Path, seed: int) -> None:
    shuffled = Shuffled(seed)
    assert live(Living.small(tmp_path / "fleet", seed, 8 + seed % 9), tmp_path, 60, shuffled, (1, 4, 8, 30)) > 10


@pytest.mark.parametrize("seed", range(32, 44))
def test_of_a_fleet_whose_policies_follow_the_clock(tmp_path: Path, seed: int) -> None:
    living, shuffled = Living.small(tmp_path / "fleet", seed, 5 + seed % 6), Shuffled(seed)
    living.more = OF_POLICIES
    assert live(living, tmp_path, 60, shuffled, (3, 6, 30)) > 10


@pytest.mark.parametrize("seed", range(44, 52))
def test_of_a_fleet_whose_policies_read_other_objects(tmp_path: Path, seed: int) -> None:
    living, shuffled = Reading.small(tmp_path / "fleet", seed, 8 + seed % 4), Shuffled(seed)
    live(living, tmp_path, 30, shuffled, (1, 4, 8, 30))
