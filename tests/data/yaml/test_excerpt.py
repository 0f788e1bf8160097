"""Source lines with a caret below."""

import pytest

from muster.data.yaml.positions import excerpt


@pytest.mark.parametrize(
    ("data", "line", "column", "expected"),
    [
        ("a: 1\nb: 2\n", 2, 4, "b: 2\n   ^"),
        ("a: 1\r\nb: 2\r\n", 1, 1, "a: 1\n^"),
        ("\ufeffa: 1\n", 1, 1, "a: 1\n^"),
        ("a: 1", 1, 99, "a: 1\n    ^"),
        ("a: 1", 1, 0, "a: 1\n^"),
        ("\ta: 1", 1, 2, "    a: 1\n    ^"),
        ("漢字: x", 1, 5, "漢字: x\n      ^"),
        ("e\u0301: x", 1, 4, "e\u0301: x\n  ^"),
        ("a\x1b[0m: x", 1, 7, "a\\x1b[0m: x\n         ^"),
        ("a\u202e: x", 1, 3, "a\\u202e: x\n       ^"),
        ("a", 2, 1, ""),
        ("a", 0, 1, ""),
        ("", 1, 1, "\n^"),
    ],
)
def test_excerpt(data: str, line: int, column: int, expected: str) -> None:
    assert excerpt(data.encode(), line, column) == expected


def test_bytes_that_are_no_utf8_are_shown_as_replaced() -> None:
    assert excerpt(b"a: \xe9\xe9x", 1, 6) == "a: \ufffd\ufffdx\n     ^"


@pytest.mark.parametrize("column", [1, 50, 51, 52, 250, 449, 450, 451, 500, 501])
def test_long_lines_are_cut_around_the_caret(column: int) -> None:
    text = "".join(chr(0x4E00 + n) if n % 7 == 0 else chr(0x61 + n % 26) for n in range(500))
    source, caret = excerpt(text.encode(), 1, column).split("\n")
    assert len(source) <= 102
    before = 0
    shown = 0
    while before < len(caret) - 1:
        before += 2 if source[shown] >= "\u4e00" else 1
        shown += 1
    assert (source[shown : shown + 1] or "") in (text[column - 1 : column], "")
    assert source[max(0, shown - 5) : shown].lstrip("…") == text[max(0, column - 6) : column - 1][-5:].lstrip("…")
