"""An override names its end and its reason, or lets nothing through."""

from datetime import timedelta

import pytest

from muster.rules.effects.budget import parse_override
from tests.support.example import NOON


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("until 2026-01-01T12:00:00Z: the fire is real", "the fire is real"),
        ("  until  2026-01-01T13:00:00+01:00:  two words ", "two words"),
        ("until 2026-01-01T12:00:00Z: a colon: is no end", "a colon: is no end"),
    ],
)
def test_until_when_and_why(text: str, reason: str) -> None:
    override = parse_override(text)
    assert override is not None
    assert (override.expiry, override.reason) == (NOON, reason)
    assert override.covers(NOON - timedelta(seconds=1))
    assert not override.covers(NOON)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "until 2026-01-01T12:00:00Z",
        "until 2026-01-01T12:00:00Z: ",
        "until tomorrow: why",
        "2026-01-01: why",
    ],
)
def test_anything_else_lets_nothing_through(text: str) -> None:
    assert parse_override(text) is None
