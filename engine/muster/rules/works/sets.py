"""One ManifestWorkReplicaSet: who gets its template now, and what its status says.

Source: ocm `manifestworkreplicaset_deploy_reconcile.go` and `_status_reconcile.go`. Deliberate differences: a cluster
has one work of a set, whichever of its placements choose it; a work goes when no placement chooses its cluster,
whatever template it has, but not while its rollout waits for it (`muster.rules.progress.absent`); a strategy that
cannot be followed holds the works as they are; a rollout that is not complete says whether it is stopped, soaking or
waiting.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from muster.data.decision import Held
from muster.data.ids import ObjectId
from muster.data.kinds import MANIFEST_WORK, PLACEMENT
from muster.data.printable import counted
from muster.data.times import earliest, format_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.effects.approval import ROLLOUT_EFFECT
from muster.rules.generations import spec_digest
from muster.rules.placements.shards import DecisionShard
from muster.rules.progress.absent import with_absent
from muster.rules.progress.step import (
    SUCCEEDED,
    ClusterStatus,
    DecisionGroup,
    Step,
    groups_of,
    judged,
    next_step,
)
from muster.rules.progress.strategy import Strategy, StrategyError, read_strategy
from muster.rules.works.work import COUNTED, OWNER, PLACEMENT_NAME, Work, owner_label, work_name

VERIFIED, ROLLED_OUT, APPLIED = "PlacementVerified", "PlacementRolledOut", "ManifestworkApplied"
#: The annotation that pauses a set's rollout.
PAUSED: Final = "muster.dev/paused"
_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """What is to become of a work: `labels` None: it goes; `spec` None: only its labels change."""

    id: ObjectId
    labels: Mapping[str, str] | None
    spec: Tree = None


@dataclass(frozen=True, slots=True)
class DecidedPlacement:
    """A Placement as a set reads it: its decisions, and the length of its decision groups (None: not said)."""

    shards: Sequence[DecisionShard]
    group_length: int | None = None


class StatedCondition(NamedTuple):
    """The content of a condition."""

    status: str
    reason: str
    message: str = ""


@dataclass(slots=True)
class SetResult:
    """What follows for a set. `placed` False: a placement is missing, so the rest of its status stays as it was.

    `repeated`: clusters that several placements choose, with the one that counts; `errors`: strategies that cannot be
    followed, by the number of their placement.
    """

    orders: list[WorkOrder] = field(default_factory=list)
    conditions: dict[str, StatedCondition] = field(default_factory=dict)
    status: dict[str, Tree] = field(default_factory=dict)
    rollout: Tree = None
    placed: bool = True
    horizon: datetime | None = None
    repeated: dict[str, str] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    errors: dict[int, StrategyError] = field(default_factory=dict)


@dataclass(slots=True)
class _SetProgress:
    """How far the rollout is, over all placements."""

    selected: int = 0
    done: int = 0
    soaking: list[ClusterStatus] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("total", *map(_counted, COUNTED)), 0))
    summaries: list[Tree] = field(default_factory=list)


#: How a cluster is doing that gets the template now.
StatusOfNew = Callable[[str], ClusterStatus]
#: Given an effect, clusters and topics of broken freezes: the clusters that a freeze keeps from starting, as
#: `Approvals.frozen_starts`.
Freezing: TypeAlias = Callable[[str, Collection[str], set[str]], Mapping[str, Held]]


def decide_set(
    obj: Object,
    works: Mapping[str, list[Work]],
    placements: Mapping[ObjectId, DecidedPlacement],
    status_of_new: StatusOfNew,
    now: datetime,
    freezing: Freezing = lambda *_: {},
    before: Tree = None,
    absent: AbstractSet[str] = frozenset(),
) -> SetResult:
    """Decide one pass over a set that is not being deleted. `works`: its derived works by cluster; `before`: what the
    last run noted of its rollout; `absent`: the clusters that placements dropped because they are not available."""
    return _Pass(obj, works, status_of_new, now, freezing, before, absent).result(placements)


class _Pass:
    """One pass over a set."""

    def __init__(
        self,
        obj: Object,
        works: Mapping[str, list[Work]],
        status_of_new: StatusOfNew,
        now: datetime,
        freezing: Freezing,
        before: Tree,
        absent: AbstractSet[str],
    ) -> None:
        self.absent = absent
        self.obj, self.status_of_new, self.now, self.freezing = obj, status_of_new, now, freezing
        self.template: Tree = obj.spec["manifestWorkTemplate"]
        self.revision = spec_digest(self.template)
        same = dig(before, "revision") == self.revision
        self.broken = list(map(str, mapping_at(before).get("broken") or ())) if same else []
        self.paused = obj.annotations.get(PAUSED) == "true"
        self.works = {cluster: cluster_works[0] for cluster, cluster_works in works.items()}
        self.placed: dict[str, int] = {}
        self.outcome, self.progress = SetResult(), _SetProgress()
        for work in (work for cluster_works in works.values() for work in cluster_works[1:]):
            self.outcome.orders.append(WorkOrder(work.id, None))

    def result(self, placements: Mapping[ObjectId, DecidedPlacement]) -> SetResult:
        refs = mappings_at(self.obj.spec, "placementRefs")
        for number, ref in enumerate(refs):
            choice = placements.get(PLACEMENT.id(str(ref["name"]), self.obj.id.namespace))
            if choice is None:
                self._remove(keeping={str(keeping_ref["name"]) for keeping_ref in refs})
                self.outcome.placed = False
                self.outcome.conditions[VERIFIED] = StatedCondition("False", "PlacementDecisionNotFound")
                return self.outcome
            self._placement(number, str(ref["name"]), choice, mapping_at(ref, "rolloutStrategy"))
        self._remove()
        self._conclude()
        return self.outcome

    def _remove(self, keeping: Container[str | None] = ()) -> None:
        """Remove the works of clusters that no placement chooses, but for those `keeping` these placements' labels."""
        gone = (work for cluster, work in self.works.items() if cluster not in self.placed)
        self.outcome.orders += [
            WorkOrder(work.id, None) for work in gone if work.labels.get(PLACEMENT_NAME) not in keeping
        ]

    def _placement(self, number: int, name: str, choice: DecidedPlacement, strategy: Tree) -> None:
        groups = self._with_absent(number, name, self._own_groups(number, choice.shards), strategy)
        clusters = [cluster for group in groups for cluster in group.clusters]
        before = {cluster: self.works[cluster] for cluster in clusters if cluster in self.works}
        existing = {cluster: work for cluster, work in before.items() if work.revision == self.revision}
        applied: frozenset[str] = frozenset()
        try:
            next_of = partial(
                next_step, read_strategy(strategy), groups, now=self.now, group_length=choice.group_length
            )
            statuses = [work.status for work in existing.values()]
            stale = {cluster: work.status for cluster, work in before.items() if cluster not in existing}
            step = next_of(statuses, stale=stale.values())
            turn = frozenset() if self.paused else step.to_apply
            if step.breach:  # nothing starts, though upstream completes the group
                turn &= existing.keys()
            turn -= self._frozen(name, turn - existing.keys())
            applied = turn - existing.keys()
            if applied:  # as the next pass will see it: the instant at which time changes it depends on that
                statuses += map(self.status_of_new, sorted(applied))
                step = next_of(statuses, stale=(status for cluster, status in stale.items() if cluster not in applied))
            self._apply(name, before, existing, turn)
            self._progressed(step, existing)
        except StrategyError as error:
            self._apply(name, before, existing, applied)
            self.outcome.errors[number] = error
            self.progress.stopped.append(f"the strategy of placement {name} cannot be followed: {error.message}")
        self._count(name, choice, clusters, existing, applied)

    def _frozen(self, name: str, starting: Collection[str]) -> AbstractSet[str]:
        """The clusters, of those that would start, that a freeze holds."""
        broken = {entry.rpartition(" ")[2] for entry in self.broken if entry.startswith(f"{name} ")}
        frozen = self.freezing(f"{ROLLOUT_EFFECT} {name} {self.revision}", sorted(starting), broken)
        self.progress.broken += [f"{name} {topic}" for topic in sorted(broken)]
        for held in frozen.values():
            if held not in self.outcome.held:
                self.outcome.held.append(held)
                self.progress.frozen.append(held.reason)
                self.outcome.horizon = earliest(self.outcome.horizon, held.horizon)
        return frozen.keys()

    def _own_groups(self, number: int, shards: Sequence[DecisionShard]) -> list[DecisionGroup]:
        """The decision groups without clusters that an earlier placement has, also if it is the same one again."""
        refs = mappings_at(self.obj.spec, "placementRefs")
        groups = []
        for group in groups_of(shards):
            for cluster in group.clusters:
                if (first := self.placed.setdefault(cluster, number)) != number:
                    self.outcome.repeated[cluster] = str(refs[first]["name"])
            clusters = tuple(cluster for cluster in group.clusters if self.placed[cluster] == number)
            groups.append(DecisionGroup(group.name, group.index, clusters))
        return groups

    def _with_absent(
        self, number: int, name: str, groups: Sequence[DecisionGroup], strategy: Tree
    ) -> tuple[DecisionGroup, ...]:
        """The decision groups with the clusters that keep their places: in flight, soaking or failed with the present
        template. While the strategy cannot be followed, all stay."""
        try:
            followed: Strategy | None = read_strategy(strategy)
        except StrategyError:
            followed = None
        works = {cluster: self.works[cluster] for cluster in self.absent - self.placed.keys()}
        staying = [
            cluster
            for cluster, work in works.items()
            if work.labels.get(PLACEMENT_NAME) == name and (followed is None or self._in_flight(work, followed))
        ]
        self.placed |= dict.fromkeys(staying, number)
        begun = {cluster for cluster, work in self.works.items() if work.revision == self.revision}
        return with_absent(followed or Strategy(), groups, staying, begun)

    def _in_flight(self, work: Work, strategy: Strategy) -> bool:
        status = judged(work.status, strategy, self.now)
        return work.revision == self.revision and (status.state != SUCCEEDED or status.soaking)

    def _apply(self, name: str, before: Mapping[str, Work], existing: Mapping[str, Work], turn: frozenset[str]) -> None:
        """Order works for the clusters whose turn it is."""
        labels = {**self.obj.labels, OWNER: owner_label(self.obj.id), PLACEMENT_NAME: name}
        for cluster, work in before.items():
            if cluster not in turn and work.labels.get(PLACEMENT_NAME) != name:
                self._order(work.id, {**work.labels, PLACEMENT_NAME: name})
            elif cluster in turn and (cluster not in existing or work.labels != labels):
                self._order(work.id, labels, None if cluster in existing else self.template)
        for cluster in sorted(turn - before.keys()):
            self._order(MANIFEST_WORK.id(work_name(self.obj.id), cluster), labels, self.template)

    def _order(self, id_: ObjectId, labels: Mapping[str, str], spec: Tree = None) -> None:
        self.outcome.orders.append(WorkOrder(id_, dict(sorted(labels.items())), spec))

    def _count(
        self,
        name: str,
        choice: DecidedPlacement,
        clusters: Sequence[str],
        existing: Mapping[str, Work],
        applied: frozenset[str],
    ) -> None:
        total = len(existing) + len(applied)
        counts = {"total": total} | {
            _counted(type_): sum(type_ in work.true for work in existing.values()) for type_ in COUNTED
        }
        groups, selected = len({shard.index for shard in choice.shards}), len(clusters)
        text = f"{groups} ({total} / {selected} clusters applied)"
        self.progress.summaries.append({"name": name, "availableDecisionGroups": text, "summary": counts})
        self.progress.selected += selected
        for key, number in counts.items():
            self.progress.counts[key] += number

    def _progressed(self, step: Step, existing: Mapping[str, Work]) -> None:
        progress = self.progress
        soaking = [status for status in step.rolling if status.soaking]
        succeeded = sum(work.status.state == SUCCEEDED for work in existing.values())
        progress.soaking += soaking
        progress.done += succeeded - len(soaking)
        progress.failed += step.failures
        progress.silent += [status.cluster for status in step.rolling if status.silent_after is not None]
        if step.breach:
            silent = {cluster for cluster, work in existing.items() if work.status.silent_after is not None}
            failed = [f"{name} (silent)" if name in silent else name for name in step.failures]
            progress.stopped.append(f"{counted(len(failed), 'cluster')} failed: {_names(failed)}")
        self.outcome.horizon = earliest(self.outcome.horizon, step.next)

    def _conclude(self) -> None:
        result, progress = self.outcome, self.progress
        total = progress.counts["total"]
        result.status = {"summary": progress.counts, "placementSummary": progress.summaries}
        result.conditions[VERIFIED] = (
            StatedCondition("True", "AsExpected") if total else StatedCondition("False", "PlacementDecisionEmpty")
        )
        result.conditions[ROLLED_OUT] = self._rolled_out()
        result.conditions[APPLIED] = _applied(progress.counts)
        fields = {
            "revision": self.revision,
            "selected": progress.selected,
            "done": progress.done,
            "soaking": len(progress.soaking),
            "until": _soaked(progress.soaking),
            "failed": sorted(progress.failed)[:_MOST_NAMED],
            "stopped": bool(progress.stopped) or None,
            "broken": progress.broken,
        }
        result.rollout = {name: value for name, value in fields.items() if value or name in ("selected", "done")}

    def _rolled_out(self) -> StatedCondition:
        progress = self.progress
        if progress.stopped:
            return StatedCondition("False", "Stopped", "; ".join(progress.stopped))
        if progress.selected and progress.done == progress.selected:
            return StatedCondition("True", "Complete")
        if not progress.selected:
            return StatedCondition("False", "Progressing", "no placement chooses a cluster")
        if self.paused:
            return StatedCondition("False", "Waiting", f"the annotation {PAUSED} is set")
        if progress.frozen:
            return StatedCondition("False", "Waiting", "; ".join(progress.frozen))
        if progress.soaking and progress.done + len(progress.soaking) == progress.selected:
            return StatedCondition(
                "False", "Soaking", f"{counted(len(progress.soaking), 'cluster')} until {_soaked(progress.soaking)}"
            )
        return StatedCondition(
            "False", "Progressing", f"waits for silent {_names(progress.silent)}" if progress.silent else ""
        )


def _applied(counts: Mapping[str, int]) -> StatedCondition:
    if not counts["total"]:
        return StatedCondition("False", "PlacementDecisionEmpty")
    if counts["available"] == counts["total"] and not counts["progressing"] and not counts["degraded"]:
        return StatedCondition("True", "AsExpected")
    return StatedCondition(
        "False", "Processing" if counts["progressing"] and not counts["degraded"] else "NotAsExpected"
    )


def _soaked(statuses: Iterable[ClusterStatus]) -> str | None:
    """When the last of them has soaked."""
    instants = [status.until for status in statuses if status.until is not None]
    return format_time(max(instants)) if instants else None


def _counted(type_: str) -> str:
    """A condition's field in a summary."""
    return type_.lower()


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join((*sorted(names)[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])))
