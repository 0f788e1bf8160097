"""What `forEach` of a Projection can name: for what there is a file, and what its expressions see of it.

A source is a row of SOURCES: the types of its variables, and its items with their values. A *gathered* source makes one
file of all its items.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Final

from muster.cel.types import STRING, TIMESTAMP, FieldType, ListType, MapType, ObjectType, Type
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_DEPLOYMENT,
    CLUSTER_POOL,
    FLEET,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT,
    Kind,
    of_kinds,
)
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import by_type
from muster.fleet.settings import Settings
from muster.fleet.view import View
from muster.rules.placements.shards import PLACEMENT_LABEL
from muster.rules.policies.types import condition_type, object_type, spec_type
from muster.rules.rollouts.policy import ClusterRollout, Rollout
from muster.rules.stages import ROLLOUTS

#: The most conditions of an object, for cost estimates.
_MOST_CONDITIONS: Final = 128
#: A cluster's place in a Rollout. Without fields until it gets a revision.
_ROLLOUT: Final = ObjectType(
    "rollout",
    {**dict.fromkeys(("revision", "stage", "state", "gate"), FieldType(STRING)), "since": FieldType(TIMESTAMP)},
)


class UnreadInput(Exception):  # noqa: N818 - not an error: the file stays as it is
    """What a file depends on cannot be read."""


@dataclass(frozen=True, slots=True)
class ProjectionItem:
    """Something for which there is a file: the name of its entry in the record, the object that it is about, and the
    values of its variables. `broken`: the object has an error."""

    entry: str
    about: ObjectId
    labels: Mapping[str, str]
    values: Callable[[], Mapping[str, object]]
    broken: bool = False


@dataclass(frozen=True)
class ProjectionInputs:
    """What Projections see: a view, of one cluster or of what the fleet shares, the settings, and the Rollouts."""

    view: View
    settings: Settings
    compiled: tuple[Rollout, ...]

    def body(self, id_: ObjectId) -> Tree:
        """An object with this run's decisions, and without muster's bookkeeping; None if there is none."""
        body = self.view.whole(id_)
        status = mapping_at(body, "status")
        if "muster" not in status:
            return body
        return {**body, "status": {name: value for name, value in status.items() if name != "muster"}}

    def item(
        self, id_: ObjectId, entry: str, variable: str, more: Mapping[str, object] | None = None
    ) -> ProjectionItem:
        """An item about one object, which its expressions call `variable`."""
        obj = self.view.objects.get(id_)
        labels = obj.labels if obj is not None else mapping_at(self.view.whole(id_), "metadata", "labels")

        def values() -> Mapping[str, object]:
            body = self.body(id_)
            conditions = by_type(mappings_at(body, "status", "conditions"))
            variables = {
                variable: body,
                "conditions": conditions,
                "fleet": self.settings.spec,
                "rollouts": self.steps(id_),
            }
            return {**variables, **(more or {})}

        return ProjectionItem(entry, id_, labels, values, broken=id_ in self.view.broken)

    def steps(self, id_: ObjectId) -> Mapping[str, Mapping[str, object]]:
        """A cluster's place in each Rollout that has given it a revision, by NAMESPACE/NAME."""
        by_rollout = dict[str, Mapping[str, object]]()
        for path, decision in self.view.decisions(id_).items():
            if path[:-1] == ROLLOUTS and (entry := ClusterRollout.read(decision.value)) is not None:
                by_rollout[str(path[-1])] = {**entry.entry(), "since": entry.since}
        return dict(sorted(by_rollout.items()))

    @cached_property
    def rollouts(self) -> Mapping[str, Mapping[str, Mapping[str, object]]]:
        """The places of all clusters, by Rollout and cluster."""
        by_rollout: dict[str, dict[str, Mapping[str, object]]] = {rollout.key: {} for rollout in self.compiled}
        for id_ in of_kinds(sorted(self.view.decided), MANAGED_CLUSTER):
            for key, step in self.steps(id_).items():
                by_rollout.setdefault(key, {})[id_.name] = step
        return by_rollout

    @cached_property
    def placements(self) -> Mapping[str, list[str]]:
        """The names of the clusters that each Placement chose, by NAMESPACE/NAME."""
        by_placement = dict[str, list[str]]()
        for id_ in of_kinds(sorted(self.view.decided), PLACEMENT_DECISION):
            labels = self.view.now(id_, "metadata", "labels") or {}
            chosen = by_placement.setdefault(f"{id_.namespace}/{labels.get(PLACEMENT_LABEL)}", [])
            entries = self.view.now(id_, "status", "decisions") or ()
            chosen.extend(str(entry["clusterName"]) for entry in entries if "clusterName" in entry)
        return {name: sorted(chosen) for name, chosen in by_placement.items()}

    @cached_property
    def pools(self) -> Mapping[str, list[ObjectId]]:
        """The ClusterDeployments of each pool, by NAMESPACE/NAME."""
        by_pool = (
            (f"{reference.get('namespace')}/{reference.get('poolName')}", id_)
            for id_ in of_kinds(sorted({*self.view.objects, *self.view.decided}), CLUSTER_DEPLOYMENT)
            if (reference := mapping_at(self.view.whole(id_), "spec", "clusterPoolRef"))
        )
        return {name: list(ids) for name, ids in grouped(by_pool).items()}


@dataclass(frozen=True, slots=True)
class ProjectionSource:
    """What `forEach` names. `types` and `item_types` give the variables for a kind of cluster: of the file, and of
    `select`. `kind`: that of its objects, if there is no choice; `named`: the kind of the object that it names.
    `of_cluster`: each cluster has its own file, which depends on nothing else."""

    types: Callable[[Kind], dict[str, Type]]
    items: Callable[[ProjectionInputs, Kind, str], Iterator[ProjectionItem]]
    kind: Kind | None = None
    named: Kind | None = None
    of_cluster: bool = False
    gathered: Callable[[ProjectionInputs, list[Mapping[str, object]]], Mapping[str, object]] | None = None
    _item_types: Callable[[Kind], dict[str, Type]] | None = field(default=None)

    def item_types(self, kind: Kind) -> dict[str, Type]:
        """The variables of one item."""
        return (self._item_types or self.types)(kind)


def _fleet() -> dict[str, Type]:
    return {"fleet": spec_type(FLEET)}


def _cluster_types(kind: Kind) -> dict[str, Type]:
    conditions = MapType(STRING, condition_type(), _MOST_CONDITIONS)
    return {"cluster": object_type(kind), "conditions": conditions, "rollouts": MapType(STRING, _ROLLOUT), **_fleet()}


def _clusters(inputs: ProjectionInputs, kind: Kind, _named: str) -> Iterator[ProjectionItem]:
    for obj in inputs.view.of(kind):
        yield inputs.item(obj.id, obj.id.name, "cluster")


def _all_types(kind: Kind) -> dict[str, Type]:
    return {
        "clusters": ListType(object_type(kind)),
        "placements": MapType(STRING, ListType(STRING)),
        "pools": MapType(STRING, ListType(object_type(CLUSTER_DEPLOYMENT))),
        "rollouts": MapType(STRING, MapType(STRING, _ROLLOUT)),
        **_fleet(),
    }


def _all_items(inputs: ProjectionInputs, kind: Kind, _named: str) -> Iterator[ProjectionItem]:
    """Every cluster. One with an error counts as far as it can be read; a list without it would look as if it had
    gone."""
    ids = {*(obj.id for obj in inputs.view.of(kind)), *filter(kind.has, inputs.view.broken)}
    if not ids <= inputs.view.objects.keys() or inputs.view.unidentified:
        raise UnreadInput
    for id_ in sorted(ids):
        yield inputs.item(id_, id_.name, "cluster", {"placements": inputs.placements})


def _all_values(inputs: ProjectionInputs, items: list[Mapping[str, object]]) -> Mapping[str, object]:
    return {
        "clusters": [item["cluster"] for item in items],
        "placements": inputs.placements,
        "fleet": inputs.settings.spec,
        "pools": {name: [inputs.body(id_) for id_ in ids] for name, ids in inputs.pools.items()},
        "rollouts": inputs.rollouts,
    }


def _placed_types(kind: Kind) -> dict[str, Type]:
    placed = {"placement": object_type(PLACEMENT), "decisions": ListType(STRING), "rollout": _ROLLOUT}
    return {**_cluster_types(kind), **placed}


def _placed(inputs: ProjectionInputs, _kind: Kind, named: str) -> Iterator[ProjectionItem]:
    """The clusters that the Placement chose."""
    namespace, _, name = named.partition("/")
    placement, chosen = PLACEMENT.id(name, namespace), inputs.placements.get(named, [])
    body, rollout = (
        inputs.body(placement),
        next((compiled.key for compiled in inputs.compiled if compiled.placement == placement), ""),
    )
    for cluster in chosen:
        id_ = MANAGED_CLUSTER.id(cluster)
        if id_ in inputs.view.objects or id_ in inputs.view.broken:
            step = inputs.steps(id_).get(rollout, {})
            yield inputs.item(id_, cluster, "cluster", {"placement": body, "decisions": chosen, "rollout": step})


def _rollout_types(kind: Kind) -> dict[str, Type]:
    return {**_cluster_types(kind), "rollout": _ROLLOUT}


def _rolled_out(inputs: ProjectionInputs, _kind: Kind, named: str) -> Iterator[ProjectionItem]:
    """The clusters to which the Rollout has given a revision."""
    for id_ in of_kinds(sorted({*inputs.view.decided, *inputs.view.broken}), MANAGED_CLUSTER):
        if id_ in inputs.view.broken:
            yield inputs.item(id_, id_.name, "cluster")
        elif step := inputs.steps(id_).get(named):
            yield inputs.item(id_, id_.name, "cluster", {"rollout": step})


def _pool_types(kind: Kind) -> dict[str, Type]:
    conditions = MapType(STRING, condition_type(), _MOST_CONDITIONS)
    return {"cluster": object_type(kind), "conditions": conditions, "pool": object_type(CLUSTER_POOL), **_fleet()}


def _pooled(inputs: ProjectionInputs, _kind: Kind, named: str) -> Iterator[ProjectionItem]:
    """The ClusterDeployments of the pool, until each is gone."""
    namespace, _, name = named.partition("/")
    pool = inputs.body(CLUSTER_POOL.id(name, namespace))
    for id_ in inputs.pools.get(named, ()):
        yield inputs.item(id_, f"{id_.namespace}/{id_.name}", "cluster", {"pool": pool})


#: The sources by name.
SOURCES: Final[Mapping[str, ProjectionSource]] = {
    "clusters": ProjectionSource(_cluster_types, _clusters, of_cluster=True),
    "all": ProjectionSource(
        _all_types,
        _all_items,
        gathered=_all_values,
        _item_types=lambda kind: {**_cluster_types(kind), "placements": MapType(STRING, ListType(STRING))},
    ),
    "placement": ProjectionSource(_placed_types, _placed, kind=MANAGED_CLUSTER, named=PLACEMENT),
    "rollout": ProjectionSource(_rollout_types, _rolled_out, kind=MANAGED_CLUSTER, named=ROLLOUT),
    "pool": ProjectionSource(_pool_types, _pooled, kind=CLUSTER_DEPLOYMENT, named=CLUSTER_POOL),
}
