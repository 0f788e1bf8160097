"""Fleets that live for long: warm runs decide what cold ones do, also while people are faster than they are."""

from pathlib import Path

import pytest

from tests.run.test_incremental import from_state, live, state_in
from tests.run.test_landed import lasting
from tests.run.test_resumed import live_on
from tests.support.admission_happenings import Reading
from tests.support.living import Living
from tests.support.policy_happenings import OF_POLICIES


@pytest.mark.parametrize("seed", (5, *range(100, 130)))
def test_of_fleets_that_live(tmp_path: Path, seed: int, figures: list[str]) -> None:
    steps(tmp_path, Living.small(tmp_path / "fleet", seed), 60, figures)


@pytest.mark.parametrize("seed", range(500, 530))
def test_of_fleets_whose_policies_follow_the_clock(tmp_path: Path, seed: int, figures: list[str]) -> None:
    living = Living.small(tmp_path / "fleet", seed, 5 + seed % 6)
    living.more = OF_POLICIES
    taken = live(living, state_in(tmp_path), 60, state_in(tmp_path / "clone"))
    figures.append(f"{tmp_path.name}: 60 steps without a difference, {from_state(taken)} runs that looked at a part")


@pytest.mark.parametrize("seed", range(200, 208))
def test_of_the_example_fleet(tmp_path: Path, seed: int, figures: list[str]) -> None:
    steps(tmp_path, Living.example(tmp_path / "fleet", seed), 40, figures)


def steps(tmp_path: Path, living: Living, number: int, figures: list[str]) -> None:
    """Let a fleet live for some steps, and say how many of its runs were compared with anything."""
    taken = live(living, state_in(tmp_path), number, state_in(tmp_path / "clone"))
    compared = from_state(taken)
    figures.append(f"{tmp_path.name}: {number} steps without a difference, {compared} runs that looked at a part")
    # A fleet whose Projections collide is decided whole until somebody mends it, which may be for most of a life.
    assert compared > 3, taken


@pytest.mark.parametrize("seed", range(300, 316))
def test_of_people_who_are_faster(tmp_path: Path, seed: int) -> None:
    live_on(Living.small(tmp_path / "fleet", seed, 16), state_in(tmp_path), 40)


@pytest.mark.parametrize("seed", range(600, 620))
def test_of_records_that_last(tmp_path: Path, seed: int) -> None:
    living = Living.small(tmp_path / "fleet", seed, 5 + seed % 6)
    living.more = OF_POLICIES if seed % 2 else ()
    assert lasting(living, 40)


@pytest.mark.parametrize("seed", range(700, 720))
def test_of_fleets_whose_policies_read_other_objects(tmp_path: Path, seed: int, figures: list[str]) -> None:
    living = Reading.small(tmp_path / "fleet", seed, 4 + seed % 6)
    taken = live(living, state_in(tmp_path), 40, state_in(tmp_path / "clone"))
    figures.append(f"{tmp_path.name}: 40 steps without a difference, {from_state(taken)} runs that looked at a part")
