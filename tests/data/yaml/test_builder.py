"""What plain scalars mean."""

import pytest

from muster.data.tree import Tree
from muster.data.yaml.builder import NUMERIC, WORDS, NumberError, number


def resolve(text: str) -> Tree:
    """Return what a plain scalar means, by the two look-ups that the builder writes out."""
    return number(text) if text[:1] in NUMERIC else WORDS.get(text, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("False", False),
        ("FALSE", False),
        ("0", 0),
        ("-0", 0),
        ("+5", 5),
        ("-17", -17),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0.5", 0.5),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("12e03", 12000.0),
    ],
)
def test_core_schema(text: str, value: Tree) -> None:
    assert (resolve(text), type(resolve(text))) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "no", "on", "off", "y", "n", "YES", "On", "nULL", "tRUE", "none", "=", "<"),
        *("017", "00", "-01", "0259173248980282", "00.5", "01e5", "0x1f", "0o17", "0b1", "1_000", "1:30", "1:30:45"),
        *("2026-01-01", "2026-01-01T00:00:00Z", "1.2.3", "v1", "1a"),
        *("-", "+", ".", "-.", "1e", "e1", "1e+", "..5", "+-1"),
        *("inf", "nan", "Infinity", "NaN", ".infinity", "+.nan", "١٢٣", "1٢"),
    ],
)
def test_everything_else_is_the_text(text: str) -> None:
    assert resolve(text) == text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("9223372036854775808", "64 bits"),
        ("-9223372036854775809", "64 bits"),
        ("9" * 5_000, "64 bits"),
        ("624e769365028171", "finite"),
        ("-1e400", "finite"),
        (".inf", "finite"),
        ("-.INF", "finite"),
        ("+.Inf", "finite"),
        (".nan", "finite"),
        (".NaN", "finite"),
    ],
)
def test_refuses_numbers_that_cannot_be_carried(text: str, part: str) -> None:
    with pytest.raises(NumberError, match=part) as caught:
        resolve(text)
    assert caught.value.text.kind == "number"
    assert "quote it" in caught.value.text.hint
