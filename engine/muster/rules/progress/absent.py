"""Clusters that a Placement drops while they are in flight or soaking: they keep their places.

A version that kills clusters makes them silent or unavailable; they get taints, and leave their Placement. If they left
the rollout with that, each would make room for the next one. So a cluster that is not available, and that the
Placement's sets and predicates still select, stays in the rollout until it has succeeded and soaked. People end this
sooner: they remove the cluster, change its labels, or roll out something else.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.fleet.view import View
from muster.rules.placements.selected import selected_clusters
from muster.rules.policies.in_force import InForce
from muster.rules.progress.states import is_available
from muster.rules.progress.step import DecisionGroup, split
from muster.rules.progress.strategy import Strategy


def absent_clusters(view: View, rules: InForce, placement: ObjectId, names: Collection[str]) -> frozenset[str]:
    """The clusters, among `names`, that a Placement dropped because they are not available."""
    unavailable = [name for name in names if not is_available(view, MANAGED_CLUSTER.id(name))]
    return selected_clusters(view, rules, placement, unavailable)


def with_absent(
    strategy: Strategy, groups: Sequence[DecisionGroup], absent: Collection[str], begun: Collection[str]
) -> tuple[DecisionGroup, ...]:
    """The decision groups with clusters that none of them has any more: in the last group that has begun.

    Groups go one after the other, so that is where they were. If none has begun, the Placement dropped all of that
    group, which is gone with them: they go before the first one, as a group of their own, but for mandatory groups,
    which go before any other. `begun`: the clusters that have the revision.
    """
    if not absent:
        return tuple(groups)
    mandatory, rest, _ = split(groups, strategy.mandatory)
    ordered = (*mandatory, *rest)
    last = next((group for group in reversed(ordered) if not set(begun).isdisjoint(group.clusters)), None)
    if last is None and not mandatory:
        return (DecisionGroup("", -1, tuple(sorted(absent))), *groups)
    last = last or ordered[0]
    joined = replace(last, clusters=(*last.clusters, *sorted(absent)))
    return tuple(joined if group is last else group for group in groups)
