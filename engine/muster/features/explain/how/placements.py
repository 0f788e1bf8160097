"""What may have to change until a Placement chooses a cluster, or is satisfied: what both declare."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.tree import Tree, mappings_at
from muster.features.explain.how.candidates import Candidate, Steps, numbers, setting, without
from muster.features.explain.how.goals import chosen_of, whole
from muster.fleet.fleet import Fleet

#: How much larger numbers are tried.
MORE: Final = 50
#: Of so many clusters each alone is accepted.
_MOST: Final = 10


def acceptance(fleet: Fleet, cluster: ObjectId) -> Iterator[Candidate]:
    """Accept a cluster that is not."""
    declared = fleet.objects.get(cluster)
    if MANAGED_CLUSTER.has(cluster) and declared and declared.spec.get("hubAcceptsClient") is not True:
        yield setting("accept the cluster", cluster, ("spec", "hubAcceptsClient"), value=True)


def to_choose(fleet: Fleet, placement: ObjectId, cluster: str) -> Iterator[Candidate | Steps]:
    """Yield what may make a Placement choose a cluster."""
    id_, spec = MANAGED_CLUSTER.id(cluster), fleet.objects[placement].spec
    yield from acceptance(fleet, id_)
    for index, taint in enumerate(mappings_at(fleet.objects[id_].spec, "taints")):
        text = f"remove its taint {taint.get('key')}:{taint.get('effect')}"
        yield without(text, id_, ("spec", "taints", index))
    yield from more_clusters(fleet, placement)
    yield from _tolerations(placement, spec, mappings_at(whole(fleet, id_), "spec", "taints"))
    yield from _conditions(placement, spec)


def to_satisfy(fleet: Fleet, placement: ObjectId) -> Iterator[Candidate | Steps]:
    """Yield what may satisfy a Placement."""
    spec = fleet.objects[placement].spec
    number, enough = spec.get("numberOfClusters"), len(chosen_of(fleet, placement))
    if isinstance(number, int) and enough < number:
        yield _number(placement, range(number - 1, max(enough, 1) - 1, -1))
    taints = [
        taint for obj in fleet.of(MANAGED_CLUSTER) for taint in mappings_at(whole(fleet, obj.id), "spec", "taints")
    ]
    yield from _tolerations(placement, spec, taints)
    yield from _conditions(placement, spec)
    accepting = (candidate for obj in fleet.of(MANAGED_CLUSTER) for candidate in acceptance(fleet, obj.id))
    for candidate in islice(accepting, _MOST):
        yield replace(candidate, text=f"accept {candidate.object.name}")


def more_clusters(fleet: Fleet, placement: ObjectId) -> Iterator[Steps]:
    """More clusters for a Placement that has a number of them."""
    number = fleet.objects[placement].spec.get("numberOfClusters")
    if isinstance(number, int):
        yield _number(placement, range(number + 1, number + 1 + MORE))


def _number(placement: ObjectId, values: range) -> Steps:
    return numbers("numberOfClusters", placement, ("spec", "numberOfClusters"), values)


def _tolerations(placement: ObjectId, spec: Mapping[str, Tree], taints: list[dict[str, Tree]]) -> Iterator[Candidate]:
    present = spec.get("tolerations") or []
    for key in sorted({str(taint.get("key")) for taint in taints}):
        tolerations = [*present, {"key": key, "operator": "Exists"}]
        yield setting(f"tolerate {key}", placement, ("spec", "tolerations"), tolerations)


def _conditions(placement: ObjectId, spec: Mapping[str, Tree]) -> Iterator[Candidate]:
    yield from (
        without(f"remove {name}", placement, ("spec", name)) for name in ("predicates", "spreadPolicy") if name in spec
    )
