"""Patterns with `*`."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.wildcards import matches


@given(st.text("ab*", max_size=8), st.text("ab", max_size=10))
def test_matches_as_an_expression_would(pattern: str, text: str) -> None:
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert matches(pattern, text) == (re.fullmatch(expression, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("**", "a\nb", True),
        ("a?", "ab", False),
        ("a[b]", "a[b]", True),
        ("ab*ba", "aba", False),
        ("*a*b", "abab", True),
        ("prod-*", "prod-eu-1", True),
    ],
)
def test_only_the_asterisk_is_special(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected
