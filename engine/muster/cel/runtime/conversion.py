"""Conversions between types: `int(x)`, `string(x)`, `timestamp(x)` and so on."""

from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.runtime.budget import PRECISE, Meter, spend
from muster.cel.runtime.describe import no_overload, shown, type_name
from muster.cel.runtime.numbers import pay_for_text
from muster.cel.runtime.temporal import EPOCH, SECOND, instant, instant_ns, rate_of, span, span_ns
from muster.cel.runtime.watching import WATCHING, watch, watch_each_second
from muster.cel.values import INT_MAX, INT_MIN, UINT_MAX, TypeValue, UInt

_MOST_DIGITS, _MOST_SPAN_DIGITS, _LONGEST_DOUBLE, _LONGEST_TIME = 30, 20, 400, 80
#: RFC 3339's forms behind the year, with every digit as 0.
_AS_ZEROS = str.maketrans("123456789tz", "000000000TZ")
_BEHIND_YEAR, _ZONES = "-00-00T00:00:00", frozenset(("Z", "+00:00", "-00:00"))
_NUMERIC = frozenset("0123456789.")
_NOT_IN_DOUBLES = frozenset("_ \t\n\r\f\v\x1c\x1d\x1e\x1f")
_UNIT_NS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 1000, "µs": 1000, "μs": 1000, "ns": 1}
_MAX_SPAN = 315_576_000_000 * SECOND
LONGEST_SPAN = 200

FORMATTING = 30
"""Units of formatting a double, an instant or a duration."""
SPAN_CHARACTER = 4
"""Units of parsing one character of a duration."""
_BOOLS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "t": True,
    "T": True,
    "1": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "f": False,
    "F": False,
    "0": False,
}


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
        if not _is_number(value[1:] if value[:1] in ("+", "-") else value):
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
        if not _is_number(value.removeprefix("+")):
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
        # Python also takes blanks around a number, and `_` between digits.
        sound = len(value) <= _LONGEST_DOUBLE and value.isascii() and not _NOT_IN_DOUBLES.intersection(value)
        try:
            return float(value if sound else "")
        except ValueError:
            raise EvaluationError(f"{shown(value)} is not a double") from None
    raise no_overload("double", value)


def _is_number(text: str) -> bool:
    return 0 < len(text) <= _MOST_DIGITS and text.isascii() and text.isdecimal()


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
    parts = _time_parts(text) if len(text) < _LONGEST_TIME else None
    if parts is None:
        raise EvaluationError(f"{shown(text)} is not a timestamp such as 2026-01-01T00:00:00Z")
    numbers, fraction, zone = parts
    try:
        year, month, day, hour, minute, second = map(int, numbers)
        plain = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise EvaluationError(f"timestamp out of range: {shown(text)}: {error}") from None
    offset = 0
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            raise EvaluationError(f"timestamp out of range: {shown(text)} has no valid offset")
        offset = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    nanos = int((fraction or "0")[:9].ljust(9, "0"))
    return instant(instant_ns(plain) - offset * SECOND + nanos)


def _time_parts(text: str) -> tuple[list[str], str, str] | None:
    """Return the six numbers, the digits of the fraction and the zone of an RFC 3339 text; its year has at least four
    digits. None for any other text."""
    form = text.translate(_AS_ZEROS)
    rest = form.lstrip("0")
    digits = len(form) - len(rest)
    end = digits + len(_BEHIND_YEAR)
    zone = form[end:]
    fraction = ""
    if zone.startswith(".0"):
        zone = zone[1:].lstrip("0")
        fraction = text[end + 1 : len(text) - len(zone)]
    if digits < 4 or not rest.startswith(_BEHIND_YEAR) or zone not in _ZONES:
        return None
    month = digits + 1
    numbers = [text[:digits], *(text[start : start + 2] for start in range(month, end, 3))]
    return numbers, fraction, text[len(text) - len(zone) :]


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
    total = 0
    # numbers and units take turns
    parts = ["".join(part) for _, part in groupby(body[: LONGEST_SPAN + 1], _NUMERIC.__contains__)]
    sound = body != "" and len(body) <= LONGEST_SPAN and len(parts) % 2 == 0
    for number, name in zip(parts[::2], parts[1::2], strict=False):
        whole, _, fraction = number.partition(".")
        unit = _UNIT_NS.get(name)
        if unit is None or not _are_span_digits(whole, fraction):
            sound = False
            break
        total += int(whole or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
    if body != "0" and not sound:
        raise EvaluationError(f"{shown(text)} is not a duration such as 90s, 5m or 1h30m")
    if total > _MAX_SPAN:
        raise EvaluationError(f"duration out of range: {shown(text)}")
    return span(-total if text.startswith("-") else total)


def _are_span_digits(whole: str, fraction: str) -> bool:
    digits = whole + fraction
    return digits.isascii() and digits.isdecimal() and max(len(whole), len(fraction)) <= _MOST_SPAN_DIGITS


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
