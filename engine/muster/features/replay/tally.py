"""What a sequence of runs comes to: outages found, false alarms, moves, and effects held.

An outage of a cluster begins with the run in which its headline condition (Available, Ready) stops being True, and ends
with the run in which it is True again. One that ends by news within a short time was a false alarm.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from statistics import median_low
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, is_cluster, kind_of
from muster.dataclass import dataclass
from muster.run.run import Settled
from muster.run.transition import Transition

_TRUE: Final = "True"


@dataclass(frozen=True, slots=True)
class Outage:
    """A cluster's headline condition was not True from one run to another; None: to the last one."""

    cluster: ObjectId
    since: datetime
    until: datetime | None = None

    def overlaps(self, other: "Outage") -> bool:
        """Is there an instant of both, of one cluster?"""
        begins_in_time = other.until is None or self.since <= other.until
        return self.cluster == other.cluster and begins_in_time and (self.until is None or other.since <= self.until)


@dataclass
class Tally:
    """Counts over runs that are shown to it in their order."""

    outages: list[Outage] = field(default_factory=list)
    moves: int = 0
    held: int = 0
    _open: dict[ObjectId, datetime] = field(default_factory=dict)
    _holding: Collection[tuple[ObjectId, str]] | None = None

    def see(self, now: datetime, settled: Settled) -> None:
        """Count what a run changed, and the effects that it begins to hold: all others were held before the first."""
        for change in settled.changes:
            self._see_change(now, change)
        holding = {(held.object, held.effect) for held in settled.last.fleet.held}
        if self._holding is None:
            begun = {(change.object, change.fact.name) for change in settled.changes if change.fact.sort == "held"}
            self._holding = holding - begun
        self.held += len(holding - set(self._holding))
        self._holding = holding

    def _see_change(self, now: datetime, change: Transition) -> None:
        id_, fact = change.object, change.fact
        if PLACEMENT.has(id_) and fact.sort == "cluster":
            self.moves += 1
        elif is_cluster(id_) and (fact.sort, fact.name) == ("condition", kind_of(id_).headline):
            was_true = change.was is not None and change.was.text == _TRUE
            if was_true and change.now is not None and change.now.text != _TRUE:
                self._open[id_] = now
            elif change.now is not None and change.now.text == _TRUE and id_ in self._open:
                self.outages.append(Outage(id_, self._open.pop(id_), now))

    def counts(self, alarm: timedelta) -> "Counts":
        """What was counted. `alarm`: outages that ended within this time were false alarms."""
        unended = (Outage(id_, since) for id_, since in self._open.items())
        outages = sorted((*self.outages, *unended), key=lambda outage: (outage.since, outage.cluster))
        short = sum(1 for outage in outages if outage.until is not None and outage.until - outage.since <= alarm)
        return Counts(tuple(outages), short, self.moves, self.held)


@dataclass(frozen=True, slots=True)
class Counts:
    """The outages in their order, and how many of them were false alarms; how often a cluster joined or left a
    Placement; how often an effect began to be held."""

    outages: Sequence[Outage]
    false_alarms: int
    moves: int
    held: int

    def earlier(self, other: "Counts") -> list[timedelta]:
        """By how much each outage was found earlier than the first one of others that it overlaps; negative: later."""
        theirs: dict[ObjectId, list[Outage]] = {}
        for outage in other.outages:
            theirs.setdefault(outage.cluster, []).append(outage)
        return list(_leads(self.outages, theirs))


def _leads(outages: Iterable[Outage], theirs: Mapping[ObjectId, Sequence[Outage]]) -> Iterable[timedelta]:
    for outage in outages:
        match = next((other for other in theirs.get(outage.cluster, ()) if outage.overlaps(other)), None)
        if match is not None:
            yield match.since - outage.since


def middle(spans: Collection[timedelta]) -> timedelta | None:
    """The median: of an even number, the lower of the two in the middle; None for nothing."""
    return median_low(spans) if spans else None
