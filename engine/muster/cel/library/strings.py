"""The strings extension. Positions count code points; changes of case concern ASCII only."""

from collections.abc import Mapping
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library import lists
from muster.cel.library.formatting import format_
from muster.cel.library.registry import Function, linear, metered, plain
from muster.cel.library.standard import pay_for_search
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload, spoken_type
from muster.cel.runtime.numbers import pay_for_text

_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_QUOTED = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\"",
}  # fmt: skip


def _check(function: str, kinds: tuple[type, ...], *values: Any) -> None:
    if any(value.__class__ is not kind for value, kind in zip(values, kinds, strict=False)):
        raise no_overload(function, *values)


def char_at(text: Any, position: Any) -> str:
    """`text.charAt(i)`: the character there, '' just behind the last."""
    _check("charAt", (str, int), text, position)
    if not 0 <= position <= len(text):
        raise EvaluationError(f"index out of range: {position}")
    return str(text[position : position + 1])


def index_of(meter: Meter, site: int, subject: Any, part: Any, *start: Any) -> int:
    """`text.indexOf(part)`, `text.indexOf(part, start)`; -1 where it is not. Lists have it as well."""
    if isinstance(subject, list):
        return lists.index_of(meter, site, subject, part, *start)
    _check("indexOf", (str, str, int), subject, part, *start)
    begin = start[0] if start else 0
    if not 0 <= begin <= len(subject):
        raise EvaluationError(f"index out of range: {begin}")
    pay_for_search(meter, site, subject, part)
    return int(subject.find(part, begin))


def last_index_of(meter: Meter, site: int, subject: Any, part: Any, *start: Any) -> int:
    """`text.lastIndexOf(part)`, `text.lastIndexOf(part, start)`: the last place not after `start`.

    From the end, Python looks at each character as often as the part is long: all of that is paid for.
    """
    if isinstance(subject, list):
        return lists.last_index_of(meter, site, subject, part, *start)
    _check("lastIndexOf", (str, str, int), subject, part, *start)
    begin = start[0] if start else len(subject)
    if not 0 <= begin <= len(subject):
        raise EvaluationError(f"index out of range: {begin}")
    spend(meter, site, len(subject) // 8 * (1 + len(part) // 8))
    return int(subject.rfind(part, 0, min(begin + len(part), len(subject))))


def join(meter: Meter, site: int, parts: Any, separator: Any = "") -> str:
    """`list.join(separator)`"""
    if not isinstance(parts, list) or separator.__class__ is not str:
        raise no_overload("join", parts, separator)
    spend(meter, site, len(parts) // 2)
    length = len(separator) * len(parts)
    for part in parts:
        if part.__class__ is not str:
            raise EvaluationError(f"no such overload: join() of a list that has a {spoken_type(part)}")
        length += len(part)
    pay_for_text(meter, site, length)
    return str(separator.join(parts))


def lower_ascii(text: Any) -> str:
    """`text.lowerAscii()`"""
    _check("lowerAscii", (str,), text)
    return str(text.translate(_LOWER))


def upper_ascii(text: Any) -> str:
    """`text.upperAscii()`"""
    _check("upperAscii", (str,), text)
    return str(text.translate(_UPPER))


def replace(meter: Meter, site: int, text: Any, old: Any, new: Any, *limit: Any) -> str:
    """`text.replace(old, new)`, `text.replace(old, new, limit)`; a negative limit means all."""
    _check("replace", (str, str, str, int), text, old, new, *limit)
    count = limit[0] if limit else -1
    pay_for_search(meter, site, text, old)
    times = text.count(old) if old else len(text) + 1
    times = min(times, count) if count >= 0 else times
    spend(meter, site, times)
    pay_for_text(meter, site, len(text) + times * len(new))
    return str(text.replace(old, new, count))


PART = 4
"""Units of one part of a text that is split: a text of its own."""


def split(meter: Meter, site: int, text: Any, separator: Any, *limit: Any) -> list[str]:
    """`text.split(separator)`, `text.split(separator, limit)`; a negative limit means all, 0 gives no part."""
    _check("split", (str, str, int), text, separator, *limit)
    count = limit[0] if limit else -1
    if count == 0:
        return []
    if separator == "":
        spend(meter, site, PART * (len(text) if count < 0 else min(count, len(text))) + len(text) // 4)
        characters = list(text)
        if 0 < count < len(characters):
            characters[count - 1 :] = ["".join(characters[count - 1 :])]
        return characters
    pay_for_search(meter, site, text, separator)
    spend(meter, site, PART * text.count(separator) + len(text) // 8)
    return list(text.split(separator, count - 1 if count > 0 else -1))


def substring(text: Any, start: Any, *end: Any) -> str:
    """`text.substring(start)`, `text.substring(start, end)`"""
    _check("substring", (str, int, int), text, start, *end)
    stop = end[0] if end else len(text)
    for position in (start, stop):
        if not 0 <= position <= len(text):
            raise EvaluationError(f"index out of range: {position}")
    if start > stop:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return str(text[start:stop])


def trim(text: Any) -> str:
    """`text.trim()`: without white space, as Unicode defines it, at either end."""
    _check("trim", (str,), text)
    return str(text.strip(_SPACE))


def reverse(subject: Any) -> Any:
    """`text.reverse()`, `list.reverse()`"""
    if not isinstance(subject, list):
        _check("reverse", (str,), subject)
    return subject[::-1]


def quote(text: Any) -> str:
    """`strings.quote(text)`: as a literal that is safe to print."""
    _check("strings.quote", (str,), text)
    body = "".join(_QUOTED.get(character, character) for character in text)
    return f'"{body}"'.encode("utf-8", "replace").decode()


FUNCTIONS: Mapping[str, Function] = {"strings.quote": linear(quote, 1, weight=60, stride=1)}
METHODS: Mapping[str, Function] = {
    "charAt": plain(char_at, 2, weight=8),
    "indexOf": metered(index_of, 2, 3, weight=8),
    "lastIndexOf": metered(last_index_of, 2, 3, weight=12),
    "join": metered(join, 1, 2, weight=6),
    "lowerAscii": linear(lower_ascii, 1, weight=20, stride=2),
    "upperAscii": linear(upper_ascii, 1, weight=20, stride=2),
    "replace": metered(replace, 3, 4, weight=16),
    "split": metered(split, 2, 3, weight=16),
    "substring": linear(substring, 2, 3, weight=8),
    "trim": linear(trim, 1, weight=6),
    "reverse": linear(reverse, 1, weight=6, stride=4),
    "format": metered(format_, 2, weight=20),
}
