"""Removals: clusters whose files are gone, and whether so many may be removed at once.

One cluster that is no longer declared is removed. Many at once are probably a bad merge or a lost folder: while more
are gone than a budget's `maxRemoved` allows, none is removed. They keep their derived state, stay chosen by placements,
count in every budget, and the Fleet lists them.

They are released by: fewer removals; the annotation `muster.dev/allow-disruption` on the Fleet or the budget; the
trailer `Muster-Allow-Removal: <names>` of the very commit that removes them (`muster.fleet.vanished.find`); or an
Approval, if `Fleet.spec.approval` has a topic for removals. A freeze that holds deletions holds every removal, and only
an Approval under its topic releases one. Decided before all else, because held clusters are in the fleet for every
stage.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Final

from muster.data.codes import Code
from muster.data.decision import ApprovalWait, Because, Held, Input
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.names import few
from muster.dataclass import dataclass
from muster.fleet.acceptance import is_declared
from muster.fleet.agent_refs import accepted_by_ref
from muster.fleet.fleet import AnyFleet, Fleet
from muster.fleet.view import View
from muster.rules.effects.approval import REMOVAL, Approvals, awaits
from muster.rules.effects.budget import (
    Budget,
    budgets_of,
    counted_broken_clusters,
    fleet_id,
    in_service,
    override_of,
    was_in_service,
)

TRAILER: Final = "Muster-Allow-Removal"

_MOST_HINTED = 50


@dataclass(frozen=True, slots=True)
class Removals:
    """The clusters to be removed and the population, without those that a commit or an Approval allows.

    `budget`: the one that holds all of them; None: they are removed. `waits`: since when each proposed one waits.
    `frozen`: those that a freeze holds, which are not among the `gone`.
    """

    gone: tuple[ObjectId, ...]
    population: int
    budget: Budget | None
    allowed: int
    waits: Mapping[ObjectId, ApprovalWait] = field(default_factory=dict)
    frozen: tuple[Held, ...] = ()

    @property
    def topic(self) -> str:
        """The topic of their proposal; empty if none."""
        return next((wait.topic for wait in self.waits.values()), "")

    @property
    def text(self) -> str:
        """What is held and why, as one sentence without a full stop."""
        name = self.budget.id.name if self.budget else ""
        count = f"{len(self.gone)} of {self.population} clusters are no longer declared"
        proposal = f": {awaits(self.topic)}" if self.topic else ""
        return f"{count}, budget {name!r} lets {self.allowed} be removed at once{proposal}"


def removals(fleet: Fleet, now: datetime) -> Removals:
    """Return the clusters that are no longer declared, and whether a budget holds their removal."""
    served = (id_ for id_ in fleet.previous if is_cluster(id_) and was_in_service(fleet, id_))
    gone = tuple(sorted(id_ for id_ in served if not _stays(fleet, id_)))
    approvals = Approvals.of(fleet, now)
    waits = {id_: wait for id_ in gone if (wait := approvals.wait(fleet, id_, REMOVAL))}
    frozen = tuple(
        approvals.held(id_, REMOVAL, wait)
        for id_, wait in waits.items()
        if not wait.approved and approvals.freeze_of(wait) is not None
    )
    approved = (id_ for id_, wait in waits.items() if wait.approved)
    released = {held.object for held in frozen}.union(fleet.read.allowed, approved)
    gone = tuple(id_ for id_ in gone if id_ not in released)
    # New clusters count, so that the next run decides the same.
    total = len(gone) + len(frozen) + len(list(counted_broken_clusters(fleet))) + sum(map(in_service, fleet.clusters()))
    none = Removals(gone, total, None, 0, frozen=frozen)
    if not gone:
        return none
    whole = fleet.objects.get(fleet_id(fleet))
    override = override_of(whole) if whole else None
    if override is not None and override.covers(now):
        return none
    limits = sorted(
        ((budget.removable(total), budget) for budget in _applicable_budgets(fleet, now)), key=lambda limit: limit[0]
    )
    if not limits or len(gone) <= limits[0][0]:
        return none
    return Removals(gone, total, limits[0][1], limits[0][0], waits, frozen)


def _stays(fleet: Fleet, id_: ObjectId) -> bool:
    """Is a cluster of the last run declared, or kept because of a damaged file?"""
    declared = is_declared(id_, fleet.objects.get(id_), fleet.previous.get(id_))
    return declared or id_ in fleet.broken or fleet.unidentified  # reports alone declare nothing


def _applicable_budgets(fleet: Fleet, now: datetime) -> Iterator[Budget]:
    """The budgets that apply: those with a selector only if there are no others, because a missing cluster's labels are
    unknown."""
    budgets = budgets_of(fleet)
    for budget in [budget for budget in budgets if not budget.selector.requirements] or budgets:
        if budget.override is None or not budget.override.covers(now):
            yield budget


def withheld(fleet: AnyFleet, now: datetime) -> AnyFleet:
    """Return the fleet with held clusters counted as broken, so they keep their state."""
    cluster_removals = removals(fleet, now)
    fleet = replace(fleet, findings=(*fleet.findings, *_findings(fleet, cluster_removals)))
    held = cluster_removals.frozen
    if cluster_removals.budget is not None:
        because = Because(
            str(cluster_removals.budget.id),
            (Input(("spec", "maxRemoved"), cluster_removals.budget.id),),
            cluster_removals.text,
        )
        held += tuple(
            Held(id_, REMOVAL, cluster_removals.text, because, wait=cluster_removals.waits.get(id_))
            for id_ in cluster_removals.gone
        )
    held_ids = (removal.object for removal in held)
    return replace(fleet, broken=fleet.broken.union(held_ids), held=(*fleet.held, *held))


def removal_findings(fleet: Fleet, now: datetime) -> list[Finding]:
    """Return a run's findings about removals, for checks that may not see agents' refs.

    Clusters that only their agents declare may be visible to agents' refs alone.
    """
    fleet = replace(fleet, broken=fleet.broken.union(accepted_by_ref(fleet)))
    return list(_findings(fleet, removals(fleet, now)))


def _findings(fleet: Fleet, cluster_removals: Removals) -> Iterator[Finding]:
    if cluster_removals.budget is not None:
        yield finding(
            Code.REMOVALS_HELD,
            f"{few([id_.name for id_ in cluster_removals.gone], 10)} stay: {cluster_removals.text}",
            hint="restore their files; to remove them, name them in the last paragraph of the commit that does it: "
            f"`{TRAILER}: {_names(cluster_removals.gone)}`; or annotate the Fleet with muster.dev/allow-disruption",
        )
    for text in fleet.read.idle_allowances if cluster_removals.budget is not None else ():
        yield finding(
            Code.TRAILER_ALLOWS_NOTHING,
            f"{TRAILER}: {text!r} names no cluster that its commit removes, and allows nothing",
            hint="name the clusters, separated by commas, in the commit that removes them",
        )


def _names(gone: Sequence[ObjectId]) -> str:
    """The names for a commit trailer; not listed if too many to type."""
    return ", ".join(id_.name for id_ in gone) if len(gone) <= _MOST_HINTED else "<the names, separated by commas>"


def held_removals(view: View) -> list[Held]:
    """The removals held in this run."""
    return [held for held in view.held if held.effect == REMOVAL]
