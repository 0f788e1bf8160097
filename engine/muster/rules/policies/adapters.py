"""Adapters in expressions: `reports`, `adapters`, `updated`, `deleting` and `children`.

Looked up once per stage and view, so each object costs a few dictionary reads.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from muster.cel.types import BOOL, STRING, ListType, ObjectType, StringType, required
from muster.data.ids import ObjectId
from muster.data.kinds import NODE_POOL, TARGETS, Kind, kind_of
from muster.data.times import try_time
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.reports import accepted_by_target, required_adapters
from muster.fleet.settings import Settings
from muster.fleet.view import View

#: The maximum number, for cost estimates.
MOST_ADAPTERS = 64
#: The type of a node pool in a cluster's `children`.
CHILD = ObjectType(
    "child",
    required(
        kind=STRING,
        namespace=STRING,
        name=STRING,
        deleting=BOOL,
        adapters=ListType(StringType(max_length=63), MOST_ADAPTERS),
    ),
)


@dataclass(frozen=True, slots=True)
class Adapters:
    """Accepted payloads by object, required adapters by kind, node pools by cluster."""

    reports: Mapping[ObjectId, list[Tree]]
    required: Mapping[Kind, list[str]]
    pools: Mapping[str, list[Tree]]

    @classmethod
    def of(cls, view: View, settings: Settings) -> "Adapters":
        """Look up the adapters in a view."""
        required = {kind: required_adapters(settings, kind) for kind in TARGETS.values()}
        return cls(accepted_by_target(view), required, dict(_pools(view, required[NODE_POOL])))

    def children(self, obj: Object) -> list[Tree]:
        """The node pools of a cluster; other objects have no children."""
        return [] if obj.kind is NODE_POOL else self.pools.get(obj.id.name, [])


def spec_changed(view: View, id_: ObjectId) -> datetime | None:
    """Since when an object has its present spec; None if no adapter reports on it."""
    return try_time(view.now(id_, "status", "muster", "specChanged"))


def is_deleting(view: View, obj: Object) -> bool:
    """Is the object marked for deletion, by a person or because its cluster is?"""
    return obj.deleting or view.now(obj.id, "metadata", "deletionTimestamp") is not None


def owner_cluster(pool: Object) -> str:
    """The name of a node pool's cluster."""
    named = dig(pool.body, "spec", "clusterName")
    return named if isinstance(named, str) else pool.id.namespace


def _pools(view: View, required: list[str]) -> Iterator[tuple[str, list[Tree]]]:
    """Node pools by cluster, including broken ones, which still exist."""
    pools: dict[str, list[Tree]] = {}
    broken = (view.objects[id_] for id_ in sorted(view.broken & view.objects.keys()) if kind_of(id_) is NODE_POOL)
    for pool in (*view.of(NODE_POOL), *broken):
        child = {
            "kind": pool.id.kind,
            "namespace": pool.id.namespace,
            "name": pool.id.name,
            "deleting": is_deleting(view, pool),
            "adapters": required,
        }
        pools.setdefault(owner_cluster(pool), []).append(child)
    yield from pools.items()
