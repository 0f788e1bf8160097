"""The next step of a rollout: a function of decision groups, of how each cluster is doing, and of an instant.

Source: `RolloutHandler.GetRolloutCluster` of sdk-go's `cluster/v1alpha1/rollout.go`. It keeps no state; the caller
passes the status of every cluster that has the present revision. Deliberate differences:

- Clusters go in the order of mandatory groups as listed, then of groups by index, then of names.
- Every failure counts before anything is cut off at `maxConcurrency`; clusters in flight are all listed.
- The mandatory step looks at the clusters of mandatory groups alone; an unknown group is an error, and holds all.
- A tolerated failure without a deadline holds no place. A group is waited for while a cluster is to apply, progressing
  or soaking, whatever has timed out.
- Clusters in flight with an earlier revision keep their places until they are done or timed out.
- A cluster that does not report what it was given has until its deadline, too.
- A silent cluster that had not soaked at its last sign of life is in flight since then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta

from muster.data.groups import grouped
from muster.data.times import earliest, later, second_at
from muster.dataclass import dataclass
from muster.rules.placements.shards import DecisionShard
from muster.rules.progress.strategy import (
    ALL,
    PROGRESSIVE_PER_GROUP,
    GroupKey,
    RolloutLimits,
    Strategy,
    StrategyError,
    size_of,
)

TO_APPLY, PROGRESSING, SUCCEEDED = "ToApply", "Progressing", "Succeeded"
FAILED, TIME_OUT, SKIP = "Failed", "TimeOut", "Skip"
_NO_SOAK = timedelta(0)


@dataclass(frozen=True, slots=True)
class DecisionGroup:
    """A decision group and its clusters."""

    name: str
    index: int
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """How a cluster is doing with a revision. `since` None: since now; `silent_after`: its last sign of life, if it is
    silent.

    `until`: the first instant at which time alone ends a soak or a deadline; of a cluster that has timed out, when it
    did.
    """

    cluster: str
    state: str
    since: datetime | None = None
    until: datetime | None = None
    silent_after: datetime | None = None

    @property
    def soaking(self) -> bool:
        """Has it succeeded, and not yet for long enough?"""
        return self.state == SUCCEEDED and self.until is not None


@dataclass(frozen=True, slots=True)
class Step:
    """What is being rolled out now.

    `rolling`: those to apply the revision to, and those in flight, failed before their deadline, or soaking; `removed`:
    those that no group has; `pending`: those that wait for their turn; `failures`: the clusters that count as failed;
    `breach`: too many failed, so nothing starts; `next`: the first instant at which time alone changes this.
    """

    rolling: tuple[ClusterStatus, ...]
    timed_out: tuple[ClusterStatus, ...]
    removed: tuple[ClusterStatus, ...]
    pending: tuple[str, ...]
    failures: tuple[str, ...]
    breach: bool
    next: datetime | None

    @property
    def to_apply(self) -> frozenset[str]:
        """The clusters that may have the revision now, and are not yet known to have it."""
        return frozenset(status.cluster for status in self.rolling if status.state == TO_APPLY)

    @property
    def finished(self) -> bool:
        """Has every cluster succeeded and soaked, or failed within what is tolerated?"""
        return not self.pending and not self.breach and not any(map(_waited_for, self.rolling))


def groups_of(shards: Iterable[DecisionShard]) -> tuple[DecisionGroup, ...]:
    """The decision groups of some PlacementDecisions, by index; those of one name and index are one group."""
    by_key = grouped(((shard.index, shard.group), shard.clusters) for shard in shards)
    return tuple(
        DecisionGroup(name, index, tuple(sorted({cluster for part in parts for cluster in part})))
        for (index, name), parts in sorted(by_key.items())
    )


def split(
    groups: Sequence[DecisionGroup], keys: Iterable[GroupKey]
) -> tuple[tuple[DecisionGroup, ...], tuple[DecisionGroup, ...], tuple[GroupKey, ...]]:
    """The groups that keys name, in the order of the keys; the rest; and the keys that name no group."""
    named: dict[tuple[int, str], DecisionGroup] = {}
    unknown = []
    for key in keys:
        matching = [group for group in groups if (group.name == key.name if key.name else group.index == key.index)]
        named |= {(group.index, group.name): group for group in matching}
        if not matching:
            unknown.append(key)
    rest = tuple(group for group in groups if (group.index, group.name) not in named)
    return tuple(named.values()), rest, tuple(unknown)


def next_step(
    strategy: Strategy,
    groups: Sequence[DecisionGroup],
    existing: Iterable[ClusterStatus],
    now: datetime,
    *,
    stale: Iterable[ClusterStatus] = (),
    group_length: int | None = None,
) -> Step:
    """Decide the next step.

    `existing`: the clusters that have the present revision; `stale`: those in flight with an earlier one;
    `group_length`: the Placement's `clustersPerDecisionGroup`, the default of `maxConcurrency`. Raises StrategyError
    if a mandatory group does not exist.
    """
    return _Stepping(strategy, groups, existing, stale, now).step(group_length)


def next_instant(statuses: Iterable[ClusterStatus], now: datetime) -> datetime | None:
    """The first instant after `now` at which time alone ends a soak or a deadline."""
    return earliest(*(status.until for status in statuses if status.until is not None and status.until > now))


def judged(status: ClusterStatus, strategy: Strategy, now: datetime) -> ClusterStatus:
    """The status with `until`, and with the state TimeOut from its deadline on. Unknown states are Progressing."""
    limits, since = strategy.limits, status.since or now
    if status.state == SUCCEEDED:
        soaked = second_at(later(since, limits.min_success)) if limits.min_success > _NO_SOAK else since
        if not _interrupted(status, limits, soaked):
            return replace(status, until=soaked if soaked is None or now < soaked else None)
        since = max(since, status.silent_after or since)
        status = replace(status, state=PROGRESSING, since=since)
    unreported = status.state == TO_APPLY and status.since is None
    if unreported or status.state in (TIME_OUT, SKIP) or limits.deadline is None:
        return replace(status, until=None)
    until = second_at(later(since, limits.deadline))
    if until is None or now < until:
        return replace(status, until=until)
    return replace(status, state=TIME_OUT, until=until)


def _interrupted(status: ClusterStatus, limits: RolloutLimits, soaked: datetime | None) -> bool:
    """Did the cluster fall silent before it had soaked?"""
    if status.silent_after is None or limits.min_success <= _NO_SOAK:
        return False
    return soaked is None or status.silent_after < soaked


def _waited_for(status: ClusterStatus) -> bool:
    """Is it to apply, progressing or soaking? A failure is not waited for."""
    return status.state not in (FAILED, TIME_OUT, SKIP)


@dataclass(slots=True)
class _PartialStep:
    """What a part of the step gives."""

    rolling: list[ClusterStatus] = field(default_factory=list)
    breach: bool = False


class _Stepping:
    """One evaluation."""

    def __init__(
        self,
        strategy: Strategy,
        groups: Sequence[DecisionGroup],
        existing: Iterable[ClusterStatus],
        stale: Iterable[ClusterStatus],
        now: datetime,
    ) -> None:
        self._strategy, self._now = strategy, now
        self._mandatory, self._rest, unknown = split(groups, strategy.mandatory)
        for position, key in enumerate(strategy.mandatory):
            if key in unknown:
                name = f"named {key.name!r}" if key.name else f"with the index {key.index}"
                raise StrategyError(f"there is no decision group {name}", "mandatoryDecisionGroups", position)
        order = [name for group in (*self._mandatory, *self._rest) for name in group.clusters]
        by_cluster = {status.cluster: status for status in existing}
        placed = set(order)
        self._position = {name: position for position, name in enumerate(order)}
        self._judged = {name: judged(by_cluster[name], strategy, now) for name in order if name in by_cluster}
        self._removed = tuple(by_cluster[name] for name in sorted(by_cluster.keys() - placed))
        self._order = order
        # What an earlier revision was written to, and has not answered, is in flight.
        sent = (replace(s, state=PROGRESSING) if s.state == TO_APPLY else s for s in stale if s.cluster in placed)
        in_flight = (judged(status, strategy, now) for status in sent)
        self._stale = {s.cluster: s for s in in_flight if s.state == PROGRESSING or _fails_later(s)}

    def step(self, group_length: int | None) -> Step:
        """Return the step."""
        partial = self._partial(group_length)
        started = self._judged.keys() | {status.cluster for status in partial.rolling}
        timed = [*self._judged.values(), *self._stale.values()]
        return Step(
            rolling=tuple(sorted(partial.rolling, key=self._listed)),
            timed_out=tuple(s for name, s in self._judged.items() if s.state == TIME_OUT and s.until is not None),
            removed=self._removed,
            pending=tuple(name for name in self._order if name not in started),
            failures=tuple(name for name, s in self._judged.items() if s.state in (FAILED, TIME_OUT)),
            breach=partial.breach,
            next=next_instant(timed, self._now),
        )

    def _listed(self, status: ClusterStatus) -> tuple[bool, int]:
        """Those that have the revision first."""
        return status.cluster not in self._judged, self._position[status.cluster]

    def _partial(self, group_length: int | None) -> _PartialStep:
        if self._strategy.type == ALL:
            names = self._order
            return _PartialStep([*self._in_flight(names), *self._to_apply(names), *self._missing(names)])
        if self._mandatory:
            partial = self._by_group(self._mandatory, mandatory=True)
            names = [name for group in self._mandatory for name in group.clusters]
            failed = any(self._judged[name].state == TIME_OUT for name in names if name in self._judged)
            if partial.rolling or partial.breach or failed:
                partial.rolling += self._in_flight([name for group in self._rest for name in group.clusters])
                return partial
        if self._strategy.type == PROGRESSIVE_PER_GROUP:
            return self._by_group(self._rest, mandatory=False)
        return self._sliding(group_length)

    def _by_group(self, groups: Sequence[DecisionGroup], *, mandatory: bool) -> _PartialStep:
        """Group by group, each as a whole. Whatever is in flight in a later group holds those between, too."""
        names = [name for group in groups for name in group.clusters]
        partial = _PartialStep([*self._in_flight(names), *self._to_apply(names)])
        for group in groups:
            partial.rolling += self._missing(group.clusters)
            tolerated = 0 if mandatory else self._tolerated(len(group.clusters))
            partial.breach = self._failures(group.clusters) > tolerated
            if partial.breach or any(map(_waited_for, partial.rolling)):
                break
        return partial

    def _sliding(self, group_length: int | None) -> _PartialStep:
        """As many at a time as `maxConcurrency` says, over all groups that are not mandatory."""
        names = [name for group in self._rest for name in group.clusters]
        in_flight = self._in_flight(names)
        partial = _PartialStep(in_flight, self._failures(names) > self._tolerated(len(self._order)))
        if partial.breach:
            return partial
        limits = self._strategy.limits
        places = size_of(limits.max_concurrency, len(names), min(group_length or len(names), len(names)))
        places -= sum(_waited_for(status) or _fails_later(status) for status in in_flight)
        places -= sum(name not in self._judged for name in self._stale)
        for status in [*self._to_apply(names), *self._missing(names)]:
            stale_only = status.cluster in self._stale and status.cluster not in self._judged
            if not stale_only and places <= 0:
                break
            partial.rolling.append(status)
            places -= not stale_only
        return partial

    def _tolerated(self, total: int) -> int:
        return size_of(self._strategy.limits.max_failures, total, 0)

    def _failures(self, names: Iterable[str]) -> int:
        return sum(self._judged[name].state in (FAILED, TIME_OUT) for name in names if name in self._judged)

    def _in_flight(self, names: Iterable[str]) -> list[ClusterStatus]:
        """Those that have the revision: progressing, failed before a deadline, or soaking."""
        statuses = (self._judged[name] for name in names if name in self._judged)
        return [
            s for s in statuses if s.state not in (TO_APPLY, TIME_OUT, SKIP) and (s.state != SUCCEEDED or s.soaking)
        ]

    def _to_apply(self, names: Iterable[str]) -> Iterator[ClusterStatus]:
        return (s for n in names if (s := self._judged.get(n)) is not None and s.state == TO_APPLY)

    def _missing(self, names: Iterable[str]) -> Iterator[ClusterStatus]:
        return (ClusterStatus(name, TO_APPLY) for name in names if name not in self._judged)


def _fails_later(status: ClusterStatus) -> bool:
    """Has it failed, and keeps its place until its deadline?"""
    return status.state == FAILED and status.until is not None
