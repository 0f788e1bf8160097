"""Regular expressions in RE2's syntax and in linear time."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Function, metered
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload, shown
from muster.cel.runtime.maps import NONE
from muster.cel.values import Optional

MAX_PATTERN = 1_000
"""Characters that a pattern may have."""


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> Any:
    import re2  # 15 ms that an expression without patterns does not pay

    if len(pattern) > MAX_PATTERN:
        raise EvaluationError(f"a pattern of {len(pattern):,} characters; {MAX_PATTERN:,} are allowed")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "unknown"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise EvaluationError(f"{shown(pattern)} is not a regular expression: {text}") from None


def _prepared(meter: Meter, site: int, function: str, text: Any, pattern: Any) -> Any:
    if text.__class__ is not str or pattern.__class__ is not str:
        raise no_overload(function, text, pattern)
    spend(meter, site, (len(text) // 32 + 1) * (len(pattern) // 16 + 1))
    return _compiled(pattern)


def matches(meter: Meter, site: int, text: Any, pattern: Any) -> bool:
    """`text.matches(pattern)`: whether the pattern matches anywhere in the text."""
    return _prepared(meter, site, "matches", text, pattern).search(text) is not None


def find(meter: Meter, site: int, text: Any, pattern: Any) -> str:
    """`text.find(pattern)`: the first match, or ''."""
    match = _prepared(meter, site, "find", text, pattern).search(text)
    return "" if match is None else str(match[0])


def find_all(meter: Meter, site: int, text: Any, pattern: Any, limit: Any = -1) -> list[str]:
    """`text.findAll(pattern, limit)`: all matches, or the first `limit` of them."""
    if limit.__class__ is not int:
        raise no_overload("findAll", text, pattern, limit)
    found: list[str] = []
    for match in _prepared(meter, site, "findAll", text, pattern).finditer(text):
        if 0 <= limit <= len(found):
            break
        spend(meter, site, 1)
        found.append(match[0])
    return found


def _group(pattern: Any) -> int:
    groups = pattern.groups
    if groups > 1:
        raise EvaluationError(f"the pattern has {groups} capturing groups; one is possible")
    return 1 if groups else 0


def extract(meter: Meter, site: int, text: Any, pattern: Any) -> Optional:
    """`regex.extract(text, pattern)`: the first match, or what its one group captured, as an optional."""
    compiled = _prepared(meter, site, "regex.extract", text, pattern)
    group = _group(compiled)
    match = compiled.search(text)
    return NONE if match is None or match[group] is None else Optional(match[group], present=True)


def extract_all(meter: Meter, site: int, text: Any, pattern: Any) -> list[str]:
    """`regex.extractAll(text, pattern)`: all matches, or what their one group captured."""
    compiled = _prepared(meter, site, "regex.extractAll", text, pattern)
    group = _group(compiled)
    found = []
    for match in compiled.finditer(text):
        spend(meter, site, 1)
        if match[group] is not None:
            found.append(match[group])
    return found


def replace(meter: Meter, site: int, text: Any, pattern: Any, by: Any, count: Any = -1) -> str:
    """`regex.replace(text, pattern, by, count)`; `\\1` in `by` is what the first group captured."""
    compiled = _prepared(meter, site, "regex.replace", text, pattern)
    if by.__class__ is not str or count.__class__ is not int:
        raise no_overload("regex.replace", text, pattern, by, count)
    if count == 0:
        return str(text)
    parts: list[str] = []
    position = done = 0
    for match in compiled.finditer(text):
        if 0 < count <= done:
            break
        expanded = _expand(by, match, compiled.groups)
        spend(meter, site, 1 + len(expanded) // 8)
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


FUNCTIONS: Mapping[str, Function] = {
    "regex.extract": metered(extract, 2),
    "regex.extractAll": metered(extract_all, 2),
    "regex.replace": metered(replace, 3, 4),
}
METHODS: Mapping[str, Function] = {"find": metered(find, 2), "findAll": metered(find_all, 2, 3)}
