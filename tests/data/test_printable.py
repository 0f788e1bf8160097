"""Texts of anybody's, as they may be shown."""

import json

import pytest

from muster.data.printable import printable, printable_json, printable_lines


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a ##vso[task.setvariable variable=PATH]/tmp", "a #\\x23vso[task.setvariable variable=PATH]/tmp"),
        ("##[add-path]/tmp", "#\\x23[add-path]/tmp"),
        ("###teamcity[x]", "##\\x23teamcity[x]"),
        ("::stop-commands::x", "\\x3a:stop-commands::x"),
        ("  ::error file=a,line=1::b", "  \\x3a:error file=a,line=1::b"),
        ("fd00::1, ::1 and a::b::c", "fd00::1, ::1 and a::b::c"),
        ("## heading [1]", "## heading [1]"),
    ],
)
def test_nothing_is_an_order_to_ci(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_json_says_the_same_and_does_nothing() -> None:
    said = {"a\x9b2J\x7f": ["\u202e##vso[task.complete]", "## one", "\U000e0001 läuft\n"]}
    shown = printable_json(json.dumps(said, indent=2, ensure_ascii=False))
    assert json.loads(shown) == said
    assert shown.replace("\n", "").isprintable()
    assert "##vso" not in shown
    assert "## one" in shown
    assert "läuft" in shown
