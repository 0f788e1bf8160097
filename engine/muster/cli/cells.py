"""The cells of tables: each function returns a short text about an assembled object at an instant."""

from collections.abc import Callable
from datetime import datetime

from muster.data.kinds import ACCEPTED, CALENDAR, MANAGED_CLUSTER, Kind
from muster.data.times import age, ago, format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.fleet.approvals import CERTIFICATE
from muster.fleet.clusters import ClusterState, parse_members
from muster.fleet.objects import Object, by_type
from muster.rules.policies.csr import issued_certificate


def text(*path: str) -> Callable[[Tree, datetime], str]:
    """A cell with the value of a field."""

    def cell(body: Tree, _now: datetime) -> str:
        value = dig(body, *path)
        return "-" if value is None or value == "" else str(value)

    return cell


def texts(*path: str) -> Callable[[Tree, datetime], str]:
    """A cell with the texts of a list, separated by commas."""

    def cell(body: Tree, _now: datetime) -> str:
        value = dig(body, *path)
        return ", ".join(map(str, value)) if isinstance(value, list) and value else "-"

    return cell


def each(field: str, *path: str) -> Callable[[Tree, datetime], str]:
    """A cell with one field of each entry of a list, separated by commas."""

    def cell(body: Tree, _now: datetime) -> str:
        return ", ".join(str(entry[field]) for entry in mappings_at(body, *path) if field in entry) or "-"

    return cell


def count(*path: str) -> Callable[[Tree, datetime], str]:
    """A cell with the number of a list's entries."""
    return lambda body, _now: str(len(dig(body, *path) or ()))


def wanted_clusters(body: Tree, _now: datetime) -> str:
    """How many clusters a Placement is to choose."""
    wanted = dig(body, "spec", "numberOfClusters")
    return "all" if wanted is None else str(wanted)


def rollouts(body: Tree, _now: datetime) -> str:
    """The revisions of a cluster: `shop/web v2.4.1 Succeeded`."""
    entries = mapping_at(body, "status", "muster", "rollouts")
    return (
        ", ".join(f"{name} {entry.get('revision')} {entry.get('state')}" for name, entry in sorted(entries.items()))
        or "-"
    )


def target(body: Tree, _now: datetime) -> str:
    """The kinds of objects that a policy is about."""
    spec_target = mapping_at(body, "spec", "target")
    return ", ".join(map(str, spec_target.get("kinds") or filter(None, [spec_target.get("kind")]))) or "-"


def policy_taints(body: Tree, _now: datetime) -> str:
    """The taints that a policy sets: `key:effect`."""
    taints = mappings_at(body, "spec", "taints")
    return ", ".join(f"{str(taint.get('key')).rpartition('/')[2]}:{taint.get('effect')}" for taint in taints) or "-"


def scores(body: Tree, _now: datetime) -> str:
    """The scores of an AddOnPlacementScore: `cpu=40, cost=-3`."""
    entries = mappings_at(body, "status", "scores")
    return ", ".join(f"{score.get('name')}={score.get('value')}" for score in entries) or "-"


def parameter_kind(body: Tree, _now: datetime) -> str:
    """The parameters' kind of a ValidatingAdmissionPolicy, as kubectl shows it: `v1/ConfigMap`."""
    kind = mapping_at(body, "spec", "paramKind")
    return f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else "<unset>"


def parameters(body: Tree, _now: datetime) -> str:
    """The parameters of a ValidatingAdmissionPolicyBinding, as kubectl shows them: `namespace/name`."""
    reference = mapping_at(body, "spec", "paramRef")
    if not reference:
        return "<unset>"
    return f"{reference.get('namespace') or '*'}/{reference.get('name') or '*'}"


def approved(body: Tree, _now: datetime) -> str:
    """The effects that an Approval lets through: `deletion of ClusterDeployment/ci-1/ci-1`."""
    effects = mappings_at(body, "spec", "effects")
    return ", ".join(f"{entry.get('effect')} of {entry.get('object')}" for entry in effects) or "-"


def for_each(body: Tree, _now: datetime) -> str:
    """What a Projection writes a file for: `cluster`, `placement shop/web`."""
    value = dig(body, "spec", "forEach")
    if isinstance(value, dict):
        return ", ".join(f"{source} {name}" for source, name in value.items())
    return str(value or "-")


def endpoints(body: Tree, _now: datetime) -> str:
    """The addresses of an EndpointSlice."""
    return (
        ", ".join(str(address) for entry in mappings_at(body, "endpoints") for address in entry.get("addresses") or ())
        or "-"
    )


def services(body: Tree, _now: datetime) -> str:
    """Services with the number of their clusters: `shop (3)`."""
    located = mappings_at(body, "status", "serviceLocations")
    return ", ".join(f"{entry.get('name')} ({len(entry.get('clusters') or ())})" for entry in located) or "-"


def affinity(body: Tree, _now: datetime) -> str:
    """The clusters that a Remedy names; `all` if it names none."""
    names = dig(body, "spec", "clusterAffinity", "clusterNames")
    return ", ".join(map(str, names)) if isinstance(names, list) and names else "all"


def condition(body: Tree, type_: str) -> Tree:
    """Return the condition of a type; an empty mapping if there is none."""
    return next((c for c in mappings_at(body, "status", "conditions") if c.get("type") == type_), {})


def _first_present(body: Tree, types: tuple[str, ...]) -> Tree:
    """The first present condition of types that mean the same in different vocabularies."""
    return next((present for type_ in types if (present := condition(body, type_))), {})


def status(*types: str) -> Callable[[Tree, datetime], str]:
    """A cell with the status of a condition that has one of these types."""
    return lambda body, _now: str(_first_present(body, types).get("status", "-"))


def reason(*types: str) -> Callable[[Tree, datetime], str]:
    """A cell with the reason of such a condition."""
    return lambda body, _now: str(_first_present(body, types).get("reason") or "-")


def message(type_: str) -> Callable[[Tree, datetime], str]:
    """A cell with the message of a condition."""
    return lambda body, _now: str(condition(body, type_).get("message") or "-")


def rolled_out(body: Tree, _now: datetime) -> str:
    """How many clusters of a Rollout have its revision: `12/40`, or `12/40, 2 in no stage`."""
    stages = mappings_at(body, "status", "stages")
    total = sum(stage.get("clusters", 0) for stage in stages)
    skipped = dig(body, "status", "skipped")
    outside = f", {skipped} in no stage" if skipped else ""
    return f"{total - sum(stage.get('ToApply', 0) for stage in stages)}/{total}{outside}" if stages else "-"


def worked(body: Tree, _now: datetime) -> str:
    """How far a set of works is: `12/40 at abc123, 2 soaking until 2026-01-01T14:05:00Z`."""
    progress = dig(body, "status", "muster", "rollout")
    if not isinstance(progress, dict):
        return "-"
    text = f"{progress['done']}/{progress['selected']} at {str(progress['revision'])[:6]}"
    if progress.get("soaking"):
        text += f", {progress['soaking']} soaking until {progress['until']}"
    failed = progress.get("failed") or ()
    return f"{text}, {len(failed)} failed" if failed else text


def calendar(column: str) -> Callable[[Tree, datetime], str]:
    """A cell of a Calendar: `open` or `closed`, `until` when, or `why` it is closed."""

    def cell(body: Tree, now: datetime) -> str:
        from muster.rules.calendars.calendar import compile_calendar  # few tables have Calendars

        compiled, _ = compile_calendar(Object(CALENDAR.id(str(dig(body, "metadata", "name"))), body, ()))
        if compiled is None:
            return "-"
        if column == "state":
            return "open" if compiled.is_open(now) else "closed"
        if column == "until":
            return format_time(at) if (at := compiled.next_change(now)) is not None else "-"
        return "-" if compiled.is_open(now) else compiled.why_closed(now)

    return cell


def since(*types: str) -> Callable[[Tree, datetime], str]:
    """A cell with the time since the last transition of such a condition."""

    def cell(body: Tree, now: datetime) -> str:
        moment = try_time(_first_present(body, types).get("lastTransitionTime"))
        return "-" if moment is None else age(moment, now)

    return cell


def taints(body: Tree, _now: datetime) -> str:
    """The taints of a cluster, separated by commas."""
    return ", ".join(_taint_text(taint) for taint in mappings_at(body, "spec", "taints")) or "-"


def _taint_text(taint: Tree) -> str:
    """`unreachable:NoSelect`: a taint without the domain of its key."""
    key = str(taint.get("key", "")).rpartition("/")[2]
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{key}{value}:{taint.get('effect', '')}"


def cluster_field(kind: Kind, field: str) -> Callable[[Tree, datetime], str]:
    """A cell with a field of `ClusterState`. Until the cluster is accepted or denied, all but `accepted` are empty:
    before that, nobody vouches for what its agent reports."""

    def cell(body: Tree, now: datetime) -> str:
        state = ClusterState.of(kind, by_type(mappings_at(body, "status", "conditions")))
        if kind is MANAGED_CLUSTER and not condition(body, ACCEPTED) and field != "accepted":
            return "-"
        text = getattr(state, field)
        if field == "since":
            moment = try_time(text)
            return "-" if moment is None else age(moment, now)
        return text or "-"

    return cell


def renewed(body: Tree, now: datetime) -> str:
    """The time since a Lease was renewed."""
    moment = try_time(dig(body, "spec", "renewTime"))
    return "never" if moment is None else age(moment, now)


def all_conditions(body: Tree, _now: datetime) -> str:
    """All conditions with their status."""
    return ", ".join(f"{c.get('type')}={c.get('status')}" for c in mappings_at(body, "status", "conditions")) or "-"


def placement_reason(body: Tree, _now: datetime) -> str:
    """Why a Placement is misconfigured; else why it is satisfied or not."""
    wrong = condition(body, "PlacementMisconfigured")
    condition_shown = wrong if wrong.get("status") == "True" else condition(body, "PlacementSatisfied")
    return str(condition_shown.get("reason") or "-")


def decided_clusters(body: Tree, _now: datetime) -> str:
    """The clusters of a PlacementDecision."""
    names = [str(entry.get("clusterName")) for entry in mappings_at(body, "status", "decisions")]
    names += [str(dig(entry, "clusterProfileRef", "name")) for entry in mappings_at(body, "decisions")]
    return ", ".join(names) or "-"


def set_selector(body: Tree, _now: datetime) -> str:
    """How a set selects its clusters."""
    return str(dig(body, "spec", "clusterSelector", "selectorType") or "ExclusiveClusterSetLabel")


def set_members(body: Tree, _now: datetime) -> str:
    """The number of clusters in a set."""
    members = parse_members(condition(body, "ClusterSetEmpty").get("message"))
    return "-" if members is None else str(members)


def reported_on(body: Tree, _now: datetime) -> str:
    """The object that an adapter reports on: `ManagedCluster/prod-eu-1`, `NodePool/prod-eu-1/gpu`."""
    kind, name = (str(dig(_report(body), "resource", key) or "-") for key in ("kind", "name"))
    cluster = dig(body, "metadata", "namespace")
    return "/".join((kind, *((str(cluster),) if cluster and cluster != name else ()), name))


def _report(body: Tree) -> Tree:
    """The spec of a report; if it cannot be read, the last accepted one."""
    return dig(body, "spec") or dig(body, "status", "muster", "accepted")


def adapter(body: Tree, _now: datetime) -> str:
    """The name of the adapter."""
    return str(dig(_report(body), "adapter") or "-")


def available(*path: str) -> Callable[[Tree, datetime], str]:
    """A cell with the `Available` of a report's payload."""

    def cell(body: Tree, _now: datetime) -> str:
        statuses = (c.get("status") for c in mappings_at(body, *path, "conditions") if c.get("type") == "Available")
        return str(next(statuses, "-"))

    return cell


def age_of(*path: str) -> Callable[[Tree, datetime], str]:
    """A cell with the time since the instant in a field."""

    def cell(body: Tree, now: datetime) -> str:
        moment = try_time(dig(body, *path))
        return "-" if moment is None else age(moment, now)

    return cell


def counting(body: Tree, now: datetime) -> str:
    """The accepted report of an adapter: `True@3, 5m ago`."""
    accepted = ("status", "muster", "accepted")
    generation = dig(body, *accepted, "observed_generation")
    if generation is None:
        return "-"
    return f"{available(*accepted)(body, now)}@{generation}, {age_of(*accepted, 'observed_time')(body, now)} ago"


def bucket(*names: str) -> Callable[[Tree, datetime], str]:
    """A cell with the number of a pool's clusters in these buckets, as of the last pass."""

    def cell(body: Tree, _now: datetime) -> str:
        counts = mapping_at(body, "status", "muster", "buckets")
        return str(sum(number for name in names if isinstance(number := counts.get(name), int)))

    return cell


def pool_note(body: Tree, _now: datetime) -> str:
    """The problems of a pool, as the reasons of its conditions."""
    bad = {
        "CapacityAvailable": "False",
        "MissingDependencies": "True",
        "AllClustersCurrent": "False",
        "InventoryValid": "False",
        "DeletionPossible": "False",
        "ReplacementHeld": "True",
    }
    return (
        ", ".join(
            str(condition(body, t).get("reason")) for t, s in bad.items() if condition(body, t).get("status") == s
        )
        or "-"
    )


def request_state(body: Tree, _now: datetime) -> str:
    """How far a certificate request is."""
    if dig(body, *CERTIFICATE) is not None:
        return "Issued"
    return next(
        (state for state in ("Denied", "Approved") if condition(body, state).get("status") == "True"), "Waiting"
    )


def certificate_end(body: Tree, now: datetime) -> str:
    """When the certificate ends: `in 12d3h`, `2d ago`."""
    issued = issued_certificate(body)
    if issued is None:
        return "-"
    return ago(issued.end, now)


def certificate_user(body: Tree, _now: datetime) -> str:
    """Who the certificate is for."""
    issued = issued_certificate(body)
    return issued.user if issued else "-"


def claim_state(body: Tree, _now: datetime) -> str:
    """The state of a claim: pending, or the state of its cluster."""
    if dig(body, "metadata", "deletionTimestamp") is not None:
        return "Ended"
    if not dig(body, "spec", "namespace"):
        return "Waiting"
    return str(condition(body, "ClusterRunning").get("reason") or condition(body, "Pending").get("reason") or "-")


def why(body: Tree, _now: datetime) -> str:
    """Why a pool's cluster is broken, or is not assigned although it runs."""
    broken, assignable = condition(body, "Broken"), condition(body, "Assignable")
    telling = broken if broken.get("status") == "True" else assignable if assignable.get("status") != "True" else {}
    return str(telling.get("reason") or "-")


def held_effects(body: Tree) -> list[str]:
    """Return the held effects of an object, each without the domain of its name: `taint unreachable:NoSelect`."""
    return [short_label(str(entry.get("effect"))) for entry in mappings_at(body, "status", "muster", "held")]


def short_label(label: str) -> str:
    """Return an effect or a fact without the domain of its name, for narrow tables: `taint unreachable:NoSelect`."""
    sort, _, name = label.partition(" ")
    return f"{sort} {name.rpartition('/')[2]}".rstrip()
