"""JSON files, which libyaml reads as the flow style of YAML, with two exceptions.

A `.json` file that only YAML would read (comments, single quotes, a comma too many) is refused here, because
every other reader of the file will refuse it. And JSON writes characters beyond U+FFFF as two surrogate escapes,
`\\ud83d\\ude00`, which libyaml refuses: they are rewritten, and the shift of columns is kept.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping
from types import MappingProxyType

from muster.data.yaml import messages
from muster.data.yaml.source import Fault
from muster.regex import Regex

_ESCAPE = Regex(rb"(?s)\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)")
_STRING_OR_CONSTANT = Regex(r'(?s)"(?:\\.|[^"\\])*"|NaN|-?Infinity')
_PAIR_LENGTH = len(r"\ud83d\ude00")
_SHORTER_BY = _PAIR_LENGTH - len(r"\U0001f600")

#: Per 0-based line: the 0-based columns, after rewriting, of the escapes that became shorter.
Shifts = Mapping[int, list[int]]
NO_SHIFTS: Shifts = MappingProxyType({})


class _NotJsonError(ValueError):
    """The text has `NaN` or `Infinity`, which Python's parser accepts although JSON does not."""


def check(data: bytes) -> Fault | None:
    """Return why `data` (UTF-8, checked) is not one JSON text, or None. Duplicate keys are not looked for.

    Nesting beyond what the parser takes counts as JSON here: the loader's depth limit reports it better.
    """
    try:
        # Numbers stay text: a 5,000-digit integer must not reach int().
        json.loads(data, parse_int=str, parse_float=str, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return Fault(messages.not_json(error.msg[:1].lower() + error.msg[1:]), error.lineno, error.colno)
    except _NotJsonError as error:
        return Fault(messages.not_json(f"{error} is not a value in JSON"), *_first_constant(data.decode()))
    except RecursionError:
        return None
    return None


def _refuse(constant: str) -> None:
    raise _NotJsonError(constant)


def _first_constant(text: str) -> tuple[int, int]:
    """Return the 1-based line and column of the first `NaN` or `Infinity` outside of strings."""
    start = next(match.start() for match in _STRING_OR_CONSTANT.finditer(text) if not match[0].startswith('"'))
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def join_surrogates(data: bytes) -> tuple[bytes, Shifts]:
    """Return JSON text without surrogate pairs, and where that made lines shorter."""
    if b"\\u" not in data:
        return data, {}
    out: list[bytes] = []
    shifts: dict[int, list[int]] = {}
    line = column = taken = 0
    for escape in _ESCAPE.finditer(data):
        if not escape[1]:
            continue
        before = data[taken : escape.start()]
        if newlines := before.count(b"\n"):
            line, column = line + newlines, 0
        column += len(before[before.rfind(b"\n") + 1 :].decode())
        shifts.setdefault(line, []).append(column)
        joined = b"\\U%08x" % (0x10000 + ((int(escape[1], 16) - 0xD800) << 10) + (int(escape[2], 16) - 0xDC00))
        out += before, joined
        column += len(joined)
        taken = escape.end()
    return b"".join([*out, data[taken:]]), shifts


def original_column(shifts: Shifts, line: int, column: int) -> int:
    """Return the 1-based column in the file for a 1-based place in the rewritten text."""
    return column + _SHORTER_BY * bisect_left(shifts.get(line - 1, ()), column - 1)
