"""What policies request of the taints of one cluster, as later stages are told of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.data.decision import Decision
from muster.data.tree import Tree
from muster.rules.context import ObjectBroadcast
from muster.rules.taints.cluster_policy import ClusterTaintPolicy
from muster.rules.taints.keys import DISRUPTIVE, TaintKey


@dataclass(frozen=True, slots=True)
class RequestedLatch:
    """What a cluster's conditions request of a ClusterTaintPolicy: to add its taints, or to remove them."""

    policy: ClusterTaintPolicy
    adds: bool
    removes: bool


def disrupts(decision: Decision) -> bool:
    """Does a decision add or keep a taint that keeps work away?"""
    return decision.value is not None and decision.path[2][1] in DISRUPTIVE


@dataclass(frozen=True, slots=True)
class RequestedTaints(ObjectBroadcast):
    """The taints that TaintPolicies request on a cluster; `put`: the record of each policy's taint."""

    decisions: tuple[Decision, ...]
    put: Mapping[TaintKey, Tree]

    @property
    def disrupts(self) -> bool:
        """Does one of the taints keep work away?"""
        return any(map(disrupts, self.decisions))


@dataclass(frozen=True, slots=True)
class RequestedLatches(ObjectBroadcast):
    """What ClusterTaintPolicies request on a cluster. `keeps_away`: a resulting taint keeps work away."""

    latches: tuple[RequestedLatch, ...]
    keeps_away: bool

    @property
    def disrupts(self) -> bool:
        """Does one of the taints keep work away?"""
        return self.keeps_away
