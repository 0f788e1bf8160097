"""Regular expressions by RE2, beside those of the standard library where both understand the same."""

import re
import subprocess
import sys
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.regex import Regex

PATTERNS = ["a", "[^b]", "(a)|(b)", "(?P<first>[a-z]+):(?P<rest>.*)", "^a|^", "(?s).*?b", "(?m)^.", "ab*?", "[é-ï]+"]
TEXTS = ["", "a", "b", "ab\nab", "a:b", "éa\ud800b", "ï\U0001f600a:\ud800\udfff", "x\x00a:\n"]


def _described(match: "re.Match[str] | None") -> tuple[object, ...] | None:
    return match and (match.span(), *(match[number] or "" for number in range(match.re.groups + 1)))


@given(st.sampled_from(PATTERNS), st.text("ab:\né\ud800\U0001f600") | st.sampled_from(TEXTS))
def test_matches_as_the_standard_library_does(pattern: str, text: str) -> None:
    ours, theirs = Regex(pattern), re.compile(pattern)
    for method in ("fullmatch", "match", "search"):
        match = getattr(ours, method)(text)
        assert (match and (match.span(), match[0], *match.groups())) == _described(getattr(theirs, method)(text))
    assert [match.span() for match in ours.finditer(text)] == [match.span() for match in theirs.finditer(text)]
    assert ours.replace(text, "<>") == theirs.sub("<>", text)
    assert ours.replace(text, lambda match: match[0] * 2) == theirs.sub(lambda match: match[0] * 2, text)


def test_the_end_is_the_very_end() -> None:
    assert Regex("^$|^a").search("\n") is None
    assert re.search("^$|^a", "\n") is not None


def test_split() -> None:
    assert Regex(r"\s*,\s*").split("a , b,c") == ["a", "b", "c"]
    assert Regex(r",").split("") == [""]


def test_groups_by_name() -> None:
    match = Regex("(?P<key>a)|(?P<other>b)").search("xb")
    assert match is not None
    assert (match["key"], match["other"], match.span("key"), match.start("other"), match.end("other")) == (
        "",
        "b",
        (-1, -1),
        1,
        2,
    )


@pytest.mark.parametrize("data", [bytes(pair) for pair in product((0, 0x0A, 0x61, 0xC3, 0xFF), repeat=2)])
def test_an_expression_of_bytes_sees_each_byte_as_a_character(data: bytes) -> None:
    for pattern in (rb".", rb"[^a]+", rb"[\x80-\xff]", rb"(?s)..", rb"(?m)^a$"):
        ours, theirs = Regex(pattern), re.compile(pattern)
        assert [match.span() for match in ours.finditer(data)] == [match.span() for match in theirs.finditer(data)]


def test_is_compiled_when_first_used() -> None:
    code = "from muster.regex import Regex; import sys; known = Regex('('); print('re2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
