"""Regular expressions in RE2's syntax and in linear time.

In the worst case RE2 takes time in proportion to the length of the text times the size of the compiled pattern. A
search pays for that. Many patterns take less, but we cannot tell which. A pattern may be computed by the expression.
Its first use in an evaluation pays for compiling it, even if it is cached: the cost of an evaluation must not depend on
earlier ones.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library, part_of
from muster.cel.library.strings import pieces, replaced
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload, shown
from muster.cel.runtime.numbers import MAX_TEXT
from muster.cel.runtime.selection import NONE, OptionalValue

if TYPE_CHECKING:
    from muster.cel.extent import IntRange
    from muster.cel.library.arguments import CallArguments

LIBRARY = Library("regular expressions")

MAX_PATTERN = 1_000
"""The most characters of a pattern."""

MAX_MEMORY = 2 << 20
"""The most octets of a compiled pattern and its matching state: a program of about 80,000 steps."""

KEPT = 64
"""Compiled patterns that the process and each evaluation keep: at most 128 MiB, usually a thousandth of that."""

MATCHING = 70
"""Units of one search, besides text and pattern."""

COMPILING, STEP_COMPILED = 300, 8
"""Units of compiling a pattern, and of each step of its program."""
TOO_LARGE = 150_000
"""Units of compiling a pattern that is too large."""

GROUP = 8
LARGEST = MAX_MEMORY * 2 // 3 // 16
"""Steps of the largest program that fits into MAX_MEMORY."""
_SMALL_PROGRAM = 16
"""Programs up to this size fit into RE2's automaton for any text, which it then reads at full speed."""


class PatternTooLargeError(EvaluationError):
    """A pattern compiles to more than `MAX_MEMORY` allows."""


def compile_pattern(pattern: str) -> Any:
    """Return the compiled pattern. Raises EvaluationError."""
    if len(pattern) > MAX_PATTERN:
        raise EvaluationError(f"a pattern of {len(pattern):,} characters; {MAX_PATTERN:,} are allowed")
    return _compiled(pattern)


@lru_cache(maxsize=KEPT)
def _compiled(pattern: str) -> Any:
    import re2  # 3 to 15 ms, which expressions without patterns save

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "unknown"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        sort = PatternTooLargeError if "too large" in text else EvaluationError  # RE2 has no other word for it
        raise sort(f"{shown(pattern)} is not a regular expression: {text}") from None
    finally:
        re2.purge()  # drop RE2's own cache of 128 patterns


def scanning(octets: int, steps: int) -> int:
    """Return the units of one search through that many octets with a program of that many steps."""
    return octets // 16 if steps <= _SMALL_PROGRAM else octets * steps // 16


def _octets(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _prepared(meter: Meter, site: int, function: str, text: Any, pattern: Any) -> Any:
    """Return the compiled pattern, and pay for it and for one search through the text."""
    if text.__class__ is not str or pattern.__class__ is not str:
        raise no_overload(function, text, pattern)
    if len(meter) == 1:
        meter.append({})
    programs = meter[1]
    compiled = programs.get(pattern)
    if compiled is None:
        compiled = _newly_prepared(meter, site, pattern)
        if len(programs) < KEPT:
            programs[pattern] = compiled
    spend(meter, site, GROUP * compiled.groups + scanning(_octets(text), compiled.programsize))
    return compiled


def _newly_prepared(meter: Meter, site: int, pattern: str) -> Any:
    spend(meter, site, COMPILING)
    try:
        compiled = compile_pattern(pattern)
    except PatternTooLargeError:
        spend(meter, site, TOO_LARGE)
        raise
    spend(meter, site, STEP_COMPILED * compiled.programsize)
    return compiled


def _all_matches(meter: Meter, site: int, compiled: Any, text: str) -> Any:
    """Yield all matches. After each the search continues, and may visit the whole rest to find the next."""
    octets = _octets(text)
    per_match = MATCHING + GROUP * compiled.groups
    for match in compiled.finditer(text):
        rest = octets * (len(text) - match.end()) // max(len(text), 1)
        spend(meter, site, per_match + scanning(rest, compiled.programsize) + (match.end() - match.start()) // 8)
        yield match


# -- the highest costs ----------------------------------------------------------------------------------------


def _program(args: "CallArguments") -> int:
    """Return the steps of the pattern's program; the highest number if it is no literal, or expensive to compile."""
    pattern = args.literals.get(1)
    if not isinstance(pattern, str) or args.patterns.left <= 0:
        return LARGEST
    try:
        size = int(compile_pattern(pattern).programsize)
    except PatternTooLargeError:
        size = LARGEST
    except EvaluationError:
        size = 1
    args.patterns.left -= size
    return size


def _groups(args: "CallArguments") -> int:
    pattern = args.literals.get(1)
    return pattern.count("(") if isinstance(pattern, str) else MAX_PATTERN // 2


def _scanned(octets: "IntRange", steps: int) -> "IntRange":
    return octets.scaled(1 / 16 if steps <= _SMALL_PROGRAM else steps / 16)


def _matching(args: "CallArguments") -> "IntRange":
    steps = _program(args)
    octets = args.between(args.length(0).min, 4 * args.length(0).max)
    compiling = args.between(0, COMPILING + STEP_COMPILED * steps + GROUP * _groups(args))
    return (compiling + _scanned(octets, steps)).or_nothing


def _matching_all(args: "CallArguments") -> "IntRange":
    per_match = MATCHING + GROUP * _groups(args) + 1
    rest = args.between(0, 2 * args.length(0).max)  # on average, a search has half of the text before it
    return (_matching(args) + (args.length(0) + 1) * (per_match + _scanned(rest, _program(args)))).or_nothing


def _replacing(args: "CallArguments") -> "IntRange":
    replacement = args.length(2)
    expanding = (args.length(0) + 1) * (replacement * GROUP + replacement.as_text)
    return (_matching_all(args) + expanding + replaced(args).length()).or_nothing


# -- functions ------------------------------------------------------------------------------------------------


@LIBRARY.metered(
    "matches_string  matches  string.(string) -> bool",
    "matches         matches  (string, string) -> bool",
    weight=MATCHING,
    grows=_matching,
)
def matches(meter: Meter, site: int, text: Any, pattern: Any) -> bool:
    """`text.matches(pattern)`: whether the pattern matches anywhere in the text."""
    return _prepared(meter, site, "matches", text, pattern).search(text) is not None


@LIBRARY.metered("string_find_string  find  string.(string) -> string", weight=MATCHING, grows=_matching, gives=part_of)
def find(meter: Meter, site: int, text: Any, pattern: Any) -> str:
    """`text.find(pattern)`: the first match, or ''."""
    match = _prepared(meter, site, "find", text, pattern).search(text)
    return "" if match is None else str(match[0])


@LIBRARY.metered(
    "string_find_all_string      findAll  string.(string) -> list(string)",
    "string_find_all_string_int  findAll  string.(string, int) -> list(string)",
    weight=MATCHING,
    grows=_matching_all,
    gives=pieces,
)
def find_all(meter: Meter, site: int, text: Any, pattern: Any, limit: Any = -1) -> list[str]:
    """`text.findAll(pattern)`, `text.findAll(pattern, limit)`: all matches, or the first `limit` of them."""
    if limit.__class__ is not int:
        raise no_overload("findAll", text, pattern, limit)
    matches: list[str] = []
    for match in _all_matches(meter, site, _prepared(meter, site, "findAll", text, pattern), text):
        if 0 <= limit <= len(matches):
            break
        matches.append(match[0])
    return matches


def _group(pattern: Any) -> int:
    groups = pattern.groups
    if groups > 1:
        raise EvaluationError(f"the pattern has {groups} capturing groups; one is possible")
    return 1 if groups else 0


@LIBRARY.metered(
    "regex_extract_string_string  regex.extract  (string, string) -> optional_type(string)",
    weight=MATCHING,
    grows=_matching,
    gives=part_of,
)
def extract(meter: Meter, site: int, text: Any, pattern: Any) -> OptionalValue:
    """`regex.extract(text, pattern)`: the first match, or the text of its only group, as an optional."""
    compiled = _prepared(meter, site, "regex.extract", text, pattern)
    group = _group(compiled)
    match = compiled.search(text)
    return NONE if match is None or match[group] is None else OptionalValue(match[group], present=True)


@LIBRARY.metered(
    "regex_extractAll_string_string  regex.extractAll  (string, string) -> list(string)",
    weight=MATCHING,
    grows=_matching_all,
    gives=pieces,
)
def extract_all(meter: Meter, site: int, text: Any, pattern: Any) -> list[str]:
    """`regex.extractAll(text, pattern)`: all matches, or the text of their only group."""
    compiled = _prepared(meter, site, "regex.extractAll", text, pattern)
    group = _group(compiled)
    matches = []
    for match in _all_matches(meter, site, compiled, text):
        if match[group] is not None:
            matches.append(match[group])
    return matches


@LIBRARY.metered(
    "regex_replace_string_string_string      regex.replace  (string, string, string) -> string",
    "regex_replace_string_string_string_int  regex.replace  (string, string, string, int) -> string",
    weight=MATCHING,
    grows=_replacing,
    gives=replaced,
)
def replace(meter: Meter, site: int, text: Any, pattern: Any, by: Any, count: Any = -1) -> str:
    """`regex.replace(text, pattern, by)`, `... by, count)`: replaces matches; `\\1` in `by` is the first group."""
    compiled = _prepared(meter, site, "regex.replace", text, pattern)
    if by.__class__ is not str or count.__class__ is not int:
        raise no_overload("regex.replace", text, pattern, by, count)
    if count == 0:
        return str(text)
    parts: list[str] = []
    position = done = length = 0
    expanding = len(by) // 8 + GROUP * by.count("\\")
    for match in _all_matches(meter, site, compiled, text):
        if 0 < count <= done:
            break
        spend(meter, site, expanding)
        expanded = _expand(by, match, compiled.groups)
        length += len(expanded)
        spend(meter, site, len(expanded) // 8 if length <= MAX_TEXT else meter[0] + 1)
        parts += (text[position : match.start()], expanded)
        position, done = match.end(), done + 1
    return "".join([*parts, text[position:]])


def _expand(template: str, match: Any, groups: int) -> str:
    parts, position = [], 0
    while (slash := template.find("\\", position)) >= 0:
        parts.append(template[position:slash])
        follower = template[slash + 1 : slash + 2]
        if follower == "\\":
            parts.append("\\")
        elif follower.isdecimal() and follower.isascii() and int(follower) <= groups:
            parts.append(match[int(follower)] or "")
        else:
            raise EvaluationError(f"invalid replacement {shown(template)}: no group '\\{follower}'")
        position = slash + 2
    return "".join([*parts, template[position:]])
