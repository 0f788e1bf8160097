"""What became of an object over time: its transitions, and how long it was in each state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from muster.data.ids import ObjectId
from muster.fleet.state import DENIED, NOT_JOINED
from muster.run.change import Change


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
    before that instant; None where it has all. `known`: whether anything was derived of it until then."""

    object: ObjectId
    since: datetime
    until: datetime
    transitions: tuple[Transition, ...]
    condition: str
    stays: tuple[Stay, ...]
    begins: datetime | None = None
    known: bool = True

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
        """The share of the time in which the condition was True. Times in which a cluster was denied, or had not joined
        yet, do not count."""
        spans = {state: span for state, span in self.spans.items() if state not in (DENIED, NOT_JOINED)}
        total = sum(spans.values(), timedelta(0))
        return spans.get("True", timedelta(0)) / total if total else None


class Told(NamedTuple):
    """A commit in which something became of an object, as of when."""

    commit: str
    at: datetime
    subject: str


class StatusChange(NamedTuple):
    """A cluster whose state a commit changed: `<plural>/<file>` of its derived part, and the state before and after;
    empty for none."""

    cluster: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class StatusStep:
    """A commit in which the headline condition of any cluster became another one."""

    told: Told
    changes: tuple[StatusChange, ...]


class Begins(Enum):
    """Why nothing is known from before an instant."""

    NONE = "none"  # there are no commits
    CLONE = "clone"  # it is shallow
    FIRST = "first"  # the first commit there is
    LENGTH = "length"  # so many commits are looked at, and no more


@dataclass(frozen=True, slots=True)
class FleetHistory:
    """What history says of the clusters of a fleet: the steps of a window of time, the oldest first; since when that is
    all, where it is less than the window, and why; and the latest commits that changed what is derived of each cluster
    (`<plural>/<file>`), the newest first, looked for further back."""

    steps: tuple[StatusStep, ...] = ()
    begins: datetime | None = None
    reason: Begins | None = None
    latest: Mapping[str, Sequence[Told]] = field(default_factory=dict)
