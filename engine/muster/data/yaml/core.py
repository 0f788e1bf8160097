"""What a plain (unquoted) scalar means: YAML 1.2's core schema, narrowed to what JSON can say.

* null: empty, `~`, `null`, `Null`, `NULL`. Booleans: `true`, `True`, `TRUE` and the same of `false`. The words
  that YAML 1.1 also took (`yes`, `on`, `y`, ...) are strings.
* Integers are decimal, with an optional sign, within 64 bits: more is refused, because neither CEL's `int` nor a
  JSON reader in Go carries it, and a silent float would corrupt an id.
* Floats are decimal and finite. `.inf`, `.nan` and ids such as `624e769365028171`, which YAML reads as
  infinity, are refused.
* Everything else is a string: times, `0x1f`, `0o17`, `1_000`, `1:30`, and numbers with leading zeros, which YAML
  1.1 reads as octal and people write as ids.
"""

import re
from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType

from muster.data.tree import Tree
from muster.data.yaml import messages

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = frozenset(
    [f"{sign}{word}" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")] + [".nan", ".NaN", ".NAN"]
)
_INT64_DIGITS = 19

#: Plain words with a meaning. What is not in here and does not begin like a number is a string.
WORDS: Mapping[str, Tree] = MappingProxyType(
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
)

#: The characters with which a number can begin.
NUMERIC = frozenset("+-.0123456789")


class NumberError(ValueError):
    """A plain scalar is a number that cannot be carried; `text` says why."""

    def __init__(self, text: messages.Text) -> None:
        super().__init__(text.message)
        self.text = text


def number(text: str) -> Tree:
    """Return what a plain scalar that begins with one of `NUMERIC` means: an int, a float or the text itself.

    Raises NumberError for one that is out of range or not finite.
    """
    if _INT.fullmatch(text):
        # The length first: int() refuses more than 4,300 digits with an error of its own.
        if len(text) <= _INT64_DIGITS + 1 and -(2**63) <= (value := int(text)) < 2**63:
            return value
        raise NumberError(messages.number_too_large(text))
    if _FLOAT.fullmatch(text):
        if isfinite(parsed := float(text)):
            return parsed
        raise NumberError(messages.number_not_finite(text))
    if text in _NOT_FINITE:
        raise NumberError(messages.number_not_finite(text))
    return text


def is_beyond_float(text: str) -> bool:
    """Whether a plain scalar is a number that no float can hold, such as `624e769365028171`.

    Go's YAML, and so kubectl, takes it for a text and writes it bare.
    """
    return _FLOAT.fullmatch(text) is not None and _INT.fullmatch(text) is None and not isfinite(float(text))
