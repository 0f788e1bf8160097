"""`text.format(args)`: the verbs of the strings extension."""

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from muster.cel.errors import EvaluationError
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.conversion import FORMATTING, format_double, time_text, to_string
from muster.cel.runtime.describe import no_overload, spoken_type, type_name
from muster.cel.runtime.numbers import pay_for_text
from muster.cel.values import TypeValue, UInt

if TYPE_CHECKING:
    from muster.cel.extent import Extent, IntRange
    from muster.cel.library.arguments import CallArguments

_CLAUSE_UNITS, _PART = 20, 12
"""Units of a clause, and of each value inside lists and maps that it formats."""
_CLAUSE_MOST = 1_000
"""The most units of a clause that formats no text, list or map: 1,000 digits of a double."""
_Payer: TypeAlias = tuple[Meter, int]
_PRECISION_DIGITS = 9
_MAX_PRECISION = 1_000
_NOT_FINITE_TEXTS = ("NaN", "Infinity", "-Infinity")
"""Texts that clauses for doubles accept: the doubles that JSON cannot represent."""


def format_cost(args: "CallArguments") -> "IntRange":
    """Return the most that the template and its clauses cost."""
    template = args.length(0)
    clauses = args.between(0, template.max // 2 + 1)
    return (template.as_text + clauses * _CLAUSE_UNITS + _printed(args).or_nothing).or_nothing


def formatted(args: "CallArguments") -> "Extent":
    """Return the size of the formatted template."""
    return args.extent(0).sized((args.length(0) + _printed(args)).or_nothing)


def _printed(args: "CallArguments") -> "IntRange":
    return args.items(1) * (_CLAUSE_MOST + args.element_compared(1) * 8)


def format_(meter: Meter, site: int, template: Any, args: Any) -> str:
    """`text.format(list)`: with each clause, such as `%s`, replaced by the next element."""
    if template.__class__ is not str or not isinstance(args, list):
        raise no_overload("format", template, args)
    pay_for_text(meter, site, len(template))
    values = iter(args)
    parts: list[str] = []
    position = count = 0
    while (start := template.find("%", position)) >= 0:
        spend(meter, site, _CLAUSE_UNITS)
        parts.append(template[position:start])
        digits, verb, position = _clause(template, start)
        if position == start + 2 and verb == "%":
            parts.append("%")
            continue
        writer = _VERBS.get(verb)
        if writer is None:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
        if count >= len(args):
            raise EvaluationError(f"index {count} out of range: more clauses than arguments")
        precision = int(digits) if digits else None
        if precision is not None and precision > _MAX_PRECISION:
            raise EvaluationError(f"precision {precision} is more than {_MAX_PRECISION}")
        text = writer((meter, site), next(values), precision, verb)
        # A value that is already a text cost nothing yet; its place in the result does.
        pay_for_text(meter, site, len(text))
        parts.append(text)
        count += 1
    return "".join([*parts, template[position:]])


def _clause(template: str, start: int) -> tuple[str, str, int]:
    """Return the digits of the precision and the verb of the clause that begins at a `%`, and where it ends."""
    end, digits = start + 1, ""
    if template.startswith(".", end):
        rest = template[end + 1 : end + 1 + _PRECISION_DIGITS]
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        end += len(digits) + 1 if digits else 0
    verb = template[end : end + 1]
    return digits, verb, end + len(verb)


def _error(message: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {message}, was given {type_name(value)}")


def _string(payer: _Payer, value: Any, _precision: int | None, _verb: str) -> str:
    return _as_string(payer, value, 0)


def _as_string(payer: _Payer, value: Any, depth: int) -> str:
    """Return a value as `%s` formats it: maps sorted by key, without quotes."""
    if depth > 32:
        raise EvaluationError("error during formatting: nested too deep")
    kind = value.__class__
    if kind is str:
        return str(value)
    if isinstance(value, list):
        spend(*payer, _PART * (1 + len(value)))
        parts = [_as_string(payer, item, depth + 1) for item in value]
        pay_for_text(*payer, sum(map(len, parts)) + 2 * len(parts))
        return f"[{', '.join(parts)}]"
    if isinstance(value, Mapping):
        spend(*payer, 4 * _PART * (1 + len(value)))
        entries = sorted((_as_string(payer, key, depth + 1), _as_string(payer, value[key], depth + 1)) for key in value)
        pay_for_text(*payer, sum(len(key) + len(item) + 4 for key, item in entries))
        return f"{{{', '.join(f'{key}: {item}' for key, item in entries)}}}"
    if value is None:
        return "null"
    if isinstance(value, TypeValue):
        return value.name
    if kind is bytes:
        pay_for_text(*payer, len(value))
        return str(value, "utf-8", "replace")
    if kind is float:
        spend(*payer, FORMATTING)
        return _double_word(value) or format_double(value)
    if isinstance(value, datetime | timedelta):
        return time_text(*payer, value)
    if not isinstance(value, (str, int, bool)):
        raise _error(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
            "durations, and timestamps",
            value,
        )
    return to_string(*payer, value)


def _double_word(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "" if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def _decimal(_payer: _Payer, value: Any, _precision: int | None, _verb: str) -> str:
    if value.__class__ is int or value.__class__ is UInt:
        return str(int(value))
    if value.__class__ is float and not math.isfinite(value):
        return _double_word(value)
    raise _error("decimal clause can only be used on integers", value)


def _digits(precision: int | None) -> int:
    """Return the units of formatting a double, which may have 300 digits before its point."""
    return 40 + (precision or 0) // 2


def _number(name: str, value: Any) -> float:
    if value.__class__ in (float, int, UInt) or value in _NOT_FINITE_TEXTS:
        return float(value)
    raise _error(f"{name} clause can only be used on doubles", value)


def _fixed(payer: _Payer, value: Any, precision: int | None, _verb: str) -> str:
    spend(*payer, _digits(precision))
    number = _number("fixed-point", value)
    return _double_word(number) or f"{number:.{6 if precision is None else precision}f}"


def _scientific(payer: _Payer, value: Any, precision: int | None, _verb: str) -> str:
    spend(*payer, _digits(precision))
    number = _number("scientific", value)
    return _double_word(number) or f"{number:.{6 if precision is None else precision}e}"


def _binary(_payer: _Payer, value: Any, _precision: int | None, _verb: str) -> str:
    if value.__class__ is bool:
        return "1" if value else "0"
    if value.__class__ in (int, UInt):
        return f"{int(value):b}"
    raise EvaluationError(
        f"error during formatting: only integers and bools can be formatted as binary, was given {spoken_type(value)}"
    )


def _hexadecimal(payer: _Payer, value: Any, _precision: int | None, verb: str) -> str:
    if value.__class__ in (int, UInt):
        text = f"{int(value):x}"
    elif value.__class__ is str:
        pay_for_text(*payer, 8 * len(value))
        text = value.encode("utf-8", "surrogatepass").hex()
    elif value.__class__ is bytes:
        pay_for_text(*payer, 2 * len(value))
        text = value.hex()
    else:
        raise _error("only integers, byte buffers, and strings can be formatted as hex", value)
    return text.upper() if verb == "X" else text


def _octal(_payer: _Payer, value: Any, _precision: int | None, _verb: str) -> str:
    if value.__class__ in (int, UInt):
        return f"{int(value):o}"
    raise _error("octal clause can only be used on integers", value)


_VERBS: Mapping[str, Callable[[_Payer, Any, int | None, str], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal,
    "X": _hexadecimal,
    "o": _octal,
}
