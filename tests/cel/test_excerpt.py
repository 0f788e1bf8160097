"""Carets under the place that an issue is about."""

import pytest

from muster.cel.errors import issue_at
from muster.cel.excerpt import WIDTH, excerpt


@pytest.mark.parametrize(
    ("text", "offset", "shown"),
    [
        ("a + b", 2, "a + b\n  ^"),
        ("a\n  && b", 4, "  && b\n  ^"),
        ("\ta + b", 3, "\ta + b\n\t  ^"),
        ("a", 9, "a\n ^"),
        ("", 0, "\n^"),
    ],
)
def test_the_caret_stands_under_the_place(text: str, offset: int, shown: str) -> None:
    assert excerpt(text, issue_at(text, offset, "wrong")) == shown


@pytest.mark.parametrize("offset", [0, 30, 150, 299])
def test_long_lines_are_cut_around_the_place(offset: int) -> None:
    text = "".join(chr(97 + position % 26) for position in range(300))
    line, caret = excerpt(text, issue_at(text, offset, "wrong")).split("\n")
    assert len(line) <= WIDTH + 2
    assert line[len(caret) - 1] == text[offset]
