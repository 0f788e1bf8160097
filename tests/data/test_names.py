"""Misspelt names: hints are generous, decisions are not."""

import pytest

from muster.data.names import did_you_mean, few, nearest, slip_of

VERBS = ("validate", "reconcile", "render", "replay", "release", "plan")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Validate", "validate"), ("vaildate", "validate"), ("reconcil", "reconcile"), ("replays", "replay"),
        ("frobnicate", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_nearest(name: str, meant: str) -> None:
    assert nearest(name, VERBS) == meant
    assert did_you_mean(name, VERBS) == (f"did you mean {meant!r}?" if meant else "")


@pytest.mark.parametrize(
    ("name", "slip"),
    [
        ("Validate", "validate"), ("vaildate", "validate"), ("validat", "validate"), ("validates", "validate"),
        ("velidete", "validate"), ("velidete2", ""), ("rendre", "render"), ("rendzz", ""), ("validate", ""),
        ("plom", ""), ("plam", "plan"),
    ],
)  # fmt: skip
def test_a_slip_is_a_letter_in_four(name: str, slip: str) -> None:
    assert slip_of(name, VERBS) == slip


def test_a_few_of_many_names() -> None:
    assert (few(["a", "b", "c"], 2), few(["a", "b", "c"], 1), few([])) == ("a, b, c", "a and 2 more", "")
