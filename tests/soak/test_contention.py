"""People, agents and engines on one repository, for a minute and a half."""

from pathlib import Path

from benchmarks.contention import contend


def test_nobody_loses_anything_and_what_is_derived_is_fresh(tmp_path: Path) -> None:
    figures = contend(tmp_path, 90)
    print("\n".join(figures.lines()))
    assert (figures.lost, figures.wrong) == ([], [])
    assert figures.given_up == 0, "nobody lives on nothing but lost races"
    assert figures.people > 90
    # On a machine that has nothing to spare for them people wait, too.
    assert figures.ages[-1] < max(10, 5 * figures.pushes[-1])
