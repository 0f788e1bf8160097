"""Renewals in the text of an agent's files: taken out as small numbers, and put back byte for byte.

A heartbeat changes one value of a Lease, its `renewTime`. Without these values the text of most files stays the same
from run to run, and is stored once; the values are stored as their ages at the instant of the run. Two bytes hold an
age, and a third of those that most agents use is information: the low bytes of all ages lie together, and so do the
high ones, so that zlib leaves about a byte of both.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

#: The field that a heartbeat changes.
_FIELD: Final = "renewTime"
#: Clocks differ (`git.clock.CLOCK_SKEW`), so a renewal may be this many seconds younger than the run.
_AHEAD: Final = 300
#: Older renewals (18 hours) are not taken out: a silent cluster's text does not change from run to run either.
_AGES: Final = 1 << 16
_SECONDS: Final = len("2026-01-01T00:00:00")
_MOST_DIGITS: Final = 9
#: So many characters may stand between the field's name and its value: a quote, a colon, blanks.
_MOST_BETWEEN: Final = 8
#: Of one ref. Its further renewals stay in the text.
MOST_RENEWALS: Final = 64

#: A text without its renewals: what is between them, and the number of each among those of its ref.
Pieces: TypeAlias = list[str | int]


class RenewTime(NamedTuple):
    """A `renewTime`: its second since the epoch, and the digits of its fraction as they are written."""

    second: int
    fraction: str = ""

    @property
    def text(self) -> str:
        """As it is written: `2026-01-01T00:00:00Z`, with `.` and the fraction's digits if it has any."""
        return f"{_text_of(self.second)}{'.' if self.fraction else ''}{self.fraction}Z"


def without_renewals(text: str, now: int | None, renewals: list[RenewTime]) -> Pieces:
    """Take the renewals out of a text, and add those that are new to `renewals`, the ones of the ref so far. `now` is
    the second of the run; None for renewals of any age. `with_renewals` puts them back."""
    pieces: Pieces = []
    start = at = 0
    while (at := text.find(_FIELD, at)) >= 0:
        at += len(_FIELD)
        begin = _value_after(text, at)
        renewal = _renewal_at(text, begin)
        if renewal is None or (now is not None and not fits(renewal, now)):
            continue
        if renewal not in renewals:
            if len(renewals) == MOST_RENEWALS:
                continue
            renewals.append(renewal)
        pieces += (text[start:begin], renewals.index(renewal))
        start = at = begin + len(renewal.text)
    return [*pieces, text[start:]]


def fits(renewal: RenewTime, now: int) -> bool:
    """Can the age of a renewal be stored in the record of a run at a second?"""
    return 0 <= now - renewal.second + _AHEAD < _AGES


def has_renewal(text: str) -> bool:
    """Is a renewal left in a text, because it does not fit now?"""
    at = 0
    while (at := text.find(_FIELD, at)) >= 0:
        at += len(_FIELD)
        if _renewal_at(text, _value_after(text, at)) is not None:
            return True
    return False


def with_renewals(pieces: Pieces, renewals: Sequence[str]) -> str:
    """Return the text with the renewals, given as they are written. IndexError for one that is missing."""
    return "".join([piece if isinstance(piece, str) else renewals[piece] for piece in pieces])


def packed(renewals: Sequence[RenewTime], now: int) -> bytes:
    """Return the ages of renewals at the second of the run, and the fractions of those that have some."""
    ages = [now - renewal.second + _AHEAD for renewal in renewals]
    fractions = [int(renewal.fraction) for renewal in renewals if renewal.fraction]
    return b"".join((*_planes(ages, 2), *_planes(fractions, 4)))


def unpacked(data: bytes, digits: Sequence[int], now: int) -> list[RenewTime]:
    """Return the renewals, of which each has so many `digits` in its fraction. ValueError for other data."""
    several = sum(1 for count in digits if count)
    if len(data) != 2 * len(digits) + 4 * several or not all(0 <= count <= _MOST_DIGITS for count in digits):
        raise ValueError(f"{len(data)} bytes are not the ages of {len(digits)} renewals")
    ages = _from_planes(data[: 2 * len(digits)], len(digits))
    fractions = _from_planes(data[2 * len(digits) :], several)
    return list(_renewals(ages, fractions, digits, now))


def _renewals(ages: Iterable[int], fractions: Iterator[int], digits: Iterable[int], now: int) -> Iterator[RenewTime]:
    for age, count in zip(ages, digits, strict=True):
        fraction = str(next(fractions)).zfill(count) if count else ""
        if len(fraction) > count:
            raise ValueError(f"a fraction {fraction} has more than {count} digits")
        yield RenewTime(now + _AHEAD - age, fraction)


def _planes(numbers: Sequence[int], width: int) -> Iterator[bytes]:
    """The lowest bytes of all numbers, then the next ones."""
    for at in range(width):
        yield bytes([number >> 8 * at & 255 for number in numbers])


def _from_planes(data: bytes, count: int) -> Iterator[int]:
    planes = [data[at : at + count] for at in range(0, len(data), count)] if count else []
    return (int.from_bytes(number, "little") for number in zip(*planes, strict=True))


def _value_after(text: str, at: int) -> int:
    """Where the value of the field begins whose name ends at a place; the end of what may be between them if none
    does."""
    for end in range(at, min(at + _MOST_BETWEEN, len(text))):
        if text[end] not in "\"': \t":
            return end
    return min(at + _MOST_BETWEEN, len(text))


def _renewal_at(text: str, begin: int) -> RenewTime | None:
    """The renewal whose text begins at a place; None if there is none, or it is written in another way."""
    second = _second_of(text[begin : begin + _SECONDS])
    if second is None:
        return None
    fraction = ""
    end = begin + _SECONDS
    if text[end : end + 1] == ".":
        digits = text[end + 1 : end + 2 + _MOST_DIGITS].partition("Z")[0]
        fraction = digits if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else ""
    renewal = RenewTime(second, fraction)
    return renewal if text.startswith(renewal.text, begin) else None


@lru_cache(maxsize=1 << 12)
def _second_of(text: str) -> int | None:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    second = int(instant.replace(tzinfo=UTC).timestamp()) if instant.tzinfo is None else 0
    return second if _text_of(second) == text else None


@lru_cache(maxsize=1 << 12)
def _text_of(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
