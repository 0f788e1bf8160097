"""Misspelt names: hints are generous, decisions are not."""

import pytest

from muster.data.names import did_you_mean, few, nearest, slip_of

VERBS = ("validate", "reconcile", "render", "replay", "release", "plan")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Validate", "validate"),
        ("vaildate", "validate"),
        ("reconcil", "reconcile"),
        ("replays", "replay"),
        ("frobnicate", ""),
        ("", ""),
    ],
)
def test_the_nearest(name: str, meant: str) -> None:
    assert nearest(name, VERBS) == meant
    assert did_you_mean(name, VERBS) == (f"did you mean {meant!r}?" if meant else "")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("prd-77", "prod-77"),
        ("prodd-77", "prod-77"),
        ("prod-7_7", "prod-77"),
        ("rpod-77", "prod-77"),
        ("pr0d-77", "prod-77"),
        ("PROD-77", "prod-77"),
        ("production-77", ""),
        ("x" * 100_000, ""),
    ],
)
def test_of_very_many_names_the_one_that_a_single_slip_makes(name: str, meant: str) -> None:
    assert nearest(name, (f"prod-{number}" for number in range(2_000))) == meant


@pytest.mark.parametrize(
    ("name", "slip"),
    [
        ("Validate", "validate"),
        ("vaildate", "validate"),
        ("validat", "validate"),
        ("validates", "validate"),
        ("velidete", "validate"),
        ("velidete2", ""),
        ("rendre", "render"),
        ("rendzz", ""),
        ("validate", ""),
        ("plom", ""),
        ("plam", "plan"),
    ],
)
def test_a_slip_is_a_letter_in_four(name: str, slip: str) -> None:
    assert slip_of(name, VERBS) == slip


def test_a_few_of_many_names() -> None:
    assert (few(["a", "b", "c"], 2), few(["a", "b", "c"], 1), few([])) == ("a, b, c", "a and 2 more", "")
