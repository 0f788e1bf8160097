"""Which columns a kind shows in a table. A kind without an entry shows its name and its conditions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from muster.fleet.sets import members_told
from muster.model.kinds import ACCEPTED, MANAGED_CLUSTER
from muster.model.times import age, try_time
from muster.model.tree import Tree, dig, mapping_at, mappings_at


@dataclass(frozen=True, slots=True)
class Column:
    """A header, and how its cell is read from an assembled object at an instant."""

    header: str
    cell: Callable[[Tree, datetime], str]


def _text(*path: str) -> Callable[[Tree, datetime], str]:
    def cell(body: Tree, _now: datetime) -> str:
        value = dig(body, *path)
        return "-" if value is None else str(value)

    return cell


def _texts(*path: str) -> Callable[[Tree, datetime], str]:
    """The texts of a list, with commas."""

    def cell(body: Tree, _now: datetime) -> str:
        value = dig(body, *path)
        return ", ".join(map(str, value)) if isinstance(value, list) and value else "-"

    return cell


def _services(body: Tree, _now: datetime) -> str:
    """Services with the number of clusters that serve them: `shop (3)`."""
    located = mappings_at(body, "status", "serviceLocations")
    return ", ".join(f"{entry.get('name')} ({len(entry.get('clusters') or ())})" for entry in located) or "-"


def _affinity(body: Tree, _now: datetime) -> str:
    names = dig(body, "spec", "clusterAffinity", "clusterNames")
    return ", ".join(map(str, names)) if isinstance(names, list) and names else "all"


def condition(body: Tree, type_: str) -> Tree:
    """The condition of a type; an empty mapping where there is none."""
    return next((c for c in mappings_at(body, "status", "conditions") if c.get("type") == type_), {})


def _either(body: Tree, types: tuple[str, ...]) -> Tree:
    """The first condition that is there of those that are one in different vocabularies."""
    return next((found for type_ in types if (found := condition(body, type_))), {})


def _status(*types: str) -> Callable[[Tree, datetime], str]:
    return lambda body, _now: str(_either(body, types).get("status", "-"))


def _reason(*types: str) -> Callable[[Tree, datetime], str]:
    return lambda body, _now: str(_either(body, types).get("reason") or "-")


def _since(*types: str) -> Callable[[Tree, datetime], str]:
    def cell(body: Tree, now: datetime) -> str:
        moment = try_time(_either(body, types).get("lastTransitionTime"))
        return "-" if moment is None else age(moment, now)

    return cell


def _taints(body: Tree, _now: datetime) -> str:
    return ", ".join(_taint_text(taint) for taint in mappings_at(body, "spec", "taints")) or "-"


def _taint_text(taint: Tree) -> str:
    """`unreachable:NoSelect`: a taint without its key's domain."""
    key = str(taint.get("key", "")).rpartition("/")[2]
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{key}{value}:{taint.get('effect', '')}"


def _accepted(body: Tree, _now: datetime) -> str:
    status = condition(body, ACCEPTED).get("status")
    return {"True": "yes", "False": "denied"}.get(str(status), "no")


def _renewed(body: Tree, now: datetime) -> str:
    moment = try_time(dig(body, "spec", "renewTime"))
    return "never" if moment is None else age(moment, now)


_AVAILABLE = MANAGED_CLUSTER.headline
_NAME = Column("NAME", _text("metadata", "name"))
_NAMESPACE = Column("NAMESPACE", _text("metadata", "namespace"))


def _all_conditions(body: Tree, _now: datetime) -> str:
    return ", ".join(f"{c.get('type')}={c.get('status')}" for c in mappings_at(body, "status", "conditions")) or "-"


def _placement_reason(body: Tree, _now: datetime) -> str:
    """What is wrong with it goes before how well it is satisfied."""
    wrong = condition(body, "PlacementMisconfigured")
    said = wrong if wrong.get("status") == "True" else condition(body, "PlacementSatisfied")
    return str(said.get("reason") or "-")


def _decided_clusters(body: Tree, _now: datetime) -> str:
    names = [str(entry.get("clusterName")) for entry in mappings_at(body, "status", "decisions")]
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown}, and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown or "-"


def _set_selector(body: Tree, _now: datetime) -> str:
    return str(dig(body, "spec", "clusterSelector", "selectorType") or "ExclusiveClusterSetLabel")


def _set_members(body: Tree, _now: datetime) -> str:
    members = members_told(condition(body, "ClusterSetEmpty").get("message"))
    return "-" if members is None else str(members)


def _reported_on(body: Tree, _now: datetime) -> str:
    spec = _report(body)
    return f"{dig(spec, 'resource', 'kind') or '-'}/{dig(spec, 'resource', 'name') or '-'}"


def _report(body: Tree) -> Tree:
    """What the adapter says; of a report that cannot be read, what counted before."""
    return dig(body, "spec") or dig(body, "status", "muster", "accepted")


def _adapter(body: Tree, _now: datetime) -> str:
    return str(dig(_report(body), "adapter") or "-")


def _available(*path: str) -> Callable[[Tree, datetime], str]:
    """The `Available` of a report's payload."""

    def cell(body: Tree, _now: datetime) -> str:
        found = (c.get("status") for c in mappings_at(body, *path, "conditions") if c.get("type") == "Available")
        return str(next(found, "-"))

    return cell


def _once_accepted(cell: Callable[[Tree, datetime], str]) -> Callable[[Tree, datetime], str]:
    """What is claimed of a cluster only once it was let in: until then nobody vouches for what its agent says."""
    return lambda body, now: cell(body, now) if condition(body, ACCEPTED) else "-"


def _age(*path: str) -> Callable[[Tree, datetime], str]:
    def cell(body: Tree, now: datetime) -> str:
        moment = try_time(dig(body, *path))
        return "-" if moment is None else age(moment, now)

    return cell


def _counting(body: Tree, now: datetime) -> str:
    """What counts of an adapter: `True@3, 5m ago`."""
    accepted = ("status", "muster", "accepted")
    generation = dig(body, *accepted, "observed_generation")
    if generation is None:
        return "-"
    return f"{_available(*accepted)(body, now)}@{generation}, {_age(*accepted, 'observed_time')(body, now)} ago"


_MOST_NAMES = 5


def _bucket(*names: str) -> Callable[[Tree, datetime], str]:
    """How many clusters of a pool stand in these buckets, as the last pass counted them."""

    def cell(body: Tree, _now: datetime) -> str:
        counts = mapping_at(body, "status", "muster", "buckets")
        return str(sum(number for name in names if isinstance(number := counts.get(name), int)))

    return cell


def _pool_note(body: Tree, _now: datetime) -> str:
    """What stands in a pool's way, in its conditions' reasons."""
    bad = {"CapacityAvailable": "False", "MissingDependencies": "True", "AllClustersCurrent": "False",
           "InventoryValid": "False", "DeletionPossible": "False", "ReplacementHeld": "True"}  # fmt: skip
    return (
        ", ".join(
            str(condition(body, t).get("reason")) for t, s in bad.items() if condition(body, t).get("status") == s
        )
        or "-"
    )


def _claim_state(body: Tree, _now: datetime) -> str:
    """Pending, or what the cluster does."""
    if dig(body, "metadata", "deletionTimestamp") is not None:
        return "Ended"
    if not dig(body, "spec", "namespace"):
        return "Waiting"
    return str(condition(body, "ClusterRunning").get("reason") or condition(body, "Pending").get("reason") or "-")


def _why(body: Tree, _now: datetime) -> str:
    """Why a cluster of a pool is broken, or is not assigned though it runs."""
    broken, assignable = condition(body, "Broken"), condition(body, "Assignable")
    found = broken if broken.get("status") == "True" else assignable if assignable.get("status") != "True" else {}
    return str(found.get("reason") or "-")


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "ManagedCluster": (
        _NAME,
        Column("ACCEPTED", _accepted),
        Column("AVAILABLE", _once_accepted(_status(_AVAILABLE))),
        Column("SINCE", _once_accepted(_since(_AVAILABLE))),
        Column("TAINTS", _taints),
        Column("REASON", _once_accepted(_reason(_AVAILABLE))),
    ),
    "Cluster": (
        _NAME,
        Column("READY", _status("Ready")),
        Column("SINCE", _since("Ready")),
        Column("TAINTS", _taints),
        Column("REMEDIES", _texts("status", "remedyActions")),
        Column("REASON", _reason("Ready")),
    ),
    "Placement": (
        _NAMESPACE,
        _NAME,
        Column("WANTED", _text("spec", "numberOfClusters")),
        Column("SELECTED", _text("status", "numberOfSelectedClusters")),
        Column("SATISFIED", _status("PlacementSatisfied")),
        Column("REASON", _placement_reason),
    ),
    "PlacementDecision": (
        _NAMESPACE,
        _NAME,
        Column("GROUP", _text("metadata", "labels", "cluster.open-cluster-management.io/decision-group-name")),
        Column("CLUSTERS", _decided_clusters),
    ),
    "ManagedClusterSet": (
        _NAME,
        Column("SELECTOR", _set_selector),
        Column("EMPTY", _status("ClusterSetEmpty")),
        Column("MEMBERS", _set_members),
    ),
    "ManagedClusterSetBinding": (
        _NAMESPACE,
        _NAME,
        Column("SET", _text("spec", "clusterSet")),
        Column("BOUND", _status("Bound")),
    ),
    "AdapterReport": (
        Column("OBJECT", _reported_on),
        Column("ADAPTER", _adapter),
        Column("GENERATION", _text("spec", "observed_generation")),
        Column("AVAILABLE", _available("spec")),
        Column("OBSERVED", _age("spec", "observed_time")),
        Column("ACCEPTED", _status("Accepted")),
        Column("REASON", _reason("Accepted")),
        Column("COUNTS", _counting),
    ),
    "NodePool": (
        _NAMESPACE,
        _NAME,
        Column("GENERATION", _text("metadata", "generation")),
        Column("READY", _status("Ready", "Reconciled")),
        Column("AVAILABLE", _status("Available", "LastKnownReconciled")),
        Column("SINCE", _since("Ready", "Reconciled")),
        Column("REASON", _reason("Ready", "Reconciled")),
    ),
    "ClusterPool": (
        _NAMESPACE,
        _NAME,
        Column("SIZE", _text("spec", "size")),
        Column("READY", _bucket("assignable")),
        Column("STANDBY", _bucket("standby")),
        Column("RESUMING", _bucket("resuming")),
        Column("HIBERNATING", _bucket("hibernating")),
        Column("INSTALLING", _bucket("installing")),
        Column("BROKEN", _bucket("broken")),
        Column("DELETING", _bucket("deleting", "marked")),
        Column("CLAIMED", _bucket("claimed")),
        Column("NOTE", _pool_note),
    ),
    "ClusterClaim": (
        _NAMESPACE,
        _NAME,
        Column("POOL", _text("spec", "clusterPoolName")),
        Column("CLUSTER", _text("spec", "namespace")),
        Column("STATE", _claim_state),
        Column("SINCE", _since("Pending")),
        Column("LIFETIME", _text("status", "lifetime")),
    ),
    "ClusterDeployment": (
        _NAME,
        Column("POOL", _text("spec", "clusterPoolRef", "poolName")),
        Column("BUCKET", _text("status", "muster", "bucket")),
        Column("WANTED", _text("spec", "powerState")),
        Column("POWER", _text("status", "powerState")),
        Column("CLAIM", _text("spec", "clusterPoolRef", "claimName")),
        Column("WHY", _why),
    ),
    "MultiClusterIngress": (
        _NAMESPACE,
        _NAME,
        Column("SERVICES", _services),
        Column("BLOCKED", _texts("status", "trafficBlockClusters")),
    ),
    "Remedy": (_NAME, Column("CLUSTERS", _affinity), Column("ACTIONS", _texts("spec", "actions"))),
    "Fleet": (
        _NAME,
        Column("HELD", _status("DisruptionHeld")),
        Column("SINCE", _since("DisruptionHeld")),
        Column("OBSERVER SUSPECT", _status("ObserverSuspect")),
        Column("REMOVAL HELD", _status("RemovalHeld")),
        Column("REASON", _reason("DisruptionHeld")),
    ),
    "DisruptionBudget": (
        _NAME,
        Column("MAX", _text("spec", "maxDisrupted")),
        Column("MAX REMOVED", _text("spec", "maxRemoved")),
        Column("COOLDOWN", _text("spec", "cooldown")),
    ),
    "Lease": (_NAMESPACE, _NAME, Column("RENEWED", _renewed)),
}


def held_effects(body: Tree) -> list[str]:
    """What budgets hold back on an object, each without the domain of its name: `taint unreachable:NoSelect`."""
    return [short_label(str(entry.get("effect"))) for entry in mappings_at(body, "status", "muster", "held")]


def short_label(label: str) -> str:
    """`taint unreachable:NoSelect`: an effect or a fact without the domain of its name, for tables are narrow."""
    sort, _, name = label.partition(" ")
    return f"{sort} {name.rpartition('/')[2]}".rstrip()


#: Shown of any kind, where anything is held.
_HELD = Column("HELD", lambda body, _now: ", ".join(held_effects(body)) or "-")


def columns_of(kind: str, *, namespaced: bool) -> tuple[Column, ...]:
    """Return the columns of a kind."""
    default = (*((_NAMESPACE,) if namespaced else ()), _NAME, Column("CONDITIONS", _all_conditions))
    return COLUMNS.get(kind, default)


def rows(kind: str, bodies: list[Tree], now: datetime, *, namespaced: bool) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows for objects of one kind; what is held on any of them has a column of its own."""
    held = (_HELD,) if any(held_effects(body) for body in bodies) else ()
    columns = (*columns_of(kind, namespaced=namespaced), *held)
    return [c.header for c in columns], [[c.cell(body, now) for c in columns] for body in bodies]
