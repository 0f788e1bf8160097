"""People, agents and engines on one bare repository, for seconds: `benchmarks.contention` in short."""

from pathlib import Path

from benchmarks.contention import contend


def test_nobody_loses_anything_and_what_is_derived_is_fresh(tmp_path: Path) -> None:
    figures = contend(tmp_path, 4, writers=3, agents=6, engines=2)
    assert (figures.lost, figures.wrong, figures.given_up) == ([], [], 0)
    assert figures.people
    assert figures.derived
