"""Typed views of pools, claims and clusters, parsed once per run.

A view shows the objects *before* this pass: inputs, overlaid by what the last run derived. A cluster's status is the
provisioner's alone; muster's part of it is decided again in each run.
"""

from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import NamedTuple

from muster.data.ids import ObjectId
from muster.data.times import try_duration, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass

HIVE = "hive.openshift.io"
VERSION = f"{HIVE}/cluster-pool-spec-hash"
REMOVE = f"{HIVE}/remove-cluster-from-pool"
REMOVE_LEGACY = f"{HIVE}/remove-claimed-cluster-from-pool"
FAKE = f"{HIVE}/fake-cluster"
PROTECTED = f"{HIVE}/protected-delete"

RUNNING, HIBERNATING = "Running", "Hibernating"
#: The creation time of objects without one, by upstream's rule: before any other.
OLDEST = datetime.min.replace(tzinfo=UTC)

#: The texts that Go's strconv.ParseBool accepts, for annotations.
_BOOLS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)


class PoolKey(NamedTuple):
    """The pool that a cluster's clusterPoolRef names."""

    namespace: str
    name: str


class Bucket(Enum):
    """The state of a pool's cluster: the first of these that applies."""

    DELETING = "deleting"
    MARKED = "marked"
    CLAIMED = "claimed"
    BROKEN = "broken"
    ASSIGNABLE = "assignable"
    INSTALLING = "installing"
    STANDBY = "standby"
    RESUMING = "resuming"
    HIBERNATING = "hibernating"


class _Aged:
    """An object with a name and an age."""

    __slots__ = ()
    id: ObjectId
    created: datetime

    @property
    def name(self) -> str:
        """The object's name; for a cluster also its namespace."""
        return self.id.name

    @property
    def age_key(self) -> tuple[datetime, str, str]:
        """Sorts oldest first, then by namespace and name."""
        return (self.created, self.id.namespace, self.id.name)


@dataclass(frozen=True, slots=True)
class Cluster(_Aged):
    """A ClusterDeployment.

    `body`: the inputs, overlaid by muster's metadata and spec, with the reported status. `pool`: None without a pool;
    `claim`: empty if unclaimed. `wanted` and `power`: spec.powerState and the reported status.powerState;
    `power_requested`: a person requests the former, and may. `frozen`: part of it is unreadable, so it is counted,
    or its pool would replace it, but not changed. `declared`: by muster, not by a person.
    """

    id: ObjectId
    body: Tree
    pool: PoolKey | None
    created: datetime
    claim: str
    installed: bool
    wanted: str
    power: str
    deleting: bool
    marked: bool
    version: str
    customization: str
    power_requested: bool
    frozen: bool
    declared: bool

    @property
    def fake(self) -> bool:
        """Is it a cluster without machines?"""
        return annotated(self.body, FAKE) is True

    @property
    def protected(self) -> bool:
        """Is its deletion forbidden? Hive's webhook refuses it then."""
        return annotated(self.body, PROTECTED) is True

    @property
    def deletable(self) -> bool:
        """May muster delete the cluster?"""
        return not (self.frozen or self.protected)


@dataclass(frozen=True, slots=True)
class Claim(_Aged):
    """A ClusterClaim. `cluster`: the assigned cluster's name, or empty; `deleting`: a person or its lifetime has ended
    it. `frozen` as for clusters."""

    id: ObjectId
    body: Tree
    pool: PoolKey
    created: datetime
    cluster: str
    deleting: bool
    frozen: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """A ClusterPool. `max_size` and `max_concurrent` None: no limit; `inventory` None: it has none, which differs from
    an empty one."""

    id: ObjectId
    spec: Tree
    deleting: bool
    size: int
    running_count: int
    max_size: int | None
    max_concurrent: int | None
    inventory: tuple[str, ...] | None

    @property
    def key(self) -> PoolKey:
        """The key that its clusters name."""
        return PoolKey(self.id.namespace, self.id.name)

    @classmethod
    def of(cls, id_: ObjectId, body: Tree, *, deleting: bool) -> "Pool":
        """Parse a valid pool."""
        spec = mapping_at(body, "spec")
        inventory = spec.get("inventory")
        return cls(
            id=id_,
            spec=spec,
            deleting=deleting,
            size=whole(spec, "size") or 0,
            running_count=whole(spec, "runningCount") or 0,
            max_size=whole(spec, "maxSize"),
            max_concurrent=whole(spec, "maxConcurrent"),
            inventory=tuple(str(item.get("name")) for item in mappings_at(spec, "inventory"))
            if isinstance(inventory, list)
            else None,
        )


def whole(tree: Tree, name: str) -> int | None:
    """The whole number under a name, or None."""
    value = dig(tree, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text(tree: Tree, *path: str) -> str:
    """The text at a path, or empty."""
    value = dig(tree, *path)
    return value if isinstance(value, str) else ""


def instant(tree: Tree, *path: str) -> datetime | None:
    """The instant at a path, or None."""
    return try_time(dig(tree, *path))


def span(tree: Tree, *path: str) -> timedelta | None:
    """The duration at a path; None if missing or zero, which upstream reads as no limit."""
    return try_duration(dig(tree, *path)) or None


def annotated(body: Tree, name: str) -> bool | None:
    """An annotation's boolean value; None if missing or no boolean."""
    return _BOOLS.get(text(body, "metadata", "annotations", name))


def is_deprovisioned(body: Tree) -> bool:
    """Does the provisioner report that it has removed the cluster?"""
    conditions = mappings_at(body, "status", "conditions")
    return any(
        condition.get("type") == "Provisioned" and condition.get("reason") == "Deprovisioned"
        for condition in conditions
    )


def marked_for_removal(body: Tree) -> bool:
    """Is the removal annotation set? The first of its two names with a boolean decides."""
    current = annotated(body, REMOVE)
    return bool(annotated(body, REMOVE_LEGACY) if current is None else current)
