"""Typed views of pools, claims and clusters, read once per run.

A view is what the objects said *before* this pass: inputs, and over them what the last run derived. The status of
a cluster is the provisioner's word alone; what muster made of it is decided anew in each run.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import NamedTuple

from muster.data.ids import ObjectId
from muster.data.times import try_duration, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at

HIVE = "hive.openshift.io"
VERSION = f"{HIVE}/cluster-pool-spec-hash"
REMOVE = f"{HIVE}/remove-cluster-from-pool"
REMOVE_LEGACY = f"{HIVE}/remove-claimed-cluster-from-pool"
FAKE = f"{HIVE}/fake-cluster"
PROTECTED = f"{HIVE}/protected-delete"

RUNNING, HIBERNATING = "Running", "Hibernating"
#: Before every instant that a file can name: the age of what has none, by upstream's rule.
OLDEST = datetime.min.replace(tzinfo=UTC)

#: What Go's strconv.ParseBool takes, which decides about annotations.
_BOOLS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)


class PoolKey(NamedTuple):
    """What a cluster's clusterPoolRef names."""

    namespace: str
    name: str


class Bucket(Enum):
    """Where an object of a pool stands. The first that applies, in this order, is the cluster's bucket."""

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
    """What has a name and an age."""

    __slots__ = ()
    id: ObjectId
    created: datetime

    @property
    def name(self) -> str:
        """Its name; a cluster's is its namespace, too."""
        return self.id.name

    @property
    def age_key(self) -> tuple[datetime, str, str]:
        """Sorts oldest first, ties by namespace and name."""
        return (self.created, self.id.namespace, self.id.name)


@dataclass(frozen=True, slots=True)
class Cluster(_Aged):
    """A ClusterDeployment.

    `body` is the object with muster's metadata and spec over the inputs, and the reported status. `pool` is None for
    a cluster of no pool; `claim` is empty while nobody has it. `wanted` and `power` are spec.powerState and the
    reported status.powerState; `told`: a person asks for the former, and may. `frozen`: a part of it cannot be read, so
    it is counted and not touched. `declared`: whether muster declares it (else a person does).
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
    told: bool
    frozen: bool
    declared: bool

    @property
    def fake(self) -> bool:
        """Whether there are no machines behind it."""
        return annotated(self.body, FAKE) is True

    @property
    def protected(self) -> bool:
        """Whether somebody forbids to delete it; Hive's webhook refuses then."""
        return annotated(self.body, PROTECTED) is True

    @property
    def deletable(self) -> bool:
        """Whether muster may delete it, should it have to go."""
        return not (self.frozen or self.protected)


@dataclass(frozen=True, slots=True)
class Claim(_Aged):
    """A ClusterClaim. `cluster` is the name of the assigned cluster, empty while there is none; `deleting` says that
    a person or its lifetime has ended it. `frozen` as for clusters."""

    id: ObjectId
    body: Tree
    pool: PoolKey
    created: datetime
    cluster: str
    deleting: bool
    frozen: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """A ClusterPool. None for `max_size` and `max_concurrent` means no limit; `inventory` None means that it has none,
    which is not the same as an empty one."""

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
        """What its clusters name it by."""
        return PoolKey(self.id.namespace, self.id.name)

    @classmethod
    def of(cls, id_: ObjectId, body: Tree, *, deleting: bool) -> "Pool":
        """Read a pool that its schema has accepted."""
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
    """The whole number under a name; None where there is none."""
    value = dig(tree, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text(tree: Tree, *path: str) -> str:
    """The text at a path; empty where there is none."""
    value = dig(tree, *path)
    return value if isinstance(value, str) else ""


def instant(tree: Tree, *path: str) -> datetime | None:
    """The instant at a path; None where there is none."""
    return try_time(dig(tree, *path))


def span(tree: Tree, *path: str) -> timedelta | None:
    """The duration at a path; None where there is none or it is zero, which upstream reads as no limit."""
    return try_duration(dig(tree, *path)) or None


def annotated(body: Tree, name: str) -> bool | None:
    """What an annotation says as a boolean; None where it is missing or no boolean."""
    return _BOOLS.get(text(body, "metadata", "annotations", name))


def marked_for_removal(body: Tree) -> bool:
    """Whether the removal annotation is set. The first of the two names that says yes or no decides."""
    current = annotated(body, REMOVE)
    return bool(annotated(body, REMOVE_LEGACY) if current is None else current)
