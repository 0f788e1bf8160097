"""What muster decides otherwise than Open Cluster Management on purpose: when, why, and what is expected then.

A difference changes an expectation only where the case states upstream's rule; `contradicts` says where a case that is
in its situation states something else, and such a case fails.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from muster.data.times import parse_time
from muster.fleet.acceptance import ACCEPTED_ON
from muster.fleet.leases import LEASE_NAME
from tests.conformance.ocm_repository import AVAILABLE

Json = Any
Contradictions = Iterator[tuple[Json, Json]]


def _nothing(_case: Json) -> Contradictions:
    yield from ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that muster decides otherwise on purpose: why, when, what is expected then, and what the case says
    that upstream's rule does not."""

    reason: str
    applies: Callable[[Json], bool]
    instead: Callable[[Json, Json], None]
    contradicts: Callable[[Json], Contradictions] = _nothing


def _expects(case: Json, type_: str, **fields: str) -> Json:
    """The condition that a case expects with these fields; None where it does not."""
    for condition in case["expect"].get("conditions", []):
        if condition["type"] == type_ and all(condition.get(key) == value for key, value in fields.items()):
            return condition
    return None


def _lacks_report(case: Json) -> bool:
    return case["area"] == "lease" and AVAILABLE in case["expect"].get("absent_conditions", ())


def _not_reported(case: Json, expect: Json) -> None:
    expect["absent_conditions"].remove(AVAILABLE)
    accepted = [
        body
        for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster" and body.get("spec", {}).get("hubAcceptsClient")
    ]
    for body in accepted:
        wanted = {"type": AVAILABLE, "status": "Unknown", "reason": "ManagedClusterStatusNotReported"}
        expect.setdefault("conditions", []).append(
            {"kind": "ManagedCluster", "name": body["metadata"]["name"], **wanted}
        )


def _was_unknown(case: Json) -> list[Json]:
    """What stood of clusters that were Unknown for another reason before their lease ran out, and is expected yet."""
    if case["area"] != "lease":
        return []
    stood = {
        body["metadata"]["name"]: condition
        for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster"
        for condition in body.get("status", {}).get("conditions") or ()
        if (condition["type"], condition["status"]) == (AVAILABLE, "Unknown") and condition["reason"] != _STOPPED
    }
    return [
        condition
        for condition in case["expect"].get("conditions", ())
        if condition["type"] == AVAILABLE
        and condition["name"] in stood
        and condition.get("reason", "") in ("", stood[condition["name"]]["reason"])
    ]


def _has_older_reason(case: Json) -> bool:
    return bool(_was_unknown(case))


def _says_why(case: Json, expect: Json) -> None:
    for condition in _was_unknown({**case, "expect": expect}):
        told = {"reason": _STOPPED, "message": "Registration agent stopped updating its lease."}
        condition |= {key: told[key] for key in condition.keys() & told.keys()}


_STOPPED = "ManagedClusterLeaseUpdateStopped"


def _has_run_out(case: Json) -> bool:
    """A lease ran out before now. Upstream asks again after another grace period, five times the lease's duration."""
    if case["area"] != "lease":
        return False
    grace = {
        body["metadata"]["name"]: 5 * (body.get("spec", {}).get("leaseDurationSeconds") or 60)
        for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster"
    }
    now, asked = parse_time(case["given"]["now"]), case["expect"].get("requeue_after_seconds")
    return any(
        asked == grace[cluster] and now >= parse_time(body["spec"]["renewTime"]) + timedelta(seconds=asked)
        for body in case["given"]["objects"]
        if (body["kind"], body["metadata"]["name"]) == ("Lease", LEASE_NAME)
        and (cluster := body["metadata"]["namespace"]) in grace
    )


def _no_timer(_case: Json, expect: Json) -> None:
    expect["requeue_after_seconds"] = None


def _leaves_time(case: Json) -> bool:
    taints = (taint for entry in case["expect"].get("taints", []) for taint in entry["taints"])
    return case["area"] == "taint" and any("timeAdded" in taint and taint["timeAdded"] is None for taint in taints)


def _stamped(case: Json, expect: Json) -> None:
    for entry in expect["taints"]:
        for taint in entry["taints"]:
            if taint.get("timeAdded", "") is None:
                taint["timeAdded"] = case["given"]["now"]


def _mutates_taints(case: Json) -> bool:
    return bool(case["area"] == "webhook-mutating")


def _upstream_times(case: Json) -> tuple[list[Json], list[str]]:
    """The taints as upstream's webhook leaves them, and the keys of those whose time it refuses. The old taint is the
    first with the key."""
    now, old = case["given"]["now"], case["given"].get("old_object")
    incoming = case["given"]["objects"][0].get("spec", {}).get("taints") or []
    if old is None:
        return [{**taint, "timeAdded": now} for taint in incoming], []
    first: dict[str, Json] = {}
    for taint in old.get("spec", {}).get("taints") or ():
        first.setdefault(taint["key"], taint)
    left, refused = [], []
    for taint in incoming:
        before, added = first.get(taint["key"]), taint.get("timeAdded")
        same = before is not None and _identity(before) == _identity(taint)
        if added != (before.get("timeAdded") if same and before else None):
            refused.append(taint["key"])
        left.append(taint if same else {**taint, "timeAdded": now})
    return left, refused


def _sorted(trees: list[Json]) -> list[str]:
    return sorted(json.dumps(tree, sort_keys=True) for tree in trees)


def _times_are_theirs(case: Json) -> Contradictions:
    expect = case["expect"]
    left, refused = _upstream_times(case)
    if bool(expect["error"]) != bool(refused):
        yield {"error": expect["error"]}, {"refused": refused}
    text = f'It is not allowed to set TimeAdded of Taint "{",".join(refused)}".'
    if refused and expect.get("error_contains", text) not in text:
        yield expect["error_contains"], text
    told = expect.get("mutated", {}).get("taints", left)
    if not expect["error"] and _sorted(told) != _sorted(left):
        yield told, left


def _times_are_ours(case: Json, expect: Json) -> None:
    """A time that is written is not used, but for that of an object that has just moved in."""
    old = case["given"].get("old_object") or {}
    recorded = {_identity(t): t.get("timeAdded") for t in old.get("spec", {}).get("taints", [])}
    incoming = case["given"]["objects"][0].get("spec", {}).get("taints", [])
    moved_in = not recorded
    if case["expect"]["error"] or moved_in:
        expect["error"] = False
        expect.pop("error_contains", None)
        times = [
            recorded.get(_identity(taint)) or (moved_in and taint.get("timeAdded")) or case["given"]["now"]
            for taint in incoming
        ]
        taints = [{**taint, "timeAdded": time} for taint, time in zip(incoming, times, strict=True)]
        expect["mutated"] = {**expect.get("mutated", {}), "taints": taints}


def _identity(taint: Json) -> tuple[str, str, str]:
    return taint["key"], taint.get("value", ""), taint["effect"]


def _accepts_itself(case: Json) -> bool:
    expected = case["expect"].get("spec", {}).values()
    return case["area"] == "acceptance" and any(spec.get("hubAcceptsClient") for spec in expected)


def _says_so_at_once(_case: Json, expect: Json) -> None:
    absent = [type_ for type_ in expect.get("absent_conditions", ()) if type_ != "HubAcceptedManagedCluster"]
    expect["absent_conditions"] = absent


def _stamped_of_people(case: Json) -> dict[str, str]:
    """The time of automatic acceptance that is expected of clusters that a person accepted."""
    if case["area"] != "acceptance":
        return {}
    accepted = {
        body["metadata"]["name"]
        for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster"
        and body.get("spec", {}).get("hubAcceptsClient") is True
        and ACCEPTED_ON not in body["metadata"].get("annotations", {})
    }
    told = case["expect"].get("annotations", {})
    return {name: told[name][ACCEPTED_ON] for name in accepted & told.keys() if ACCEPTED_ON in told[name]}


def _is_stamped_anyway(case: Json) -> bool:
    return bool(_stamped_of_people(case))


def _stamps_now(case: Json) -> Contradictions:
    for name, since in _stamped_of_people(case).items():
        if since != case["given"]["now"]:
            yield {name: since}, case["given"]["now"]


def _not_stamped(case: Json, expect: Json) -> None:
    for name in _stamped_of_people(case):
        del expect["annotations"][name][ACCEPTED_ON]


_SET = "cluster.open-cluster-management.io/clusterset"
_ACCEPTING = "cannot update the HubAcceptsClient field"
_JOINING = "cannot add/remove a ManagedCluster to/from ManagedClusterSet"


def _not_permitted(case: Json) -> list[str]:
    """What upstream's webhook says of a request whose user may not do it; empty where the user may."""
    given = case["given"]
    if case["area"] != "webhook-validating" or not given["objects"] or given["objects"][0]["kind"] != "ManagedCluster":
        return []
    new, old = given["objects"][0], given.get("old_object") or {}
    permissions = given.get("permissions") or {}
    said = []
    accepted = [body.get("spec", {}).get("hubAcceptsClient") is True for body in (old, new)]
    if accepted == [False, True] and permissions.get("update managedclusters/accept") is False:
        said.append(_ACCEPTING)
    sets = [body.get("metadata", {}).get("labels", {}).get(_SET) for body in (old, new)]
    may_join = permissions.get("create managedclustersets/join") or {}
    if sets[0] != sets[1] and any(name and may_join.get(name) is False for name in sets):
        said.append(_JOINING)
    return said


def _lacks_permission(case: Json) -> bool:
    binds = "not allowed to bind" in str(case["expect"].get("error_contains", ""))
    return bool(_not_permitted(case)) or (case["area"] == "webhook-validating" and binds)


def _is_refused(case: Json) -> Contradictions:
    said, text = _not_permitted(case), case["expect"].get("error_contains")
    if said and case["expect"].get("error") is not True:
        yield {"error": case["expect"].get("error")}, said
    if (
        said
        and text is not None
        and not any(text in one or re.search(rf"{re.escape(one)}(?!\w)", text) for one in said)
    ):
        yield text, said


def _is_no_name(case: Json) -> bool:
    name = case["given"]["objects"][0]["metadata"]["name"] if case["given"]["objects"] else ""
    return case["area"] == "webhook-validating" and not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)


def _refused_before(_case: Json, expect: Json) -> None:
    expect["error"] = True


def _waits_for_works(case: Json) -> bool:
    denied = {
        body["metadata"]["name"]
        for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster"
        and not body.get("spec", {}).get("hubAcceptsClient")
        and "deletionTimestamp" not in body["metadata"]
    }
    kept = _expects(case, "HubAcceptedManagedCluster", status="True")
    works = {"ManifestWork", "RoleBinding"} & {body["kind"] for body in case["given"]["objects"]}
    return case["area"] == "acceptance" and bool(works) and kept is not None and kept.get("name") in denied


def _denied_at_once(case: Json, expect: Json) -> None:
    condition = _expects({"expect": expect}, "HubAcceptedManagedCluster", status="True")
    assert condition is not None
    condition |= {"status": "False", "reason": "HubClusterAdminDenied", "message": "Denied by hub cluster admin"}
    condition["lastTransitionTime"] = case["given"]["now"]
    expect.pop("changed", None)


def _is_misconfigured(case: Json) -> bool:
    return _expects(case, "PlacementMisconfigured", status="True") is not None


def _shards(case: Json, entry: Json) -> list[Json]:
    """The decisions that a Placement has made before."""
    namespace, _, name = entry["placement"].partition("/")
    return [
        {"name": b["metadata"]["name"], "clusters": [d["clusterName"] for d in b["status"]["decisions"]]}
        for b in case["given"]["objects"]
        if b["kind"] == "PlacementDecision"
        and b["metadata"].get("namespace") == namespace
        and b["metadata"].get("labels", {}).get("cluster.open-cluster-management.io/placement") == name
    ]


def _loses_decisions(case: Json) -> Contradictions:
    """Upstream empties the decisions of a misconfigured Placement, or deletes them; it then says how many it had."""
    for entry in case["expect"].get("decisions", []):
        if not (shards := _shards(case, entry)):
            continue
        before = sum(len(shard["clusters"]) for shard in shards)
        first = f"{entry['placement'].partition('/')[2]}-decision-1"
        emptied = {
            "clusters": [],
            "numberOfSelectedClusters": 0,
            "groups": [{"index": 0, "name": "", "count": 0, "decisions": [first]}],
            "placementDecisions": [{"name": first, "group_index": "0", "group_name": "", "clusters": []}],
        }
        deleted = {"clusters": [], "numberOfSelectedClusters": before, "groups": [], "placementDecisions": []}
        given_up = not entry.get("placementDecisions", [1])
        theirs = deleted if given_up else emptied
        told = {key: value for key, value in entry.items() if key != "placement"}
        if told != {key: theirs[key] for key in told if key in theirs}:
            yield told, theirs
        gone = [f"PlacementDecision {entry['placement'].partition('/')[0]}/{shard['name']}" for shard in shards]
        if given_up and sorted(case["expect"].get("deletes", gone)) != sorted(gone):
            yield case["expect"]["deletes"], gone
        satisfied = _expects(case, "PlacementSatisfied")
        said = "/".join(str(satisfied.get(key, "")) for key in _SATISFIED) if satisfied else ""
        if satisfied and not re.fullmatch(_WITH if given_up else _WITHOUT, said):
            yield satisfied, "not what follows upstream"


_SATISFIED = {"status": "True", "reason": "AllDecisionsScheduled", "message": "All cluster decisions scheduled"}
_WITH = "/".join(_SATISFIED.values())
_WITHOUT = (
    r"False/(NoManagedClusterMatched/No ManagedCluster matches any of the cluster predicate"
    r"|NoManagedClusterSetBindings/No valid ManagedClusterSetBindings found in placement namespace"
    r"|NoIntersection/None of ManagedClusterSets \[.*\] is bound to placement namespace"
    r"|AllManagedClusterSetsEmpty/All ManagedClusterSets \[.*\] have no member ManagedCluster)"
)


def _keeps_decisions(case: Json, expect: Json) -> None:
    """Upstream empties, or even deletes, the decisions of a misconfigured Placement."""
    for body in (body for body in case["given"]["objects"] if body["kind"] == "Placement"):
        placement = f"{body['metadata']['namespace']}/{body['metadata']['name']}"
        if not (shards := _shards(case, {"placement": placement})):
            continue
        clusters = sorted(name for shard in shards for name in shard["clusters"])
        for entry in (entry for entry in expect.get("decisions", []) if entry["placement"] == placement):
            entry.clear()
            entry |= {"placement": placement, "clusters": clusters, "placementDecisions": shards}
            entry["numberOfSelectedClusters"] = len(clusters)
        _satisfied_by(body, expect, len(clusters))
        expect["deletes"] = []


def _satisfied_by(placement: Json, expect: Json, selected: int) -> None:
    """Whether it is satisfied is told of what is kept; where it was before, since then."""
    condition, wanted = _expects({"expect": expect}, "PlacementSatisfied"), placement["spec"].get("numberOfClusters")
    if condition is None or not selected or not (wanted is None or wanted <= selected):
        return
    condition |= _SATISFIED
    before = (c for c in placement.get("status", {}).get("conditions") or () if c["type"] == "PlacementSatisfied")
    if "lastTransitionTime" in condition and (stood := next(before, None)) and stood["status"] == "True":
        condition["lastTransitionTime"] = stood["lastTransitionTime"]


def _chooses_unaccepted(case: Json) -> bool:
    return case["area"].startswith("placement") and bool(_unaccepted(case) & _chosen(case))


def _chosen(case: Json) -> set[str]:
    return {name for entry in case["expect"].get("decisions", []) for name in entry.get("clusters") or ()}


def _unaccepted(case: Json) -> set[str]:
    return {
        body["metadata"]["name"]
        for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster" and not body.get("spec", {}).get("hubAcceptsClient")
    }


def _accepted_only(case: Json, expect: Json) -> None:
    outside = _unaccepted(case)
    for entry in expect["decisions"]:
        clusters = [name for name in entry.get("clusters") or () if name not in outside]
        placement = entry["placement"]
        entry.clear()
        entry |= {"placement": placement, "clusters": clusters, "numberOfSelectedClusters": len(clusters)}
    expect["conditions"] = [c for c in expect.get("conditions", []) if c["type"] != "PlacementSatisfied"]
    for key in ("scores", "total_scores", "filtered", "unscheduled_count"):
        expect.pop(key, None)


def _only_warns(case: Json) -> bool:
    """Scores have run out, and the case says that this is an error."""
    now = parse_time(case["given"]["now"])
    ended = [
        body
        for body in case["given"]["objects"]
        if body["kind"] == "AddOnPlacementScore"
        and (until := body.get("status", {}).get("validUntil"))
        and parse_time(until) < now
    ]
    return bool(ended) and case["area"].startswith("placement") and bool(case["expect"].get("error"))


def _no_error(_case: Json, expect: Json) -> None:
    expect["error"] = False
    expect.pop("error_contains", None)


#: Deliberate differences, by the words with which docs/ocm.md tells users of them; the expectation is changed, not
#: dropped.
DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "a fresh lease without a report is Unknown (`ManagedClusterStatusNotReported`)", _lacks_report, _not_reported
    ),
    Difference("a cluster that was already Unknown gets the reason that holds now", _has_older_reason, _says_why),
    Difference("an expired lease is looked at again when it is renewed", _has_run_out, _no_timer),
    Difference("one run accepts a cluster, taints it with the time, and says so", _leaves_time, _stamped),
    Difference(
        "a written `timeAdded` counts when a cluster moves in", _mutates_taints, _times_are_ours, _times_are_theirs
    ),
    Difference("one run accepts a cluster, taints it with the time, and says so", _accepts_itself, _says_so_at_once),
    Difference("only what is accepted automatically is marked as that", _is_stamped_anyway, _not_stamped, _stamps_now),
    Difference("a denied cluster is excluded at once", _waits_for_works, _denied_at_once),
    Difference("a name that Kubernetes would refuse is refused", _is_no_name, _refused_before),
    Difference("the git host decides who may accept clusters and fill sets", _lacks_permission, _no_error, _is_refused),
    Difference("a misconfigured Placement keeps its decisions", _is_misconfigured, _keeps_decisions, _loses_decisions),
    Difference("only accepted clusters are candidates of Placements", _chooses_unaccepted, _accepted_only),
    Difference("expired scores count as 0", _only_warns, _no_error),
)
