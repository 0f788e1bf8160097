"""What became of an object over time: its transitions, and how long it was in each state."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.engine.change import Change
from muster.model.ids import ObjectId


@dataclass(frozen=True, slots=True)
class Transition:
    """A change and the commit that made it: as of when, by whom, and which commit had been decided."""

    change: Change
    at: datetime
    commit: str
    author: str
    source: str


@dataclass(frozen=True, slots=True)
class Stay:
    """A stretch of time in which the condition that a kind is judged by had one status; None: nothing was decided."""

    status: str | None
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class ObjectHistory:
    """The transitions of an object in a window of time, and its stays, both oldest first. `condition` is the type that
    the stays are of, empty for kinds that no condition judges as a whole. `begins`: this clone has no history from
    before that instant; None where it has all."""

    object: ObjectId
    since: datetime
    until: datetime
    transitions: tuple[Transition, ...]
    condition: str
    stays: tuple[Stay, ...]
    begins: datetime | None = None

    @property
    def spans(self) -> dict[str, timedelta]:
        """How long it was in each status, the longest first; what was before anything was decided is left out."""
        found: dict[str, timedelta] = {}
        for stay in self.stays:
            if stay.status is not None:
                found[stay.status] = found.get(stay.status, timedelta(0)) + (stay.until - stay.since)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @property
    def availability(self) -> float | None:
        """The part of the time, of that in which anything was decided, in which the condition was True."""
        spans = self.spans
        total = sum(spans.values(), timedelta(0))
        return spans.get("True", timedelta(0)) / total if total else None
