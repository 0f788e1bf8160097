"""What a drill looks at, as plain values by name: which clusters are available, what Placements choose, and the status
of Placements, pools, Rollouts and ingresses.

A run gives them all; each later one gives those in the derived files that it writes. They are JSON, so that they can be
kept and sent to another process.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_POOL,
    CLUSTERS,
    MULTI_CLUSTER_INGRESS,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT,
    Kind,
    id_of_body,
    kind_of,
)
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.rules.placements.shards import PLACEMENT_LABEL
from muster.rules.rollouts.status import ROLLED_OUT

#: A fact by the text of the object's id; None: there is none any more.
Facts: TypeAlias = Mapping[str, Tree]
#: The kinds that facts are about.
KINDS: Final[tuple[Kind, ...]] = (
    *CLUSTERS,
    PLACEMENT,
    PLACEMENT_DECISION,
    CLUSTER_POOL,
    ROLLOUT,
    MULTI_CLUSTER_INGRESS,
)


def facts_of(bodies: Iterable[Tree]) -> Iterator[tuple[str, Tree]]:
    """Yield the facts in objects, or in their derived parts; none of a cluster without its headline condition."""
    for body in bodies:
        id_ = id_of_body(body)
        if id_ is not None and kind_of(id_) in KINDS:
            fact = _fact(id_, body)
            if fact is not None:
                yield str(id_), fact


def _fact(id_: ObjectId, body: Tree) -> Tree:
    kind = kind_of(id_)
    if kind in CLUSTERS:
        status = _status(body, kind.headline)
        return None if status is None else status == "True"
    if kind is PLACEMENT:
        return {"satisfied": _status(body, "PlacementSatisfied") == "True"}
    if kind is PLACEMENT_DECISION:
        named = [
            decision["clusterName"]
            for decision in mappings_at(body, "status", "decisions")
            if decision.get("clusterName")
        ]
        placement = mapping_at(body, "metadata", "labels").get(PLACEMENT_LABEL, "")
        return {"placement": str(PLACEMENT.id(str(placement), id_.namespace)), "clusters": named}
    if kind is CLUSTER_POOL:
        return {name: _number(dig(body, "status", name)) for name in ("size", "ready", "standby")}
    if kind is ROLLOUT:
        reasons = (
            condition.get("reason")
            for condition in mappings_at(body, "status", "conditions")
            if condition["type"] == ROLLED_OUT
        )
        texts = {name: _text(dig(body, "status", name)) for name in ("revision", "completed", "stage")}
        return {**texts, "reason": next(reasons, "") or ""}
    blocked = set(dig(body, "status", "trafficBlockClusters") or ())
    return {
        "backends": [
            {"service": location.get("name") or "", "cluster": cluster, "blocked": cluster in blocked}
            for location in mappings_at(body, "status", "serviceLocations")
            for cluster in location.get("clusters") or ()
        ]
    }


def _status(body: Tree, type_: str) -> str | None:
    statuses = (
        condition.get("status")
        for condition in mappings_at(body, "status", "conditions")
        if condition.get("type") == type_
    )
    return next(statuses, None)


def _number(value: Tree) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Tree) -> str:
    return value if isinstance(value, str) else ""
