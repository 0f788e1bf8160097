"""What the conditions of a cluster ask of ClusterTaintPolicies (Karmada): to add their taints, or to take them off.

Silence takes nothing off: a condition of which nothing new is known (`muster.rules.conditions.doubt`) fulfils none for
removing, unless that one names the status Unknown.
"""

from collections.abc import Iterable, Iterator

from muster.fleet.objects import Object
from muster.rules.conditions.doubt import Doubts
from muster.rules.effects.requested import Latching
from muster.rules.taints.cluster_policy import ClusterTaintPolicy


def latches(obj: Object, policies: Iterable[ClusterTaintPolicy], doubts: Doubts) -> tuple[Latching, ...]:
    """Return what is asked of each policy that speaks of the cluster, in the order in which they act."""
    return tuple(_asked(obj, policies, doubts)) if policies else ()


def _asked(obj: Object, policies: Iterable[ClusterTaintPolicy], doubts: Doubts) -> Iterator[Latching]:
    doubt = doubts.about(obj)
    statuses = {type_: str(condition.get("status")) for type_, condition in doubt.conditions.items()}
    for policy in policies:
        if policy.targets(obj):
            adds = policy.adds(statuses)
            removes = policy.removes(statuses) and not policy.removal_rests_on(doubt.covers)
            if adds or removes:
                yield Latching(policy, adds, removes)
