"""Fleets that live for long: warm runs decide what cold ones do, also while people are faster than they are."""

from pathlib import Path

import pytest

from tests.engine.test_standing import live_on
from tests.engine.test_warm import live, state_in
from tests.support.living import Living


@pytest.mark.parametrize("seed", (5, *range(100, 120)))
def test_of_fleets_that_live(tmp_path: Path, seed: int) -> None:
    live(Living.small(tmp_path / "fleet", seed), state_in(tmp_path), 60)


@pytest.mark.parametrize("seed", range(200, 208))
def test_of_the_example_fleet(tmp_path: Path, seed: int) -> None:
    live(Living.example(tmp_path / "fleet", seed), state_in(tmp_path), 40)


@pytest.mark.parametrize("seed", range(300, 316))
def test_of_people_who_are_faster(tmp_path: Path, seed: int) -> None:
    live_on(Living.small(tmp_path / "fleet", seed, 16), state_in(tmp_path), 40)
