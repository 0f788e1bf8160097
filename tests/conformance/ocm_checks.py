"""How each thing that a case of Open Cluster Management asserts is compared with what muster decided."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import muster
from muster.data.codes import Severity
from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME, CSR, LEASE, MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION
from muster.data.times import format_time, parse_time
from muster.rules.placements.reasons import Why, why
from tests.conformance.ocm_repository import AVAILABLE, HUB_CONDITIONS, CaseFleet, by_label
from tests.conformance.reading import Doubt, unknown_keys

Json = Any
Problem = tuple[Json, Json]
Check = Callable[[Json, CaseFleet, muster.Run], Iterator[Problem]]

_PLACEMENT = "cluster.open-cluster-management.io/placement"
_GROUP = "cluster.open-cluster-management.io/decision-group-"


def _error(expected: bool, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """Controllers are handed what no API server would let through, too: what a schema refuses is no error of theirs."""
    errors = [finding for finding in run.findings if finding.severity is Severity.ERROR]
    if not expected and not fleet.area.startswith("webhook-"):
        errors = [finding for finding in errors if not finding.code.startswith("MUS2")]
    if expected != bool(errors):
        yield "an error" if expected else "no error", [str(found.message) for found in errors] or "no error"


#: The types of conditions that the controller of an area writes; of admission none is its own.
_WRITTEN: Mapping[str, frozenset[str]] = {
    "lease": frozenset({AVAILABLE}),
    "clock-sync": frozenset({"ManagedClusterConditionClockSynced"}),
    "taint": frozenset(),
    "agent-status": frozenset({AVAILABLE}),
    "acceptance": frozenset({"HubAcceptedManagedCluster"}),
    "cluster-deletion": frozenset({"Deleting"}),
    "csr-approve": frozenset({"Approved"}),
    "clusterset": frozenset({"ClusterSetEmpty"}),
    "clustersetbinding": frozenset({"Bound"}),
    "default-clusterset": frozenset(),
    "placement": frozenset({"PlacementSatisfied", "PlacementMisconfigured"}),
}
#: What one of an agent's reconcilers writes, by the beginning of its name.
_RECONCILERS: Mapping[str, frozenset[str]] = {
    "join": frozenset({"ManagedClusterJoined"}),
    "available": frozenset({AVAILABLE}),
    "resource": frozenset(),
    "claim": frozenset(),
    "managed": frozenset(),
}
_ALL = frozenset().union(*_WRITTEN.values()) | HUB_CONDITIONS


def _types(fleet: CaseFleet) -> frozenset[str]:
    """The types of conditions that what the case runs writes."""
    name = str(fleet.given.get("reconciler") or "").lower()
    alone = next((types for word, types in _RECONCILERS.items() if name.startswith(word)), None)
    area = "placement" if fleet.area.startswith("placement-") else fleet.area
    return _WRITTEN.get(area, _ALL) if alone is None or area != "agent-status" else alone


def _changed(expected: bool, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """Whether anything that the hub controller of the area writes of the case's objects is another than before.

    Where a case expects objects of a live hub to be written, too, that may be all there is to it.
    """
    objects = by_label(run)
    types = _types(fleet)
    labels = [(b["kind"], b["metadata"].get("namespace", ""), b["metadata"]["name"]) for b in fleet.known]
    pairs = [
        (_written(body, types, fleet.area), _written(objects.get(label, {}), types, fleet.area))
        for body, label in zip(fleet.known, labels, strict=True)
    ]
    wrote = [pair for pair in pairs if pair[0] != pair[1]]
    given = {body["metadata"]["name"]: body["metadata"].get("finalizers", []) for body in fleet.known}
    expect = fleet.case["expect"]
    waiting = [name for name, left in (expect.get("finalizers") or {}).items() if left != given.get(name, [])]
    new = [c for c in expect.get("conditions") or () if c.get("lastTransitionTime") == fleet.given["now"]]
    beside = waiting or new or any(expect.get(key) for key in ("creates", "deletes", "annotations", "spec"))
    if wrote and not expected:
        yield wrote[0]
    elif expected and not wrote and not beside and fleet.area not in ("acceptance", "cluster-deletion"):
        yield "something is written", [after for _, after in pairs]
    elif not expected and (waiting or new or expect.get("creates") or expect.get("deletes")):
        yield "nothing is written", "the case says otherwise itself"


def _written(body: Json, types: frozenset[str] | set[str], area: str) -> Json:
    """What hub controllers of an area write on an object."""
    conditions = body.get("status", {}).get("conditions", [])
    fields = ("status", "lastTransitionTime", "reason", "message") if area == "clusterset" else _MOVES
    said = {c["type"]: [c.get(field) for field in fields] for c in conditions if c["type"] in types}
    taints = sorted(map(_taint, body.get("spec", {}).get("taints") or ())) if area == "taint" else []
    return said, taints


_MOVES = ("status", "lastTransitionTime")

#: Events that hub controllers and agents tell, and the status of availability that each tells of.
_EVENTS: Mapping[str, str] = {"AvailableUnknown": "Unknown", "Available": "True", "Unavailable": "False"}


def _events(expected: list[Json], fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """An event tells of a transition, which is what a commit of muster is about: it is one of this run."""
    for event in expected:
        yield from unknown_keys(event, ("type", "reason", "regarding", "namespace"), "expect.events[]")
        if event["reason"] not in _EVENTS:
            yield event, Doubt(f"no transition is known to be told by an event {event['reason']}")
            continue
        status = _EVENTS[event["reason"]]
        kind, _, name = event["regarding"].partition(" ")
        body = by_label(run).get((kind, "", name), {})
        have: Json = next((c for c in body.get("status", {}).get("conditions", []) if c["type"] == AVAILABLE), {})
        is_new = have.get("status") == status and parse_time(have["lastTransitionTime"]) == fleet.now
        # The agent's two lie in its own namespace, and which type they have stands nowhere.
        wanted = {"type": "Warning", "namespace": name} if status == "Unknown" else {}
        if not is_new or any(event.get(key, value) != value for key, value in wanted.items()):
            yield event, have


#: What a cluster's finalizers may be: a file that is removed from git is gone, so none is waited for.
_FINALIZERS = frozenset(
    f"cluster.open-cluster-management.io/{name}"
    for name in ("api-resource-cleanup", "resource-cleanup", "manifest-work-cleanup")
)


def _finalizers(expected: Json, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """The objects are there, and what would be waited for is known."""
    for name, finalizers in expected.items():
        if stray := set(finalizers) - _FINALIZERS:
            yield {name: finalizers}, f"nothing is known to wait for {sorted(stray)}"
        if " " not in name and (MANAGED_CLUSTER.name, "", name) not in by_label(run):
            yield {name: finalizers}, f"no cluster {name}"


#: What a text of upstream's is about, and what our finding about it says.
_TEXTS: tuple[tuple[str, str], ...] = (
    (r".*(\burl\b|https?://).*", r"\burl\b"),
    (r".*\b(name|metadata\.name)\b.*", r"\bname\b"),
    (r".*\bselector\b.*", r"selector"),
)


def _error_contains(expected: str, _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """Upstream's text stands in a condition or finding, or there is a finding that is known to say as much."""
    said = [finding.message for finding in run.findings]
    said += [c.get("message", "") for body in run.objects for c in body.get("status", {}).get("conditions", [])]
    if any(expected in text for text in said):
        return
    about = next((ours for text, ours in _TEXTS if re.fullmatch(text, expected, re.IGNORECASE)), None)
    if about is None:
        yield expected, Doubt(f"no finding is known to say {expected!r}")
    elif not any(re.search(about, finding.message, re.IGNORECASE) for finding in run.findings):
        yield expected, said


def _asked(expected: bool, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """Upstream asks whether the requester may renew. Here nobody is asked, and an accepted cluster may: so the question
    is whether that made the difference."""
    if any(body["kind"] == MANAGED_CLUSTER.name for body in fleet.known):
        yield expected, Doubt("whether the requester's cluster is accepted is a matter of the case itself")
        return
    decided = [_is_approved(fleet.with_permission(allowed)) for allowed in (True, False)]
    if (decided[0] != decided[1]) != expected:
        yield f"permission asked for: {expected}", f"approved with and without: {decided}"


def _is_approved(fleet: CaseFleet) -> list[bool]:
    run, requests = fleet.run(), [body["metadata"]["name"] for body in fleet.known if body["kind"] == CSR.name]
    return [bool(run.fleet.now(CSR.id(name), "status", "conditions", ("Approved",))) for name in requests]


def _conditions(expected: list[Json], fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """What the area's controller writes. It runs alone upstream, so what others wrote is as it was given."""
    objects = by_label(run)
    given = {(b["kind"], b["metadata"].get("namespace", ""), b["metadata"]["name"]): b for b in fleet.known}
    for wanted in expected:
        label = (wanted["kind"], wanted.get("namespace", ""), wanted["name"])
        body = objects.get(label, {}) if _writes(fleet, wanted["type"]) else given.get(label, {})
        have = next((c for c in body.get("status", {}).get("conditions", []) if c["type"] == wanted["type"]), None)
        fields = {key: value for key, value in wanted.items() if key not in ("kind", "name", "namespace", "type")}
        if have is None:
            yield wanted, f"{wanted['name']} has no condition {wanted['type']}"
        elif any(not _same(key, value, have.get(key)) for key, value in fields.items()):
            yield {"type": wanted["type"], **fields}, {key: have.get(key) for key in ("type", *fields)}


def _writes(fleet: CaseFleet, type_: str) -> bool:
    """Whether the area's controller writes conditions of the type, or none that is known does."""
    return type_ in _types(fleet) or type_ not in _ALL


def _same(key: str, wanted: Json, have: Json) -> bool:
    if key == "message" and wanted and have and wanted != have:
        return any(
            (found := re.fullmatch(text, wanted)) and have.startswith(ours.format(*found.groups()))
            for text, ours in _REWORDED
        )
    if key == "lastTransitionTime" and wanted and have:
        return parse_time(wanted) == parse_time(have)
    return bool((wanted or "") == (have or ""))


_NOT_OK = r"(The kube-apiserver is not ok, status code: \d+, )"
#: Texts of upstream's libraries that have words of their own: how ours begins that says the same. cel-go shows the
#: expression and a mark under the place; client-go has a sentence for each code, and quotes what an API server said.
_REWORDED: tuple[tuple[str, str], ...] = (
    (
        (
            r"(.*compilation failed: )ERROR: <input>:(\d+:\d+): undeclared reference to '(\w+)' \(in container ''\)"
            r"\n \| [^\n]+\n \| \.*\^"
        ),
        "{0}{1}: undeclared name '{2}'",
    ),
    (rf'{_NOT_OK}an error on the server \("(.*)"\) has prevented the request from succeeding', "{0}{1}"),
    (rf"{_NOT_OK}the server (?:is currently|has asked|has received|was unable|could not|rejected) .*", "{0}"),
)


#: What else writes conditions on clusters and requests.
_AGENT_CONDITIONS = ("ManagedClusterJoined", "ManagedClusterImportSucceeded", "ClusterCertificateRotated", "Denied")


def _absent(expected: list[str], fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    objects = by_label(run)
    given = {c["type"] for body in fleet.known for c in body.get("status", {}).get("conditions") or ()}
    if stray := set(expected) - HUB_CONDITIONS - {AVAILABLE, *_AGENT_CONDITIONS} - given:
        yield f"no {sorted(stray)}", "no controller is known to write that"
    for body in fleet.known:
        label = (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])
        have = {c["type"] for c in objects.get(label, {}).get("status", {}).get("conditions", [])}
        before = {c["type"] for c in body.get("status", {}).get("conditions") or ()}
        have = {type_ for type_ in have if _writes(fleet, type_)} | {t for t in before if not _writes(fleet, t)}
        if unwanted := have & set(expected):
            yield f"no {sorted(unwanted)}", sorted(have)


def _taints(expected: list[Json], _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for entry in expected:
        yield from unknown_keys(entry, ("cluster", "taints"), "expect.taints[]")
        body = by_label(run)[MANAGED_CLUSTER.name, "", entry["cluster"]]
        yield from _equal_taints(entry["taints"], body)


def _equal_taints(expected: Json, body: Json) -> Iterator[Problem]:
    have = sorted(map(_taint, body.get("spec", {}).get("taints", [])))
    for taint in expected:
        yield from unknown_keys(taint, ("key", "value", "effect", "timeAdded"), "expect.taints[]")
    if sorted(map(_taint, expected)) != have:
        yield expected, have


def _taint(taint: Json) -> tuple[str, str, str, str]:
    added = taint.get("timeAdded")
    return taint["key"], taint.get("value") or "", taint["effect"], format_time(parse_time(added)) if added else ""


def _mutated(expected: Json, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    body = by_label(run)[MANAGED_CLUSTER.name, "", fleet.given["objects"][0]["metadata"]["name"]]
    yield from unknown_keys(expected, ("labels", "taints"), "expect.mutated")
    if "labels" in expected and expected["labels"] != body["metadata"].get("labels", {}):
        yield expected["labels"], body["metadata"].get("labels", {})
    if "taints" in expected:
        yield from _equal_taints(expected["taints"], body)


def _decisions(expected: list[Json], _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for entry in expected:
        namespace, _, name = entry["placement"].partition("/")
        have = placed(run, namespace, name)
        for key in (key for key in entry if key != "placement"):
            if key not in have:
                yield from unknown_keys({key: entry[key]}, have, "expect.decisions[]")
                continue
            wanted = entry[key]
            if key == "placementDecisions":
                wanted = [_known(item, have[key]) for item in wanted]
            if wanted != have[key]:
                yield {key: entry[key]}, {key: have[key]}


def _known(item: Json, have: list[Json]) -> Json:
    """A decision that is kept says nothing of its group."""
    match: Json = next((other for other in have if other["name"] == item["name"]), {})
    return {**match, **item} if "group_index" not in item else item


def placed(run: muster.Run, namespace: str, name: str) -> Mapping[str, Json]:
    """What a Placement chose: clusters, groups and PlacementDecisions."""
    status = by_label(run).get((PLACEMENT.name, namespace, name), {}).get("status", {})
    shards = [
        body
        for (kind, space, _), body in by_label(run).items()
        if (kind, space) == (PLACEMENT_DECISION.name, namespace) and body["metadata"]["labels"][_PLACEMENT] == name
    ]
    groups = [
        {
            "index": g["decisionGroupIndex"],
            "name": g["decisionGroupName"],
            "count": g["clusterCount"],
            "decisions": g["decisions"],
        }
        for g in status.get("decisionGroups", [])
    ]
    decisions = [
        {
            "name": body["metadata"]["name"],
            "group_index": body["metadata"]["labels"].get(f"{_GROUP}index", "0"),
            "group_name": body["metadata"]["labels"].get(f"{_GROUP}name", ""),
            "clusters": [entry["clusterName"] for entry in body["status"]["decisions"]],
        }
        for body in shards
    ]
    return {
        "clusters": sorted(cluster for decision in decisions for cluster in decision["clusters"]),
        "numberOfSelectedClusters": status.get("numberOfSelectedClusters"),
        "groups": groups,
        "placementDecisions": sorted(decisions, key=lambda decision: (len(decision["name"]), decision["name"])),
    }


def _reasons(fleet: CaseFleet, run: muster.Run) -> Mapping[str, Why]:
    """Of the one Placement of the case."""
    body = next(body for body in fleet.known if body["kind"] == PLACEMENT.name)
    placement = PLACEMENT.id(body["metadata"]["name"], body["metadata"]["namespace"])
    return {reason.cluster: reason for reason in why(run.fleet, run.now, placement)}


def _scores(expected: list[Json], fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    reasons = _reasons(fleet, run)
    for entry in expected:
        yield from unknown_keys(entry, ("prioritizer", "scores", "weight"), "expect.scores[]")
        given = {
            cluster: (score.weight, score.score)
            for cluster, reason in reasons.items()
            for score in reason.scores
            if score.prioritizer == entry["prioritizer"]
        }
        for cluster, score in entry["scores"].items():
            weight = entry.get("weight", given.get(cluster, (None,))[0])
            found = given.get(cluster)
            if found is None or (weight, score) != found:
                yield f"{entry['prioritizer']} of {cluster}: {(weight, score)}", given.get(cluster)


def _total_scores(expected: Json, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    reasons = _reasons(fleet, run)
    entries = expected.items() if isinstance(expected, dict) else [(e["cluster"], e["score"]) for e in expected]
    for cluster, total in entries:
        if cluster not in reasons or total != reasons[cluster].total:
            yield f"{cluster}: {total}", reasons.get(cluster)


def _filtered(expected: Json, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """The clusters that are left after the filters of each entry."""
    reasons = _reasons(fleet, run)
    entries = expected.items() if isinstance(expected, dict) else [_filter_entry(entry) for entry in expected]
    for filters, clusters in entries:
        out = {"set", "removed", "denied", "pending", "deleting", "predicate"}
        out |= {"taint"} if "TaintToleration" in filters else set()
        left = sorted(cluster for cluster, reason in reasons.items() if reason.rule not in out)
        if left != sorted(clusters):
            yield {filters: clusters}, left


def _filter_entry(entry: Json) -> tuple[str, list[str]]:
    name = next(entry[key] for key in ("filter", "name", "filters") if key in entry)
    return name, next(entry[key] for key in ("clusters", "filteredClusters", "filtered") if key in entry)


def _unscheduled(expected: int, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    reasons = _reasons(fleet, run)
    wanted = next(body for body in fleet.known if body["kind"] == PLACEMENT.name)["spec"].get("numberOfClusters")
    selected = sum(reason.selected for reason in reasons.values())
    left = 0 if wanted is None else max(0, wanted - selected)
    if expected != left:
        yield f"{expected} unscheduled", left


def _creates(expected: list[str], fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for item in expected:
        yield from _written_problem(item, fleet, run, removed=False)


def _deletes(expected: list[str], fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for item in expected:
        yield from _written_problem(item, fleet, run, removed=True)


#: What a hub makes for a cluster: permissions, and the namespace. Here a cluster that is accepted is heard.
_GRANTS: tuple[tuple[str, str], ...] = (
    (r"ClusterRole(?:Binding)? open-cluster-management:managedcluster:(.+)", "known"),
    (r"RoleBinding (.+)/open-cluster-management:managedcluster:\1:(?:registration|work)", "heard"),
    (r"Namespace (.+)", "heard"),
)


def _written_problem(item: str, fleet: CaseFleet, run: muster.Run, *, removed: bool) -> Iterator[Problem]:
    """`Kind [namespace/]name` is written, or removed, under derived/; or the cluster is what it is written for."""
    kind, _, name = item.partition(" ")
    if kind in BY_NAME:
        path = f"derived/{BY_NAME[kind].plural}/{name}.yaml"
        if path not in run.files or (run.files[path] is None) != removed:
            yield f"{item} {'removed' if removed else 'written'}", sorted(run.files)
        return
    for pattern, granted in _GRANTS:
        if found := re.fullmatch(pattern, item):
            body = by_label(run).get((MANAGED_CLUSTER.name, "", found[1]))
            if body is None and fleet.given.get("key") != found[1]:
                break
            if _has(body, granted) == removed:
                yield f"{item} {'removed' if removed else 'written'}", body
            return
    yield item, Doubt(f"nothing here is known to go with {item}")


def _has(body: Json, granted: str) -> bool:
    """Whether a cluster has what a hub gives: one that the hub knows may look at itself, an accepted one is heard."""
    if body is None or "deletionTimestamp" in body["metadata"]:
        return False
    accepted = [c["status"] for c in body.get("status", {}).get("conditions", ()) if c["type"] == _ACCEPTED]
    return accepted == ["True"] if granted == "heard" else bool(accepted)


_ACCEPTED = "HubAcceptedManagedCluster"


def _created_lease(expected: Json, _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    body = by_label(run).get((LEASE.name, expected["namespace"], expected["name"]))
    if body is None:
        yield expected, "no such Lease"
        return
    have = {
        "name": body["metadata"]["name"],
        "namespace": body["metadata"]["namespace"],
        "labels": body["metadata"]["labels"],
        "holderIdentity": body["spec"]["holderIdentity"],
        "renewTime": parse_time(body["spec"]["renewTime"]),
    }
    wanted = {**expected, "renewTime": parse_time(expected["renewTime"])}
    if wanted != have:
        yield wanted, have


def _spec(expected: Json, _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """`[Kind ]name`: fields of the spec, exactly; null is absent."""
    for label, fields in expected.items():
        kind, _, name = label.rpartition(" ")
        spec = by_label(run).get((kind or MANAGED_CLUSTER.name, "", name), {}).get("spec", {})
        for key, value in fields.items():
            have = _without_null(spec.get(key))
            if value != have:
                yield {label: {key: value}}, have


def _without_null(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    return value


def _annotations(expected: Json, _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for name, fields in expected.items():
        have = by_label(run)[MANAGED_CLUSTER.name, "", name]["metadata"].get("annotations", {})
        if any(value != have.get(key) for key, value in fields.items()):
            yield fields, have


def _approved(expected: bool, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for body in fleet.known:
        if body["kind"] == CSR.name:
            decided = run.fleet.now(CSR.id(body["metadata"]["name"]), "status", "conditions", ("Approved",))
            if bool(decided) != expected:
                yield f"approved: {expected}", decided


def _requeue_after(expected: int | None, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    instant = None if expected is None else fleet.now + timedelta(seconds=expected)
    yield from _horizon_problem(instant, fleet, run)


def _requeue_at(expected: str | None, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    yield from _horizon_problem(None if expected is None else parse_time(expected), fleet, run)


def _horizon_problem(instant: Any, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """Of the decision that the case is about: a cluster's availability, or a Placement's choice."""
    kind = PLACEMENT if fleet.area.startswith("placement") else MANAGED_CLUSTER
    horizons = [decision for id_ in run.fleet.decided if id_.kind == kind.name for decision in _timed(id_, run)]
    have = min((horizon for horizon in horizons if horizon is not None), default=None)
    if have != instant:
        yield f"next at {instant}", f"next at {have}"


def _timed(id_: ObjectId, run: muster.Run) -> Iterator[Any]:
    for path, decision in run.fleet.decisions(id_).items():
        if id_.kind == PLACEMENT.name or path == ("status", "conditions", (AVAILABLE,)):
            yield decision.horizon


CHECKS: Mapping[str, Check] = {
    "error": _error,
    "changed": _changed,
    "conditions": _conditions,
    "absent_conditions": _absent,
    "taints": _taints,
    "mutated": _mutated,
    "decisions": _decisions,
    "scores": _scores,
    "total_scores": _total_scores,
    "filtered": _filtered,
    "unscheduled_count": _unscheduled,
    "creates": _creates,
    "deletes": _deletes,
    "created_lease": _created_lease,
    "spec": _spec,
    "annotations": _annotations,
    "approved": _approved,
    "requeue_after_seconds": _requeue_after,
    "requeue_at": _requeue_at,
    "events": _events,
    "finalizers": _finalizers,
    "error_contains": _error_contains,
    "sar_called": _asked,
}
