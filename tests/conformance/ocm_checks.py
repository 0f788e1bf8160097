"""How each thing that a case of Open Cluster Management asserts is compared with what muster decided."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import muster
from muster.decide.placements import Why, why
from muster.model.finding import Severity
from muster.model.ids import ObjectId
from muster.model.kinds import BY_NAME, CSR, LEASE, MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION
from muster.model.times import format_time, parse_time
from tests.conformance.ocm_repository import AVAILABLE, HUB_CONDITIONS, CaseFleet, by_label

Json = Any
Problem = tuple[Json, Json]
Check = Callable[[Json, CaseFleet, muster.Run], Iterator[Problem]]

_PLACEMENT = "cluster.open-cluster-management.io/placement"
_GROUP = "cluster.open-cluster-management.io/decision-group-"


def _error(expected: bool, _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    errors = [str(finding.message) for finding in run.findings if finding.severity is Severity.ERROR]
    if expected != bool(errors):
        yield "an error" if expected else "no error", errors or "no error"


#: What the controller of an area writes, where that is less than all.
_WRITTEN: Mapping[str, frozenset[str]] = {
    "lease": frozenset({AVAILABLE}),
    "clock-sync": frozenset({"ManagedClusterConditionClockSynced"}),
    "agent-status": frozenset({AVAILABLE}),
    "acceptance": frozenset({"HubAcceptedManagedCluster"}),
    "cluster-deletion": frozenset({"Deleting"}),
}


def _changed(_expected: bool, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """Nothing that a hub controller writes of the case's objects is another than before."""
    objects = by_label(run)
    for body in fleet.known:
        label = (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])
        types = _WRITTEN.get(fleet.area, HUB_CONDITIONS)
        before, after = (_hub_conditions(given, types) for given in (body, objects.get(label, {})))
        if before != after:
            yield before, after


def _hub_conditions(body: Json, types: frozenset[str] | set[str]) -> Json:
    conditions = body.get("status", {}).get("conditions", [])
    return {c["type"]: (c["status"], c.get("lastTransitionTime")) for c in conditions if c["type"] in types}


def _conditions(expected: list[Json], _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    objects = by_label(run)
    for wanted in expected:
        body = objects.get((wanted["kind"], wanted.get("namespace", ""), wanted["name"]), {})
        have = next((c for c in body.get("status", {}).get("conditions", []) if c["type"] == wanted["type"]), None)
        fields = {key: value for key, value in wanted.items() if key not in ("kind", "name", "namespace", "type")}
        if have is None:
            yield wanted, f"{wanted['name']} has no condition {wanted['type']}"
        elif any(not _same(key, value, have.get(key)) for key, value in fields.items()):
            yield {"type": wanted["type"], **fields}, {key: have.get(key) for key in ("type", *fields)}


def _same(key: str, wanted: Json, have: Json) -> bool:
    """A message that an adapter cut short to its plugin is compared as far as it goes."""
    if key == "message" and isinstance(wanted, str) and wanted.endswith(":"):
        return isinstance(have, str) and have.startswith(wanted)
    if key == "lastTransitionTime" and wanted and have:
        return parse_time(wanted) == parse_time(have)
    return bool((wanted or "") == (have or ""))


def _absent(expected: list[str], fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    objects = by_label(run)
    for body in fleet.known:
        label = (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])
        have = {c["type"] for c in objects.get(label, {}).get("status", {}).get("conditions", [])}
        if unwanted := have & set(expected):
            yield f"no {sorted(unwanted)}", sorted(have)


def _taints(expected: list[Json], _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for entry in expected:
        body = by_label(run)[MANAGED_CLUSTER.name, "", entry["cluster"]]
        yield from _equal_taints(entry["taints"], body)


def _equal_taints(expected: list[Json], body: Json) -> Iterator[Problem]:
    wanted, have = (sorted(map(_taint, taints)) for taints in (expected, body.get("spec", {}).get("taints", [])))
    if wanted != have:
        yield wanted, have


def _taint(taint: Json) -> tuple[str, str, str, str]:
    added = taint.get("timeAdded")
    return taint["key"], taint.get("value") or "", taint["effect"], format_time(parse_time(added)) if added else ""


def _mutated(expected: Json, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    body = by_label(run)[MANAGED_CLUSTER.name, "", fleet.given["objects"][0]["metadata"]["name"]]
    if "labels" in expected and expected["labels"] != body["metadata"].get("labels", {}):
        yield expected["labels"], body["metadata"].get("labels", {})
    if "taints" in expected:
        yield from _equal_taints(expected["taints"], body)


def _decisions(expected: list[Json], _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for entry in expected:
        namespace, _, name = entry["placement"].partition("/")
        have = _placed(run, namespace, name)
        for key in (key for key in entry if key != "placement"):
            wanted = [_known(item, have[key]) for item in entry[key]] if key == "placementDecisions" else entry[key]
            if wanted != have[key]:
                yield {key: wanted}, {key: have[key]}


def _known(item: Json, have: list[Json]) -> Json:
    """A decision that is kept says nothing of its group."""
    match: Json = next((other for other in have if other["name"] == item["name"]), {})
    return {**match, **item} if "group_index" not in item else item


def _placed(run: muster.Run, namespace: str, name: str) -> Mapping[str, Json]:
    status = by_label(run).get((PLACEMENT.name, namespace, name), {}).get("status", {})
    shards = [
        body for (kind, space, _), body in by_label(run).items()
        if (kind, space) == (PLACEMENT_DECISION.name, namespace) and body["metadata"]["labels"][_PLACEMENT] == name
    ]  # fmt: skip
    groups = [
        {"index": g["decisionGroupIndex"], "name": g["decisionGroupName"], "count": g["clusterCount"],
         "decisions": g["decisions"]}
        for g in status.get("decisionGroups", [])
    ]  # fmt: skip
    decisions = [
        {"name": body["metadata"]["name"], "group_index": body["metadata"]["labels"].get(f"{_GROUP}index", "0"),
         "group_name": body["metadata"]["labels"].get(f"{_GROUP}name", ""),
         "clusters": [entry["clusterName"] for entry in body["status"]["decisions"]]}
        for body in shards
    ]  # fmt: skip
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
        given = {
            cluster: (score.weight, score.score) for cluster, reason in reasons.items() for score in reason.scores
            if score.prioritizer == entry["prioritizer"]
        }  # fmt: skip
        for cluster, score in entry["scores"].items():
            weight = entry.get("weight", given.get(cluster, (None,))[0])
            if given.get(cluster) != (weight, score):
                yield f"{entry['prioritizer']} of {cluster}: {(weight, score)}", given.get(cluster)


def _total_scores(expected: Json, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    reasons = _reasons(fleet, run)
    entries = expected.items() if isinstance(expected, dict) else [(e["cluster"], e["score"]) for e in expected]
    for cluster, total in entries:
        if cluster not in reasons or reasons[cluster].total != total:
            yield f"{cluster}: {total}", reasons.get(cluster)


def _filtered(expected: Json, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    """The clusters that are left after the filters of each entry."""
    reasons = _reasons(fleet, run)
    entries = expected.items() if isinstance(expected, dict) else [_filter_entry(entry) for entry in expected]
    for filters, clusters in entries:
        out = {"set", "removed", "denied", "pending", "deleting", "predicate"}
        out |= {"taint"} if "TaintToleration" in filters else set()
        left = sorted(cluster for cluster, reason in reasons.items() if reason.rule not in out)
        if sorted(clusters) != left:
            yield {filters: sorted(clusters)}, left


def _filter_entry(entry: Json) -> tuple[str, list[str]]:
    name = next(entry[key] for key in ("filter", "name", "filters") if key in entry)
    return name, next(entry[key] for key in ("clusters", "filteredClusters", "filtered") if key in entry)


def _unscheduled(expected: int, fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    reasons = _reasons(fleet, run)
    wanted = next(body for body in fleet.known if body["kind"] == PLACEMENT.name)["spec"].get("numberOfClusters")
    selected = sum(reason.selected for reason in reasons.values())
    left = 0 if wanted is None else max(0, wanted - selected)
    if left != expected:
        yield f"{expected} unscheduled", left


def _creates(expected: list[str], _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    yield from (problem for item in expected if (problem := _file_problem(item, run, removed=False)))


def _deletes(expected: list[str], _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    yield from (problem for item in expected if (problem := _file_problem(item, run, removed=True)))


def _file_problem(item: str, run: muster.Run, *, removed: bool) -> Problem | None:
    """`Kind [namespace/]name` is written, or removed, under derived/."""
    kind, _, name = item.partition(" ")
    path = f"derived/{BY_NAME[kind].plural}/{name}.yaml" if kind in BY_NAME else ""
    if path in run.files and (run.files[path] is None) == removed:
        return None
    return f"{item} {'removed' if removed else 'written'}", sorted(run.files)


def _created_lease(expected: Json, _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    body = by_label(run).get((LEASE.name, expected["namespace"], expected["name"]))
    if body is None:
        yield expected, "no such Lease"
        return
    have = {
        "name": body["metadata"]["name"], "namespace": body["metadata"]["namespace"],
        "labels": body["metadata"]["labels"], "holderIdentity": body["spec"]["holderIdentity"],
        "renewTime": parse_time(body["spec"]["renewTime"]),
    }  # fmt: skip
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
            if have != value:
                yield {label: {key: value}}, have


def _without_null(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    return value


def _annotations(expected: Json, _fleet: CaseFleet, run: muster.Run) -> Iterator[Problem]:
    for name, fields in expected.items():
        have = by_label(run)[MANAGED_CLUSTER.name, "", name]["metadata"].get("annotations", {})
        if any(have.get(key) != value for key, value in fields.items()):
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
    "error": _error, "changed": _changed, "conditions": _conditions, "absent_conditions": _absent, "taints": _taints,
    "mutated": _mutated, "decisions": _decisions, "scores": _scores, "total_scores": _total_scores,
    "filtered": _filtered, "unscheduled_count": _unscheduled, "creates": _creates, "deletes": _deletes,
    "created_lease": _created_lease, "spec": _spec, "annotations": _annotations, "approved": _approved,
    "requeue_after_seconds": _requeue_after, "requeue_at": _requeue_at,
}  # fmt: skip
