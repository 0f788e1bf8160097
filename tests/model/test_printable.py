"""Texts of anybody's, as they may be shown."""

import pytest

from muster.model.printable import printable, printable_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("prod-eu-1 läuft, 是", "prod-eu-1 läuft, 是"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x9b2J", "\\x9b2J"),
        ("turned \u202e around", "turned \\u202e around"),
        ("line\u2028break", "line\\u2028break"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_stay_lines() -> None:
    assert printable_lines("one\n\ttwo\x07") == "one\n\\ttwo\\x07"
