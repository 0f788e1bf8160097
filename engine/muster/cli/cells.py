"""What stands in the cells of tables: how each is read from an assembled object at an instant, in a few words."""

from collections.abc import Callable
from datetime import datetime

from muster.data.kinds import ACCEPTED
from muster.data.times import age, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.fleet.clusters import parse_members

_MOST_NAMES = 5


def text(*path: str) -> Callable[[Tree, datetime], str]:
    """What stands in a field."""

    def cell(body: Tree, _now: datetime) -> str:
        value = dig(body, *path)
        return "-" if value is None else str(value)

    return cell


def texts(*path: str) -> Callable[[Tree, datetime], str]:
    """The texts of a list, with commas."""

    def cell(body: Tree, _now: datetime) -> str:
        value = dig(body, *path)
        return ", ".join(map(str, value)) if isinstance(value, list) and value else "-"

    return cell


def services(body: Tree, _now: datetime) -> str:
    """Services with the number of clusters that serve them: `shop (3)`."""
    located = mappings_at(body, "status", "serviceLocations")
    return ", ".join(f"{entry.get('name')} ({len(entry.get('clusters') or ())})" for entry in located) or "-"


def affinity(body: Tree, _now: datetime) -> str:
    """The clusters that a Remedy names; all where it names none."""
    names = dig(body, "spec", "clusterAffinity", "clusterNames")
    return ", ".join(map(str, names)) if isinstance(names, list) and names else "all"


def condition(body: Tree, type_: str) -> Tree:
    """The condition of a type; an empty mapping where there is none."""
    return next((c for c in mappings_at(body, "status", "conditions") if c.get("type") == type_), {})


def _either(body: Tree, types: tuple[str, ...]) -> Tree:
    """The first condition that is there of those that are one in different vocabularies."""
    return next((found for type_ in types if (found := condition(body, type_))), {})


def status(*types: str) -> Callable[[Tree, datetime], str]:
    """The status of a condition, by any of the names that it goes by."""
    return lambda body, _now: str(_either(body, types).get("status", "-"))


def reason(*types: str) -> Callable[[Tree, datetime], str]:
    """The reason of a condition, likewise."""
    return lambda body, _now: str(_either(body, types).get("reason") or "-")


def since(*types: str) -> Callable[[Tree, datetime], str]:
    """For how long a condition has had its status, likewise."""

    def cell(body: Tree, now: datetime) -> str:
        moment = try_time(_either(body, types).get("lastTransitionTime"))
        return "-" if moment is None else age(moment, now)

    return cell


def taints(body: Tree, _now: datetime) -> str:
    """Taints as people write them."""
    return ", ".join(_taint_text(taint) for taint in mappings_at(body, "spec", "taints")) or "-"


def _taint_text(taint: Tree) -> str:
    """`unreachable:NoSelect`: a taint without its key's domain."""
    key = str(taint.get("key", "")).rpartition("/")[2]
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{key}{value}:{taint.get('effect', '')}"


def accepted(body: Tree, _now: datetime) -> str:
    """Whether the hub accepts a cluster."""
    status = condition(body, ACCEPTED).get("status")
    return {"True": "yes", "False": "denied"}.get(str(status), "no")


def renewed(body: Tree, now: datetime) -> str:
    """How long ago a Lease was renewed."""
    moment = try_time(dig(body, "spec", "renewTime"))
    return "never" if moment is None else age(moment, now)


def all_conditions(body: Tree, _now: datetime) -> str:
    """Every condition, with its status."""
    return ", ".join(f"{c.get('type')}={c.get('status')}" for c in mappings_at(body, "status", "conditions")) or "-"


def placement_reason(body: Tree, _now: datetime) -> str:
    """What is wrong with it goes before how well it is satisfied."""
    wrong = condition(body, "PlacementMisconfigured")
    said = wrong if wrong.get("status") == "True" else condition(body, "PlacementSatisfied")
    return str(said.get("reason") or "-")


def decided_clusters(body: Tree, _now: datetime) -> str:
    """The first clusters of a PlacementDecision, and how many more there are."""
    names = [str(entry.get("clusterName")) for entry in mappings_at(body, "status", "decisions")]
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown}, and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown or "-"


def set_selector(body: Tree, _now: datetime) -> str:
    """How a set selects its clusters."""
    return str(dig(body, "spec", "clusterSelector", "selectorType") or "ExclusiveClusterSetLabel")


def set_members(body: Tree, _now: datetime) -> str:
    """How many clusters a set has."""
    members = parse_members(condition(body, "ClusterSetEmpty").get("message"))
    return "-" if members is None else str(members)


def reported_on(body: Tree, _now: datetime) -> str:
    """What an adapter reports on."""
    spec = _report(body)
    return f"{dig(spec, 'resource', 'kind') or '-'}/{dig(spec, 'resource', 'name') or '-'}"


def _report(body: Tree) -> Tree:
    """What the adapter says; of a report that cannot be read, what counted before."""
    return dig(body, "spec") or dig(body, "status", "muster", "accepted")


def adapter(body: Tree, _now: datetime) -> str:
    """Which adapter it is."""
    return str(dig(_report(body), "adapter") or "-")


def available(*path: str) -> Callable[[Tree, datetime], str]:
    """The `Available` of a report's payload."""

    def cell(body: Tree, _now: datetime) -> str:
        found = (c.get("status") for c in mappings_at(body, *path, "conditions") if c.get("type") == "Available")
        return str(next(found, "-"))

    return cell


def once_accepted(cell: Callable[[Tree, datetime], str]) -> Callable[[Tree, datetime], str]:
    """What is claimed of a cluster only once it was let in: until then nobody vouches for what its agent says."""
    return lambda body, now: cell(body, now) if condition(body, ACCEPTED) else "-"


def age_of(*path: str) -> Callable[[Tree, datetime], str]:
    """How long ago an instant was."""

    def cell(body: Tree, now: datetime) -> str:
        moment = try_time(dig(body, *path))
        return "-" if moment is None else age(moment, now)

    return cell


def counting(body: Tree, now: datetime) -> str:
    """What counts of an adapter: `True@3, 5m ago`."""
    accepted = ("status", "muster", "accepted")
    generation = dig(body, *accepted, "observed_generation")
    if generation is None:
        return "-"
    return f"{available(*accepted)(body, now)}@{generation}, {age_of(*accepted, 'observed_time')(body, now)} ago"


def bucket(*names: str) -> Callable[[Tree, datetime], str]:
    """How many clusters of a pool stand in these buckets, as the last pass counted them."""

    def cell(body: Tree, _now: datetime) -> str:
        counts = mapping_at(body, "status", "muster", "buckets")
        return str(sum(number for name in names if isinstance(number := counts.get(name), int)))

    return cell


def pool_note(body: Tree, _now: datetime) -> str:
    """What stands in a pool's way, in its conditions' reasons."""
    bad = {"CapacityAvailable": "False", "MissingDependencies": "True", "AllClustersCurrent": "False",
           "InventoryValid": "False", "DeletionPossible": "False", "ReplacementHeld": "True"}  # fmt: skip
    return (
        ", ".join(
            str(condition(body, t).get("reason")) for t, s in bad.items() if condition(body, t).get("status") == s
        )
        or "-"
    )


def claim_state(body: Tree, _now: datetime) -> str:
    """Pending, or what the cluster does."""
    if dig(body, "metadata", "deletionTimestamp") is not None:
        return "Ended"
    if not dig(body, "spec", "namespace"):
        return "Waiting"
    return str(condition(body, "ClusterRunning").get("reason") or condition(body, "Pending").get("reason") or "-")


def why(body: Tree, _now: datetime) -> str:
    """Why a cluster of a pool is broken, or is not assigned though it runs."""
    broken, assignable = condition(body, "Broken"), condition(body, "Assignable")
    found = broken if broken.get("status") == "True" else assignable if assignable.get("status") != "True" else {}
    return str(found.get("reason") or "-")


def held_effects(body: Tree) -> list[str]:
    """What budgets hold back on an object, each without the domain of its name: `taint unreachable:NoSelect`."""
    return [short_label(str(entry.get("effect"))) for entry in mappings_at(body, "status", "muster", "held")]


def short_label(label: str) -> str:
    """`taint unreachable:NoSelect`: an effect or a fact without the domain of its name, for tables are narrow."""
    sort, _, name = label.partition(" ")
    return f"{sort} {name.rpartition('/')[2]}".rstrip()
