"""What a group of clusters was like over a window of time, for drawing: few columns, and no dip is lost in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from muster.data.times import later
from muster.data.tree import Tree


class Level(NamedTuple):
    """How many clusters are available, Unknown and not; those of which nothing is decided do not count."""

    available: int
    unknown: int
    not_available: int

    @property
    def share(self) -> float:
        """The part that is available; more than all where there is none to judge."""
        judged = sum(self)
        return self.available / judged if judged else 2.0

    def plus(self, change: Sequence[int], sign: int = 1) -> "Level":
        """The level after a change, or with -1 before it."""
        return Level(*(max(0, have + sign * more) for have, more in zip(self, change, strict=True)))


NONE: Final = Level(0, 0, 0)


class Event(NamedTuple):
    """From when on a group was at a level, and the number of the commit that says so, -1 for none."""

    at: datetime
    level: Level
    commit: int


@dataclass(frozen=True, slots=True)
class Span:
    """A window of time. Nothing is known from before `known`; it is drawn in so many columns."""

    since: datetime
    until: datetime
    known: datetime
    columns: int

    @classmethod
    def ending(cls, until: datetime, length: timedelta, columns: int, begins: datetime | None) -> "Span":
        """The window of that length that ends then, of a history that begins then or, with None, before it."""
        since = later(until, -length) or until
        return cls(since, until, since if begins is None else min(until, max(since, begins)), columns)

    def seconds(self, at: datetime) -> int:
        """Seconds since it began."""
        return int((at - self.since).total_seconds())

    def column(self, at: datetime) -> int:
        """The column in which an instant lies."""
        return min(self.columns - 1, int((at - self.since) / (self.until - self.since) * self.columns))


class _Stretch(NamedTuple):
    """From an event to the next."""

    since: datetime
    until: datetime
    level: Level
    commit: int


def window(events: Sequence[Event], first: Level, span: Span) -> Tree:
    """Return what a group was like over a window. `events`: in order of time; `first`: the level before all of them.

    `start`: its first level; `steps`: for each column in which anything changed `[column, *lowest, *last, seconds,
    commit]`, of the levels that were reached in it, with when and by what the lowest was; `mean`: the part of all
    clusters' time in which they were available, None where none was judged; `worst`: `[*level, from, to, commit]` of
    the latest stretch in which the smallest part was available, None where it was always the same. In seconds since the
    window began.
    """
    stretches = list(_stretches(events, first, span))
    judged = sum(sum(one.level) * (one.until - one.since).total_seconds() for one in stretches)
    available = sum(one.level.available * (one.until - one.since).total_seconds() for one in stretches)
    return {
        "start": list(stretches[0].level),
        "steps": [[column, *low.level, *last.level, span.seconds(low.since), low.commit]
                  for column, low, last in _columns(stretches[1:], span)],
        "mean": round(available / judged, 6) if judged else None,
        "worst": _worst(stretches, span),
    }  # fmt: skip


def _stretches(events: Sequence[Event], first: Level, span: Span) -> Iterator[_Stretch]:
    """The stretches of the window from when on it is known. Levels that were no sooner reached than left are passed
    over; the last never is."""
    at, level, commit = span.known, first, -1
    for event in events:
        if event.at > at:
            yield _Stretch(at, min(event.at, span.until), level, commit)
            at = event.at
        level, commit = event.level, event.commit
    yield _Stretch(at, max(at, span.until), level, commit)


def _columns(stretches: Sequence[_Stretch], span: Span) -> Iterator[tuple[int, _Stretch, _Stretch]]:
    """The lowest and the last level that were reached in each column."""
    known: tuple[int, _Stretch, _Stretch] | None = None
    for one in stretches:
        column = span.column(one.since)
        if known is None or known[0] != column:
            if known is not None:
                yield known
            known = column, one, one
        else:
            known = column, min(known[1], one, key=lambda each: each.level.share), one
    if known is not None:
        yield known


def _worst(stretches: Sequence[_Stretch], span: Span) -> Tree:
    shares = [one.level.share for one in stretches]
    judged = [share for share in shares if share <= 1]
    if not judged or min(judged) == max(judged):
        return None
    lowest = min(judged)
    end = max(number for number, share in enumerate(shares) if share == lowest)
    begin = end
    while begin and shares[begin - 1] == lowest:
        begin -= 1
    one = stretches[begin]
    return [*one.level, span.seconds(one.since), span.seconds(stretches[end].until), one.commit]
