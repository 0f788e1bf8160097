"""Conversions between types: `int(x)`, `string(x)`, `timestamp(x)` and so on."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.runtime.budget import PRECISE, Meter, spend
from muster.cel.runtime.describe import no_overload, shown, type_name
from muster.cel.runtime.numbers import pay_for_text
from muster.cel.runtime.temporal import EPOCH, SECOND, instant, instant_ns, rate_of, span, span_ns
from muster.cel.runtime.watching import WATCHING, watch, watch_each_second
from muster.cel.values import INT_MAX, INT_MIN, UINT_MAX, TypeValue, UInt

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_UNSIGNED = re.compile(r"\+?[0-9]{1,30}", re.ASCII)
_DOUBLE = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|inf(inity)?|nan)", re.ASCII | re.I
)
_TIME = re.compile(r"(\d{4,})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_TERM = re.compile(r"(\d{0,20})(?:\.(\d{0,20}))?(h|ms|m|s|us|µs|μs|ns)", re.ASCII)
_UNIT_NS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 1000, "µs": 1000, "μs": 1000, "ns": 1}
_MAX_SPAN = 315_576_000_000 * SECOND
LONGEST_SPAN = 200

FORMATTING = 30
"""Units of formatting a double, an instant or a duration."""
SPAN_CHARACTER = 4
"""Units of parsing one character of a duration."""
_BOOLS = {
    "true": True, "True": True, "TRUE": True, "t": True, "T": True, "1": True,
    "false": False, "False": False, "FALSE": False, "f": False, "F": False, "0": False,
}  # fmt: skip


def to_int(meter: Meter, site: int, value: Any) -> int:
    """`int(x)`: converts a number, truncated towards 0, or a text; seconds since 1970; nanoseconds of a duration."""
    kind = value.__class__
    if kind is int:
        return int(value)
    if kind is UInt:
        return _fitting(int(value), INT_MIN, INT_MAX, "int")
    if kind is float:
        if not -(2.0**63) < value < 2.0**63:
            raise EvaluationError(f"out of range: {value!r} does not fit into int")
        return int(value)
    if kind is str:
        if not _INTEGER.fullmatch(value):
            raise EvaluationError(f"{shown(value)} is not an int")
        return _fitting(int(value), INT_MIN, INT_MAX, "int")
    if isinstance(value, datetime):
        if rate_of(value):
            spend(meter, site, WATCHING)
            watch(value, lambda moment: instant_ns(moment) // SECOND)
        return instant_ns(value) // SECOND
    if isinstance(value, timedelta):
        if rate_of(value):
            spend(meter, site, PRECISE)
            watch_each_second(value)
        return span_ns(value)
    raise no_overload("int", value)


def to_uint(value: Any) -> UInt:
    """`uint(x)`: converts a number, truncated towards 0, or a text."""
    kind = value.__class__
    if kind is UInt:
        return UInt(value)
    if kind is int:
        return UInt(_fitting(value, 0, UINT_MAX, "uint"))
    if kind is float:
        if not 0.0 <= value < 2.0**64:
            raise EvaluationError(f"out of range: {value!r} does not fit into uint")
        return UInt(int(value))
    if kind is str:
        if not _UNSIGNED.fullmatch(value):
            raise EvaluationError(f"{shown(value)} is not a uint")
        return UInt(_fitting(int(value), 0, UINT_MAX, "uint"))
    raise no_overload("uint", value)


def _fitting(value: int, low: int, high: int, kind: str) -> int:
    if low <= value <= high:
        return value
    raise EvaluationError(f"out of range: {value} does not fit into {kind}")


def to_double(value: Any) -> float:
    """`double(x)`: converts a number or a text."""
    kind = value.__class__
    if kind in (float, int, UInt):
        return float(value)
    if kind is str:
        if len(value) > 400 or not _DOUBLE.fullmatch(value):
            raise EvaluationError(f"{shown(value)} is not a double")
        return float(value)
    raise no_overload("double", value)


def to_string(meter: Meter, site: int, value: Any) -> str:
    """`string(x)`: the value as text."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is UInt:
        return int.__repr__(value)
    if kind is float:
        spend(meter, site, FORMATTING)
        return format_double(value)
    if kind is bytes:
        pay_for_text(meter, site, len(value))
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8: these bytes are not text") from None
    if isinstance(value, datetime | timedelta):
        return time_text(meter, site, value)
    spend(meter, site, FORMATTING)
    text = getattr(value, "cel_string", None)
    if text is not None:
        return str(text())
    raise no_overload("string", value)


def format_double(value: float) -> str:
    """Return the shortest text that parses to the same value, with an exponent below -4 and from 6 on, as Go's %g."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    shortest = repr(value).partition("e")[0].lstrip("-").replace(".", "").strip("0")
    head, _, tail = f"{value:.{len(shortest) - 1}e}".partition("e")
    power = int(tail)
    if -4 <= power < 6:
        return _positional(head, power)
    return f"{head}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _positional(head: str, power: int) -> str:
    sign, digits = ("-", head[1:]) if head.startswith("-") else ("", head)
    digits = digits.replace(".", "")
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    if len(digits) <= power + 1:
        return sign + digits.ljust(power + 1, "0")
    return f"{sign}{digits[: power + 1]}.{digits[power + 1 :]}"


def to_bytes(value: Any) -> bytes:
    """`bytes(x)`: the octets of a text in UTF-8."""
    if value.__class__ is str:
        return bytes(value, "utf-8", "surrogatepass")
    if value.__class__ is bytes:
        return bytes(value)
    raise no_overload("bytes", value)


def to_bool(value: Any) -> bool:
    """`bool(x)`: parses a text such as `true`, `True`, `t` or `1`."""
    if value.__class__ is bool:
        return bool(value)
    if value.__class__ is str:
        if value in _BOOLS:
            return _BOOLS[value]
        raise EvaluationError(f"type conversion error: {shown(value)} is not a bool")
    raise no_overload("bool", value)


def to_timestamp(value: Any) -> datetime:
    """`timestamp(x)`: parses a text such as `2026-01-01T00:00:00Z`, or converts seconds since 1970."""
    if isinstance(value, datetime):
        return value
    if value.__class__ is int:
        if not -62_135_596_800 <= value < 253_402_300_800:
            raise EvaluationError(f"timestamp out of range: {value}")
        return EPOCH + timedelta(seconds=value)
    if value.__class__ is str:
        return parse_time(value)
    raise no_overload("timestamp", value)


def parse_time(text: str) -> datetime:
    """Return the instant of an RFC 3339 text, to the nanosecond."""
    match = _TIME.fullmatch(text) if len(text) < 80 else None
    if match is None:
        raise EvaluationError(f"{shown(text)} is not a timestamp such as 2026-01-01T00:00:00Z")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        plain = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError as error:
        raise EvaluationError(f"timestamp out of range: {shown(text)}: {error}") from None
    offset = 0
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            raise EvaluationError(f"timestamp out of range: {shown(text)} has no valid offset")
        offset = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    nanos = int((fraction or "0")[:9].ljust(9, "0"))
    return instant(instant_ns(plain) - offset * SECOND + nanos)


def to_duration(meter: Meter, site: int, value: Any) -> timedelta:
    """`duration(x)`: parses a text such as `90s` or `1h30m`."""
    if isinstance(value, timedelta):
        return value
    if value.__class__ is str:
        pay_for_span(meter, site, value)
        return parse_span(value)
    if value.__class__ is int:
        if abs(value) > 315_576_000_000:
            raise EvaluationError(f"duration out of range: {value}s")
        return timedelta(seconds=value)
    raise no_overload("duration", value)


def pay_for_span(meter: Meter, site: int, text: str) -> None:
    """Pay for parsing a duration; the weight of the call covers a short one such as `1h30m`."""
    if len(text) > 8:
        spend(meter, site, SPAN_CHARACTER * min(len(text), LONGEST_SPAN))


def parse_span(text: str) -> timedelta:
    """Return the duration of a text in Go's syntax: `90s`, `1h30m`, `-1.5h`, `0`. Takes a single pass."""
    body = text[1:] if text[:1] in ("+", "-") else text
    total, position = 0, 0
    while position < len(body) and position < LONGEST_SPAN:
        term = _TERM.match(body, position)
        if term is None or not (term[1] or term[2]):
            break
        unit = _UNIT_NS[term[3]]
        total += int(term[1] or 0) * unit + int(term[2] or 0) * unit // 10 ** len(term[2] or "")
        position = term.end()
    if body != "0" and (not body or position != len(body)):
        raise EvaluationError(f"{shown(text)} is not a duration such as 90s, 5m or 1h30m")
    if total > _MAX_SPAN:
        raise EvaluationError(f"duration out of range: {shown(text)}")
    return span(-total if text.startswith("-") else total)


def time_text(meter: Meter, site: int, value: datetime | timedelta) -> str:
    """Return the text of an instant or a duration. If the value moves with `now`, the text changes each second."""
    spend(meter, site, FORMATTING)
    if rate_of(value):
        spend(meter, site, PRECISE)
        watch_each_second(value)
    return format_time(value) if isinstance(value, datetime) else format_span(value)


def format_time(value: datetime) -> str:
    """Return RFC 3339 in UTC, with as many fractional digits as needed: `2026-01-01T00:00:00.5Z`."""
    seconds, nanos = divmod(instant_ns(value), SECOND)
    plain = EPOCH + timedelta(seconds=seconds)
    text = f"{plain.year:04d}" + plain.strftime("-%m-%dT%H:%M:%S")
    return f"{text}.{nanos:09d}".rstrip("0") + "Z" if nanos else f"{text}Z"


def format_span(value: timedelta) -> str:
    """Return a duration in seconds: `5400s`, `1.5s`."""
    ns = span_ns(value)
    seconds, nanos = divmod(abs(ns), SECOND)
    text = f"{seconds}.{nanos:09d}".rstrip("0") if nanos else str(seconds)
    return f"{'-' if ns < 0 else ''}{text}s"


def to_type(value: Any) -> TypeValue:
    """`type(x)`: the type as a value."""
    return TypeValue(type_name(value))


def to_dyn(value: Any) -> Any:
    """`dyn(x)`: the value, without its type for the checker."""
    return value
