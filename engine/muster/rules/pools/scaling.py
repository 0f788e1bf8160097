"""How many clusters a pool creates and which it deletes in one pass, within its limits.

Source: upstream's reconcile. After clusters marked for removal, a pass does one thing only: create, or delete the
broken, or the excess, or one stale cluster. Creation has priority, so that a waiting claim is served first; the next
pass does the rest. Holds concern replacements only: a pool that shrinks deletes its broken clusters first, held or not,
and then working ones.

Deletions may need approval (`Fleet.spec.approval`). All that would be deleted sooner or later is proposed at once,
whatever `maxConcurrent`; of that, approved ones are deleted as if nothing else could. So a waiting cluster uses its own
place in the pool and no other cluster's turn.

New clusters are named by the pool and an ordinal that is never reused. A cluster's name is its namespace too, so it
must be a DNS label. If a pool's name cannot begin one, or two namespaces have a pool of that name, five hex digits of a
hash of namespace and name are added.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field, replace
from datetime import datetime
from itertools import chain

from muster.data.decision import ApprovalWait, Because, Held, Input
from muster.data.ids import ObjectId
from muster.data.names import is_label
from muster.dataclass import dataclass
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import DELETION
from muster.rules.pools.buckets import Buckets
from muster.rules.pools.model import Cluster, Pool, PoolKey
from muster.rules.pools.rules import Rules

_LONGEST_STEM = 50  # of a label's 63 characters; the rest is for the hash and the ordinal


def stem(key: PoolKey, *, unique: bool) -> str:
    """Return the start of a pool's cluster names. `unique`: no other namespace has a pool of this name."""
    if unique and len(key.name) <= _LONGEST_STEM and is_label(key.name):
        return key.name
    digest = hashlib.sha256(f"{key.namespace}/{key.name}".encode()).hexdigest()[:5]
    return f"{key.name.replace('.', '-')[:_LONGEST_STEM].rstrip('-')}-{digest}"


def ordinal_of(name: str, beginning: str) -> int:
    """Return the ordinal in a cluster's name, or 0."""
    head, _, tail = name.rpartition("-")
    return int(tail) if head == beginning and tail.isascii() and tail.isdigit() and len(tail) < 18 else 0


def free_ordinals(beginning: str, first: int, taken: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield ordinals from `first` on, with their names, without taken names."""
    ordinal = first
    while True:
        name = f"{beginning}-{ordinal}"
        if name not in taken:
            yield ordinal, name
        ordinal += 1


EFFECT = "replacement"


@dataclass(frozen=True, slots=True)
class ReplacementHold:
    """Why a replacement waits: a reason, a message, and when time alone ends the wait."""

    reason: str
    message: str
    until: datetime | None = None


def held_by_budget(view: View, allowance: Allowance, cluster: Cluster, rules: Rules) -> ReplacementHold | None:
    """Return a DisruptionBudget's hold on replacing a cluster, or None."""
    held = allowance.holds(view, cluster.id, EFFECT) if rules.asks_budgets else None
    return (
        None
        if held is None
        else ReplacementHold("DisruptionBudget", f"{held.because.rule}: {held.reason}", held.horizon)
    )


_UNLIMITED = 1 << 31


@dataclass(frozen=True, slots=True)
class Plan:
    """The actions of a pass: `create` so many clusters, and mark `delete` for deletion, in order. `replaced`: the
    broken ones among them; `held`: broken or stale clusters that are held. `blocked`: clusters should be created but a
    dependency is missing, `needed`: dependencies were checked."""

    create: int = 0
    delete: tuple[Cluster, ...] = ()
    replaced: tuple[Cluster, ...] = ()
    held: tuple[Cluster, ...] = ()
    needed: bool = False
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class PassLimits:
    """Limits of a pass: is a dependency missing, how many customizations are free (None: no inventory), which clusters
    may be replaced now, and which may be deleted at all."""

    missing: bool
    customizations: int | None
    replaceable: Callable[[Cluster], bool]
    may_go: Callable[[Cluster], bool] = lambda _: True


def capacity_of(pool: Pool, buckets: Buckets) -> int:
    """How many more clusters the pool may hold; claimed and deleting ones count."""
    return _UNLIMITED if pool.max_size is None else pool.max_size - buckets.total


def concurrency_of(pool: Pool, buckets: Buckets) -> int:
    """How many more clusters may be installed or deleted at the same time."""
    if pool.max_concurrent is None:
        return _UNLIMITED
    return max(0, pool.max_concurrent - len(buckets.installing) - len(buckets.deleting))


def plan(pool: Pool, buckets: Buckets, waiting: int, means: PassLimits, rules: Rules) -> Plan:
    """Plan a pass for a pool that is kept. `buckets`: those after assignment."""
    slots = concurrency_of(pool, buckets)
    marked = _movable(buckets.marked, means.may_go)[:slots]
    slots -= len(marked)
    drift = buckets.unclaimed - pool.size - waiting
    if slots <= 0:
        return Plan(delete=marked)
    needed = blocked = False
    capacity = capacity_of(pool, buckets)
    if drift < 0 and capacity > 0:
        needed, blocked = True, means.missing
        wanted = min(-drift, capacity, slots, _UNLIMITED if means.customizations is None else means.customizations)
        if not blocked and (wanted > 0 or rules.starved_by_dependencies):
            return Plan(create=wanted, delete=marked, needed=True)
        if rules.starved_by_dependencies:
            return Plan(delete=marked, needed=True, blocked=True)
    replaced, held = _replaced(buckets, drift, slots, means)
    if not buckets.broken:
        excess = _excess(buckets, min(drift, slots), means)
        return Plan(delete=(*marked, *replaced, *excess), held=held, needed=needed, blocked=blocked)
    shed, held = _shed(held, min(drift, slots) - len(replaced))
    excess = _excess(buckets, min(drift, slots) - len(replaced) - len(shed), means) if shed else ()
    delete = (*marked, *replaced, *shed, *excess)
    return Plan(delete=delete, replaced=replaced, held=held, needed=needed, blocked=blocked)


def _shed(held: tuple[Cluster, ...], number: int) -> tuple[tuple[Cluster, ...], tuple[Cluster, ...]]:
    """Broken clusters to delete although their replacement is held, because none is created for them; and the rest."""
    number = max(0, number)
    return held[:number], held[number:]


def _replaced(
    buckets: Buckets, drift: int, slots: int, means: PassLimits
) -> tuple[tuple[Cluster, ...], tuple[Cluster, ...]]:
    """The broken clusters, or the one stale cluster, to replace now, and those that are held."""
    candidates = _movable(buckets.broken, means.may_go)
    if not candidates and drift == 0 and not buckets.installing:
        candidates = _movable(buckets.stale, means.may_go)
        slots = 1
    go: list[Cluster] = []
    held: list[Cluster] = []
    for cluster in candidates:
        if len(go) == slots:
            break
        (go if means.replaceable(cluster) else held).append(cluster)
    return tuple(go), tuple(held)


def _excess(buckets: Buckets, number: int, means: PassLimits) -> tuple[Cluster, ...]:
    """Clusters in excess, the last to serve a claim first: installing, newest first; then standby, then assignable,
    oldest first."""
    ordered = _movable(chain(buckets.installing, buckets.standby, buckets.assignable), means.may_go)
    return ordered[: max(0, number)]


def wind_down(pool: Pool, buckets: Buckets, may_go: Callable[[Cluster], bool] = lambda _: True) -> Plan:
    """Plan a pass for a pool that is being deleted: marked clusters first, then all unclaimed."""
    unclaimed = chain(buckets.marked, buckets.installing, buckets.standby, buckets.assignable, buckets.broken)
    return Plan(delete=_movable(unclaimed, may_go)[: concurrency_of(pool, buckets)])


def _movable(clusters: Iterable[Cluster], may_go: Callable[[Cluster], bool]) -> tuple[Cluster, ...]:
    """Without clusters that are unreadable, protected or may not be deleted."""
    return tuple(cluster for cluster in clusters if cluster.deletable and may_go(cluster))


#: Plans a pool's pass, given which clusters may be deleted.
MakePlan = Callable[[Pool, Callable[[Cluster], bool]], Plan]
_WAITS_FOR_TURN = "its deletion is approved, and waits for its turn (spec.maxConcurrent of its pool)"


@dataclass(slots=True)
class DeletionApprovals:
    """The deletions of one pass that wait for approval, by cluster, without those that happen."""

    view: View
    allowance: Allowance
    waits: dict[ObjectId, ApprovalWait] = field(default_factory=dict)
    because: Because = field(default=Because("pools", (Input(("spec", "maxConcurrent")),), _WAITS_FOR_TURN))

    def within(self, pool: Pool, make: MakePlan) -> Plan:
        """Return the pool's plan with approved deletions only."""
        approvals = self.allowance.approvals
        if not (approvals.topic(DELETION) or approvals.freezes_on(DELETION)):
            return make(pool, lambda _: True)
        self.because = self.because._replace(inputs=(Input(("spec", "maxConcurrent"), pool.id),))
        wanted = make(replace(pool, max_concurrent=None), lambda _: True).delete
        approved = {cluster.id for cluster in wanted if self.approved(cluster)}
        step = make(pool, lambda cluster: cluster.id in approved)
        for cluster in step.delete:
            self.waits.pop(cluster.id, None)
        return step

    def approved(self, cluster: Cluster) -> bool:
        """May the cluster be deleted? Records since when it waits."""
        wait = self.allowance.approvals.wait(self.view, cluster.id, DELETION)
        if wait is not None:
            self.waits[cluster.id] = wait
        return wait is None or wait.approved

    def held(self) -> Iterator[Held]:
        """The deletions that wait for approval, or for their turn."""
        for id_, wait in sorted(self.waits.items()):
            if wait.approved:
                yield Held(id_, DELETION, _WAITS_FOR_TURN, self.because, wait=wait)
            else:
                yield self.allowance.approvals.held(id_, DELETION, wait)
