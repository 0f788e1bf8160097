"""The strings extension. Positions count code points; changes of case apply to ASCII only."""

from typing import TYPE_CHECKING, Any

from muster.cel.declarations import TimeUse
from muster.cel.errors import EvaluationError
from muster.cel.library import lists
from muster.cel.library.formatting import format_, format_cost, formatted
from muster.cel.library.registry import Library, part_of
from muster.cel.library.standard import encoded, pay_for_search, search
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload, spoken_type
from muster.cel.runtime.numbers import pay_for_text
from muster.cel.types import STRING

if TYPE_CHECKING:
    from muster.cel.extent import Extent, IntRange
    from muster.cel.library.arguments import CallArguments

LIBRARY = Library("strings")

_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_QUOTED = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


def _check(function: str, kinds: tuple[type, ...], *values: Any) -> None:
    if any(value.__class__ is not kind for value, kind in zip(values, kinds, strict=False)):
        raise no_overload(function, *values)


@LIBRARY.plain("string_char_at_int  charAt  string.(int) -> string", weight=8, gives=part_of)
def char_at(text: Any, position: Any) -> str:
    """`text.charAt(i)`: the character at a position; '' directly after the last."""
    _check("charAt", (str, int), text, position)
    if not 0 <= position <= len(text):
        raise EvaluationError(f"index out of range: {position}")
    return str(text[position : position + 1])


def _search_cost(args: "CallArguments") -> "IntRange":
    return lists.scan(args) if args.listed(0) else search(args)


@LIBRARY.metered(
    "string_index_of_string      indexOf  string.(string) -> int",
    "string_index_of_string_int  indexOf  string.(string, int) -> int",
    "list_index_of               indexOf  list(A).(A) -> int",
    weight=8,
    moving=TimeUse.COMPARED,
    grows=_search_cost,
)
def index_of(meter: Meter, site: int, subject: Any, part: Any, *start: Any) -> int:
    """`text.indexOf(part)`, `text.indexOf(part, start)`, `list.indexOf(item)`: the first position, or -1."""
    if isinstance(subject, list):
        return lists.index_of(meter, site, subject, part, *start)
    _check("indexOf", (str, str, int), subject, part, *start)
    begin = start[0] if start else 0
    if not 0 <= begin <= len(subject):
        raise EvaluationError(f"index out of range: {begin}")
    pay_for_search(meter, site, subject, part)
    return int(subject.find(part, begin))


def _search_back_cost(args: "CallArguments") -> "IntRange":
    if args.listed(0):
        return lists.scan(args)
    return (args.length(0).as_text * (1 + args.length(1).as_text)).or_nothing


@LIBRARY.metered(
    "string_last_index_of_string      lastIndexOf  string.(string) -> int",
    "string_last_index_of_string_int  lastIndexOf  string.(string, int) -> int",
    "list_last_index_of               lastIndexOf  list(A).(A) -> int",
    weight=12,
    moving=TimeUse.COMPARED,
    grows=_search_back_cost,
)
def last_index_of(meter: Meter, site: int, subject: Any, part: Any, *start: Any) -> int:
    """`text.lastIndexOf(part)`, `text.lastIndexOf(part, start)`: the last position that is not after `start`, or -1."""
    if isinstance(subject, list):
        return lists.last_index_of(meter, site, subject, part, *start)
    _check("lastIndexOf", (str, str, int), subject, part, *start)
    begin = start[0] if start else len(subject)
    if not 0 <= begin <= len(subject):
        raise EvaluationError(f"index out of range: {begin}")
    # Searching from the end, Python may visit each character as often as the part is long.
    spend(meter, site, len(subject) // 8 * (1 + len(part) // 8))
    return int(subject.rfind(part, 0, min(begin + len(part), len(subject))))


def _join_cost(args: "CallArguments") -> "IntRange":
    return (args.items(0) + _joined(args).length().as_text).or_nothing


def _joined(args: "CallArguments") -> "Extent":
    part = (args.extent(0).element or args.unbounded(STRING)).length()
    separator = args.length(1) if len(args) > 1 else args.nothing
    return args.extent(0).sized((args.items(0) * (part + separator)).or_nothing)


@LIBRARY.metered(
    "list_join         join  list(string).() -> string",
    "list_join_string  join  list(string).(string) -> string",
    weight=6,
    grows=_join_cost,
    gives=_joined,
)
def join(meter: Meter, site: int, parts: Any, separator: Any = "") -> str:
    """`list.join()`, `list.join(separator)`: all texts as one."""
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


@LIBRARY.linear("string_lower_ascii  lowerAscii  string.() -> string", weight=20, stride=2, gives=part_of)
def lower_ascii(text: Any) -> str:
    """`text.lowerAscii()`: in lower case."""
    _check("lowerAscii", (str,), text)
    return str(text.translate(_LOWER))


@LIBRARY.linear("string_upper_ascii  upperAscii  string.() -> string", weight=20, stride=2, gives=part_of)
def upper_ascii(text: Any) -> str:
    """`text.upperAscii()`: in upper case."""
    _check("upperAscii", (str,), text)
    return str(text.translate(_UPPER))


def replaced(args: "CallArguments") -> "Extent":
    """Return the size of a text in which everything is replaced by the third argument."""
    text, replacement = args.length(0), args.length(2)
    return args.extent(0).sized((text + (text + 1) * replacement).or_nothing)


def _replace_cost(args: "CallArguments") -> "IntRange":
    return (search(args) + args.length(0) + 1 + replaced(args).length().as_text).or_nothing


@LIBRARY.metered(
    "string_replace_string_string      replace  string.(string, string) -> string",
    "string_replace_string_string_int  replace  string.(string, string, int) -> string",
    weight=16,
    grows=_replace_cost,
    gives=replaced,
)
def replace(meter: Meter, site: int, text: Any, old: Any, new: Any, *limit: Any) -> str:
    """`text.replace(old, new)`, `text.replace(old, new, limit)`: replaces `old`; a negative limit means all."""
    _check("replace", (str, str, str, int), text, old, new, *limit)
    count = limit[0] if limit else -1
    pay_for_search(meter, site, text, old)
    times = text.count(old) if old else len(text) + 1
    times = min(times, count) if count >= 0 else times
    spend(meter, site, times)
    pay_for_text(meter, site, len(text) + times * len(new))
    return str(text.replace(old, new, count))


PART = 4
"""Units of one part of a split text, which is a new text."""


def pieces(args: "CallArguments") -> "Extent":
    """Return the size of a list of parts of a text."""
    text = args.extent(0)
    return text.sized((text.length() + 1).or_nothing, text.sized(text.length().or_nothing))


def _split_cost(args: "CallArguments") -> "IntRange":
    return (search(args) + (args.length(0) + 1) * (PART + 1)).or_nothing


@LIBRARY.metered(
    "string_split_string      split  string.(string) -> list(string)",
    "string_split_string_int  split  string.(string, int) -> list(string)",
    weight=16,
    grows=_split_cost,
    gives=pieces,
)
def split(meter: Meter, site: int, text: Any, separator: Any, *limit: Any) -> list[str]:
    """`text.split(separator)`, `text.split(separator, limit)`: the parts; a negative limit means all, 0 none."""
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


@LIBRARY.linear(
    "string_substring_int      substring  string.(int) -> string",
    "string_substring_int_int  substring  string.(int, int) -> string",
    weight=8,
    gives=part_of,
)
def substring(text: Any, start: Any, *end: Any) -> str:
    """`text.substring(start)`, `text.substring(start, end)`: the text from `start` to before `end`."""
    _check("substring", (str, int, int), text, start, *end)
    stop = end[0] if end else len(text)
    for position in (start, stop):
        if not 0 <= position <= len(text):
            raise EvaluationError(f"index out of range: {position}")
    if start > stop:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return str(text[start:stop])


@LIBRARY.linear("string_trim  trim  string.() -> string", weight=6, gives=part_of)
def trim(text: Any) -> str:
    """`text.trim()`: without white space, as Unicode defines it, at both ends."""
    _check("trim", (str,), text)
    return str(text.strip(_SPACE))


@LIBRARY.linear(
    "string_reverse  reverse  string.() -> string",
    "list_reverse    reverse  list(A).() -> list(A)",
    weight=6,
    moving=TimeUse.CARRIED,
    stride=4,
    gives=part_of,
)
def reverse(subject: Any) -> Any:
    """`text.reverse()`, `list.reverse()`: in reverse order."""
    if not isinstance(subject, list):
        _check("reverse", (str,), subject)
    return subject[::-1]


@LIBRARY.linear("strings_quote  strings.quote  (string) -> string", weight=60, stride=1, gives=encoded)
def quote(text: Any) -> str:
    """`strings.quote(text)`: the text as a literal that is safe to print."""
    _check("strings.quote", (str,), text)
    body = "".join(_QUOTED.get(character, character) for character in text)
    return f'"{body}"'.encode("utf-8", "replace").decode()


LIBRARY.metered(
    "string_format  format  string.(list(dyn)) -> string",
    weight=20,
    moving=TimeUse.READ,
    grows=format_cost,
    gives=formatted,
)(format_)
