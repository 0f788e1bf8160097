"""What muster owns on a hub: whole objects that it makes, and fields of objects that others make.

A hub gets what the last reconcile committed. Conditions, taints and Leases of clusters are never among it: they are
lists and objects that the hub's own controllers and agents write. Karmada's and Hive's fields are sent only if asked
for, because on most hubs their own controllers write them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from muster.data.codes import Code, Severity
from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_CLAIM,
    CLUSTER_DEPLOYMENT,
    CLUSTER_PROFILE,
    KARMADA_CLUSTER,
    MULTI_CLUSTER_INGRESS,
    PLACEMENT,
    PLACEMENT_DECISION,
    SIG_PLACEMENT_DECISION,
    Kind,
    kind_of,
)
from muster.data.locations import FOLDER
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.features.export.objects import exported, identified
from muster.features.sync.hub import HubKey, HubKind
from muster.fleet.fleet import Fleet

#: Tells OCM's scheduler to leave a Placement's decisions to others. It stands on the hub's copy only, never in git.
SCHEDULING_DISABLED: Final = "cluster.open-cluster-management.io/experimental-scheduling-disable"


class OwnedFields(NamedTuple):
    """Fields of a kind that muster alone writes, by dotted paths; no paths: the whole object."""

    kind: Kind
    fields: tuple[str, ...] = ()
    system: str = ""


OWNED: Final = (
    OwnedFields(PLACEMENT_DECISION),
    OwnedFields(SIG_PLACEMENT_DECISION),
    OwnedFields(CLUSTER_PROFILE),
    OwnedFields(KARMADA_CLUSTER, ("status.remedyActions",), "karmada"),
    OwnedFields(MULTI_CLUSTER_INGRESS, ("status.trafficBlockClusters",), "karmada"),
    OwnedFields(CLUSTER_DEPLOYMENT, ("spec",), "hive"),
    OwnedFields(CLUSTER_CLAIM, ("spec",), "hive"),
)


@dataclass(frozen=True, slots=True)
class Patch:
    """What muster's field manager applies to an object. `made`: muster makes the object, and deletes it when its reason
    goes; else the object must exist on the hub. `projection`: the one whose file has the object."""

    key: HubKey
    body: Mapping[str, Tree]
    made: bool
    projection: str = ""


def wanted(fleet: Fleet, systems: Iterable[str] = ()) -> list[Patch]:
    """Return what a hub must have of a fleet as it was committed, in the order in which it is applied."""
    patches = [*_scheduling_disabled(fleet)]
    asked = frozenset(("", *systems))
    rules = {rule.kind: rule for rule in OWNED if rule.system in asked}
    for id_ in sorted(fleet.previous):
        if (rule := rules.get(kind_of(id_))) is None:
            continue
        made = id_ not in fleet.objects
        derived = fleet.previous[id_]
        if dig(derived, "metadata", "deletionTimestamp") is not None:
            continue  # it is to go: what muster made is pruned, and the rest is its owner's to delete
        body = derived if made else _only(derived, rule.fields)
        patches.extend(_patches(id_, body, made=made))
    return patches


def unwritten_kinds(systems: Iterable[str]) -> frozenset[HubKind]:
    """The kinds of systems that a sync of these systems does not write."""
    asked = frozenset(("", *systems))
    return frozenset(HubKind.of(rule.kind) for rule in OWNED if rule.system not in asked)


def _scheduling_disabled(fleet: Fleet) -> Iterator[Patch]:
    """Keep the hub's scheduler away from the Placements that muster decides."""
    for id_ in sorted(filter(PLACEMENT.has, fleet.previous)):
        head = identified(fleet.previous[id_])
        body = head | {"metadata": {**head["metadata"], "annotations": {SCHEDULING_DISABLED: "true"}}}
        yield Patch(HubKey(HubKind.of(PLACEMENT), id_.namespace, id_.name), body, made=False)


def unreadable(fleet: Fleet) -> str:
    """A derived file that cannot be read; empty if all can. What it holds is unknown, so nothing may be pruned."""
    lost = (Code.DERIVED_DAMAGED, Code.DERIVED_TOO_LARGE)
    wrong = (finding for finding in fleet.findings if finding.code in lost or finding.severity is Severity.ERROR)
    return next((finding.file for finding in wrong if finding.file.startswith(FOLDER)), "")


def _only(body: Tree, fields: tuple[str, ...]) -> Tree:
    """The object's name and some of its fields."""
    if not fields:
        return body
    kept = identified(body)
    for path in fields:
        section, _, name = path.partition(".")
        value = dig(body, *path.split("."))
        if value is not None:
            kept[section] = {**kept.get(section, {}), name: value} if name else value
    return kept


def _patches(id_: ObjectId, body: Tree, *, made: bool) -> Iterator[Patch]:
    kind = HubKind.of(kind_of(id_))
    for status in (False, True):
        for part in exported([body], named=True, status=status).bodies:
            if made or any(name not in ("apiVersion", "kind", "metadata") for name in part):
                yield Patch(HubKey(kind, id_.namespace, id_.name, status), part, made)
