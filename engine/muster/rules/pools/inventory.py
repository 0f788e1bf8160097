"""What a pool creates clusters from: its inventory, an image set and secrets.

The inventory has one ClusterDeploymentCustomization per cluster, reserved at creation. Source: upstream's
cdcCollection. A reservation is released when its cluster is gone, restored if only the cluster has it, and records the
cluster's result, so that the next cluster gets the customization least likely to fail. The provisioner applies patches
and reports syntax errors.

muster reads no secrets. A dependency exists if it is an object of the repository, or
`Fleet.spec.pools.externalDependencies` names it (`Kind/name` or `Kind/namespace/name`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT_CUSTOMIZATION, CLUSTER_IMAGE_SET
from muster.data.kinds import CLUSTER_DEPLOYMENT_CUSTOMIZATION as CUSTOMIZATION
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.settings import Settings
from muster.fleet.view import View
from muster.rules.pools.buckets import Buckets
from muster.rules.pools.model import Cluster, Pool, instant, text
from muster.rules.transitions import condition, unchanged_condition

AVAILABLE, APPLIED = "Available", "ApplySucceeded"
_FREE = ("True", "Available", "available")
_RESERVED = ("False", "Reserved", "reserved")
_SUCCEEDED = ("True", "Succeeded", "Patches applied and cluster installed successfully")
_PENDING = ("False", "InstallationPending", "Patches applied; the cluster is being installed")
_BROKEN = (
    "False",
    "BrokenByCloud",
    "Cluster installation failed. This may or may not be the fault of patches. Check the installation logs.",
)


@dataclass(frozen=True, slots=True)
class Customization:
    """One customization: the cluster and pool that reserved it, and its conditions by type."""

    id: ObjectId
    cluster: str
    pool: str
    conditions: Mapping[str, Tree]

    def reason(self, type_: str) -> str:
        """The reason of a condition, or empty."""
        return text(self.conditions.get(type_), "reason")

    def stating(self, type_: str, statement: tuple[str, str, str], now: datetime) -> "Customization":
        """The customization with one more condition: status, reason and message."""
        decided = condition(self.conditions.get(type_), *statement, now=now)
        return replace(self, conditions={**self.conditions, type_: decided})

    def order(self, now: datetime) -> tuple[bool, str, datetime, str]:
        """Sorts successful and unused ones first; then by the time of use, oldest first."""
        applied = self.conditions.get(APPLIED)
        if applied is None or applied.get("status") == "Unknown":
            return (False, "", now, self.id.name)
        reason = self.reason(APPLIED)
        since = instant(applied, "lastTransitionTime") or now
        if reason == "Succeeded":
            return (False, "", since, self.id.name)
        return (True, "", since, self.id.name)


@dataclass(slots=True)
class Stock:
    """The customizations of a fleet during one pass: pools take from it in turn."""

    items: dict[ObjectId, Customization]
    now: datetime

    @classmethod
    def of(cls, view: View, now: datetime) -> "Stock":
        """Read every customization as the last run left it."""
        return cls({obj.id: _read(view, obj.id) for obj in view.of(CUSTOMIZATION)}, now)

    def put(self, item: Customization) -> None:
        """Store a changed customization."""
        self.items[item.id] = item

    def decisions(self) -> Iterator[Decision]:
        """Decide the state of every customization that was ever used."""
        because = Because("inventory", OF_ITSELF, "which cluster has reserved it, and how that fared")
        for id_, item in sorted(self.items.items()):
            for type_, decided in sorted(item.conditions.items()):
                yield unchanged_condition(id_, type_, decided, because)
            for name, holder in (("clusterDeploymentRef", item.cluster), ("clusterPoolRef", item.pool)):
                if holder:
                    yield Decision(id_, ("status", name), {"name": holder}, because)


def _read(view: View, id_: ObjectId) -> Customization:
    body = view.previous.get(id_)
    status = mapping_at(body, "status")
    conditions = {str(c.get("type")): c for c in mappings_at(status, "conditions")}
    cluster, pool = text(status, "clusterDeploymentRef", "name"), text(status, "clusterPoolRef", "name")
    return Customization(id_, cluster, pool, conditions)


@dataclass(frozen=True, slots=True)
class Inventory:
    """A pool's updated inventory: its free customizations in order of use, and its condition."""

    free: tuple[Customization, ...]
    cloud: tuple[str, ...]
    syntax: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Is nothing in it broken or missing?"""
        return not (self.cloud or self.syntax or self.missing)

    @property
    def message(self) -> str:
        """What is wrong, in upstream's form; empty if nothing."""
        if self.valid:
            return ""
        lists = {"BrokenByCloud": self.cloud, "BrokenBySyntax": self.syntax, "Missing": self.missing}
        return json.dumps({name: sorted(names) for name, names in lists.items()}, separators=(",", ":"))


def synchronize(stock: Stock, pool: Pool, buckets: Buckets, exists: Iterable[str]) -> Inventory | None:
    """Update the reservations of a pool's inventory by its clusters; None without an inventory. `exists`: the names of
    all clusters of the fleet."""
    if pool.inventory is None:
        return None
    ids = {name: CUSTOMIZATION.id(name, pool.id.namespace) for name in pool.inventory}
    present = {name: id_ for name, id_ in ids.items() if id_ in stock.items}
    names = frozenset(exists)
    for id_ in present.values():
        item = stock.items[id_]
        if item.cluster and item.cluster not in names:
            stock.put(replace(item, cluster="", pool="").stating(AVAILABLE, _FREE, stock.now))
    for cluster in buckets:
        _restore(stock, pool, cluster, names)
    for members, statement in ((buckets.broken, _BROKEN), ((*buckets.standby, *buckets.assignable), _SUCCEEDED)):
        for cluster in members:
            held = present.get(cluster.customization)
            if held is not None:
                stock.put(stock.items[held].stating(APPLIED, statement, stock.now))
    items = [stock.items[id_] for id_ in present.values()]
    return Inventory(
        free=tuple(sorted((item for item in items if not item.cluster), key=lambda item: item.order(stock.now))),
        cloud=tuple(item.id.name for item in items if item.reason(APPLIED) == "BrokenByCloud"),
        syntax=tuple(item.id.name for item in items if item.reason(APPLIED) == "BrokenBySyntax"),
        missing=tuple(name for name in pool.inventory if name not in present),
    )


def _restore(stock: Stock, pool: Pool, cluster: Cluster, names: frozenset[str]) -> None:
    """Reserve again what a cluster uses, unless another existing cluster holds it."""
    item = stock.items.get(CUSTOMIZATION.id(cluster.customization, pool.id.namespace))
    if item is None or text(item.conditions.get(AVAILABLE), "status") == "False":
        return
    if item.cluster and item.cluster != cluster.name and item.cluster in names:
        return
    reserve(stock, item, cluster.name, pool, installed=cluster.installed)


def reserve(stock: Stock, item: Customization, cluster: str, pool: Pool, *, installed: bool = False) -> None:
    """Reserve a customization for a pool's cluster."""
    taken = replace(item, cluster=cluster, pool=pool.id.name).stating(AVAILABLE, _RESERVED, stock.now)
    stock.put(taken.stating(APPLIED, _SUCCEEDED if installed else _PENDING, stock.now))


_CREDENTIALS = ("credentialsSecretRef", "credentialsSecret")


def read_dependencies(view: View, pool: Object) -> None:
    """Raise UnreadError if an object of the repository that a pool depends on has an error."""
    view.lookup(CLUSTER_IMAGE_SET.id(text(pool.spec, "imageSetRef", "name")))
    inventory = [text(entry, "name") for entry in mappings_at(pool.spec, "inventory")]
    for name in filter(None, (text(pool.spec, "customizationRef", "name"), *inventory)):
        view.lookup(CUSTOMIZATION.id(name, pool.id.namespace))


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The objects that exist for pools, inside the repository or outside."""

    names: frozenset[str]

    @classmethod
    def of(cls, view: View, settings: Settings) -> "Dependencies":
        """Collect them once per run."""
        external = settings.get("pools", "externalDependencies")
        names = {name for name in external if isinstance(name, str)} if isinstance(external, list) else set()
        names.update(str(obj.id) for obj in view.of(CLUSTER_IMAGE_SET, CLUSTER_DEPLOYMENT_CUSTOMIZATION))
        return cls(frozenset(names))

    def missing(self, pool: Pool) -> str:
        """Return what is missing, in upstream's words; empty if nothing."""
        missing = list(self._missing(pool))
        return f"[{', '.join(missing)}]" if len(missing) > 1 else "".join(missing)

    def _missing(self, pool: Pool) -> Iterator[str]:
        spec, namespace = pool.spec, pool.id.namespace
        image_set = text(spec, "imageSetRef", "name")
        if f"ClusterImageSet/{image_set}" not in self.names:
            yield f'cluster image set: clusterimagesets.hive.openshift.io "{image_set}" not found'
        for purpose, path in secrets_of(spec):
            if f"Secret/{namespace}/{(name := text(spec, *path))}" not in self.names:
                yield f'{purpose}: secrets "{name}" not found'
        customization = text(spec, "customizationRef", "name")
        if customization and f"ClusterDeploymentCustomization/{namespace}/{customization}" not in self.names:
            yield f"pool-wide customizationRef {customization} not found"


def secrets_of(spec: Tree) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the purpose of each Secret that the spec of a pool names, and the path of its name below the spec."""
    paths = (
        ("pull secret", ("pullSecretRef", "name")),
        ("install config template secret", ("installConfigSecretTemplateRef", "name")),
        ("credentials secret", _credentials_path(spec)),
    )
    yield from ((purpose, path) for purpose, path in paths if path and text(spec, *path))


def _credentials_path(spec: Tree) -> tuple[str, ...]:
    """The path of the name of the secret with cloud credentials; empty if the platform names none."""
    for platform, settings in mapping_at(spec, "platform").items():
        for field in _CREDENTIALS:
            if text(settings, field, "name"):
                return ("platform", platform, field, "name")
    return ()
