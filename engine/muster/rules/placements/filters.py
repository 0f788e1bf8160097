"""The clusters that a Placement may choose: by set, by predicate, by taint, in the order of upstream's scheduler.

Sets and predicates do not depend on time; taints do, so `tolerated` is evaluated for each instant of interest.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import filterfalse

from muster import cel
from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING, of_kinds
from muster.data.tree import dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.clusters import BUILT_IN
from muster.fleet.objects import Object
from muster.fleet.unread import ANY_NAME
from muster.fleet.view import View
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.policy import Predicate
from muster.rules.placements.spec import NO_SELECT_IF_NEW, PREFER_NO_SELECT, Taint, TolerationLimits
from muster.rules.policies.lazy import cost_share

_NO_CLUSTERS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Eligible:
    """The clusters that pass sets and predicates.

    `bound`: is the namespace bound to an existing set? `sets`: those that the Placement uses; `available`: their
    members; `matching`: those that a predicate matches; `names`: the same in order.
    """

    bound: bool
    sets: tuple[str, ...]
    available: frozenset[str]
    matching: frozenset[str]
    names: tuple[str, ...]


def read_dependencies(view: View, placement: Object) -> None:
    """Raise UnreadError if a binding or a set that decides a Placement's choice has an error."""
    wanted, namespace = placement.spec.get("clusterSets"), placement.id.namespace
    for binding in view.lookup_all(MANAGED_CLUSTER_SET_BINDING, namespace):
        name = binding.spec.get("clusterSet")
        if isinstance(name, str) and name not in BUILT_IN and (not wanted or name in wanted):
            view.lookup(MANAGED_CLUSTER_SET.id(name))


def clusters_of_unread_scores(view: View, placement: Object) -> frozenset[str]:
    """Return the clusters with a broken AddOnPlacementScore that the Placement reads: they stay where they are."""
    broken = of_kinds(view.broken, ADD_ON_PLACEMENT_SCORE)
    if not broken:
        return frozenset()
    spec, names = placement.spec, set[str]()
    for entry in mappings_at(spec, "prioritizerPolicy", "configurations") if "numberOfClusters" in spec else ():
        if isinstance(name := dig(entry, "scoreCoordinate", "addOn", "resourceName"), str):
            names.add(name)
    expressions = (
        str(dig(entry, "requiredClusterSelector", "celSelector")) for entry in mappings_at(spec, "predicates")
    )
    any_score = any("scores(" in text for text in expressions)

    def is_read(id_: ObjectId) -> bool:
        if id_.name != ANY_NAME:
            return any_score or id_.name in names
        return any_score or any(ADD_ON_PLACEMENT_SCORE.id(name, id_.namespace) not in view.objects for name in names)

    return frozenset(id_.namespace for id_ in broken if is_read(id_))


def eligible(
    candidates: Candidates,
    namespace: str,
    cluster_sets: tuple[str, ...],
    predicates: Iterable[Predicate],
) -> Eligible:
    """Apply sets and predicates. Without `cluster_sets`, every bound set counts."""
    bindings = candidates.bindings.get(namespace, ())
    sets = tuple(name for name in bindings if not cluster_sets or name in cluster_sets)
    available = _NO_CLUSTERS.union(*(candidates.members(name) for name in sets))
    selected = matching(candidates, available, predicates)
    return Eligible(bool(bindings), sets, available, selected, tuple(filter(selected.__contains__, candidates.names)))


def matching(candidates: Candidates, names: frozenset[str], predicates: Iterable[Predicate]) -> frozenset[str]:
    """The clusters among `names` that any predicate matches; all if there is none."""
    alternatives = tuple(predicates)
    if not alternatives:
        return names
    return _NO_CLUSTERS.union(*(_meeting(candidates, names, predicate) for predicate in alternatives))


def _meeting(candidates: Candidates, names: frozenset[str], predicate: Predicate) -> frozenset[str]:
    if predicate.labels.requirements:
        names = names & candidates.labels.selected(predicate.labels)
    if predicate.claims.requirements:
        names = names & candidates.claims.selected(predicate.claims)
    share = cost_share(candidates.settings.policy_cost, candidates.settings.expression_cost, len(names))
    budgets = {name: cel.CostBudget(share) for name in names} if predicate.expressions else {}
    for program in predicate.expressions:
        # A failed expression does not match: an error never counts as true.
        names = frozenset(
            name
            for name in names
            if program.run({"managedCluster": candidates.view(name)}, budget=budgets[name]).value is True
        )
    return names


@dataclass(frozen=True, slots=True)
class Tolerated:
    """The eligible clusters that taints allow at one instant.

    `refused`: the first taint that excludes a cluster. `avoided`: clusters with a PreferNoSelect taint that is not
    tolerated; they come last. `ends`: the first second at which a NoSelect taint will exclude a cluster. `turns`:
    further instants at which a cluster becomes refused or avoided, unless it is chosen before.
    """

    passing: tuple[str, ...]
    refused: Mapping[str, Taint]
    avoided: frozenset[str]
    ends: Mapping[str, datetime]
    turns: frozenset[datetime]


def tolerated(
    candidates: Candidates,
    eligible: Eligible,
    limits: TolerationLimits,
    previous: frozenset[str],
    now: datetime,
) -> Tolerated:
    """Apply the taints; `previous`: the chosen clusters, which NoSelectIfNew does not affect."""
    refused: dict[str, Taint] = {}
    avoided: set[str] = set()
    ends: dict[str, datetime] = {}
    turns: set[datetime] = set()
    for name in candidates.taints.keys() & eligible.matching:
        for taint in candidates.taints[name]:
            if taint.effect == NO_SELECT_IF_NEW and name in previous:
                continue
            until = limits.until(taint)
            if until is None:
                continue
            ended = now >= until
            if taint.effect == PREFER_NO_SELECT:
                avoided.add(name) if ended else turns.add(until)
            elif ended:
                refused.setdefault(name, taint)
            elif taint.effect == NO_SELECT_IF_NEW:
                turns.add(until)
            else:
                ends[name] = min(until, ends.get(name, until))
    passing = tuple(filterfalse(refused.__contains__, eligible.names)) if refused else eligible.names
    return Tolerated(passing, refused, frozenset(avoided), ends, frozenset(turns))
