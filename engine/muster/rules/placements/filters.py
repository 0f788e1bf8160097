"""The clusters that a Placement may choose: by set, by predicate, by taint, in the order of upstream's scheduler.

Sets and predicates do not depend on time; taints do, so `tolerated` is evaluated for each instant of interest.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import filterfalse

from muster import cel
from muster.dataclass import dataclass
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.policy import Predicate
from muster.rules.placements.spec import NO_SELECT_IF_NEW, PREFER_NO_SELECT, Taint, TolerationLimits
from muster.rules.policies.lazy import cost_share

_NONE: frozenset[str] = frozenset()


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


def eligible(
    candidates: Candidates,
    namespace: str,
    cluster_sets: tuple[str, ...],
    predicates: Iterable[Predicate],
    previous: frozenset[str],
) -> Eligible:
    """Apply sets and predicates. Without `cluster_sets`, every bound set counts.

    While a set or binding is broken, the chosen clusters count as available, because it is unknown whether they left
    the set.
    """
    bindings = candidates.bindings.get(namespace, ())
    sets = tuple(name for name in bindings if not cluster_sets or name in cluster_sets)
    available = _NONE.union(*(candidates.members(name) for name in sets))
    if _is_uncertain(candidates, namespace, sets):
        available |= previous & candidates.objects.keys()
    found = matching(candidates, available, predicates)
    return Eligible(bool(bindings), sets, available, found, tuple(filter(found.__contains__, candidates.names)))


def _is_uncertain(candidates: Candidates, namespace: str, sets: Iterable[str]) -> bool:
    fleet_unclear = candidates.fleet.unidentified or namespace in candidates.uncertain_namespaces
    return fleet_unclear or not candidates.sets.doubtful.isdisjoint(sets)


def matching(candidates: Candidates, names: frozenset[str], predicates: Iterable[Predicate]) -> frozenset[str]:
    """The clusters among `names` that any predicate matches; all if there is none."""
    alternatives = tuple(predicates)
    if not alternatives:
        return names
    return _NONE.union(*(_one(candidates, names, predicate) for predicate in alternatives))


def _one(candidates: Candidates, names: frozenset[str], predicate: Predicate) -> frozenset[str]:
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
