"""Where muster decides otherwise than Karmada's code, on purpose: which cases, why, and what muster says instead.

Each difference is a rule over the case, never its name, and gives the expectation that muster is held to.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from muster.model.times import parse_duration, parse_time
from muster.model.tree import dig

Json = Any
Case = Mapping[str, Json]


@dataclass(frozen=True)
class Difference:
    """`applies` to a case; `expect` gives what muster is expected to say in place of the case's own expectation."""

    reason: str
    applies: Callable[[Case], bool]
    expect: Callable[[Case], Json]


def expectation(case: Case) -> tuple[Json, str]:
    """Return what muster is held to in a case, and why that is not what upstream says; empty where it is."""
    for difference in DIFFERENCES:
        if difference.applies(case):
            return {**case["expect"], **difference.expect(case)}, difference.reason
    return case["expect"], ""


# -- Remedy: an explicit empty value means the same as an absent one


def _remedies(case: Case) -> Iterator[Json]:
    return (body for body in case["given"].get("objects") or () if body["kind"] == "Remedy")


def _explicitly_empty(case: Case) -> bool:
    if not case["area"].startswith("remedy.") or "remedyActions" not in case["expect"] or "timeline" in case["expect"]:
        return False
    return any(
        dig(r, "spec", "clusterAffinity") == {} or dig(r, "spec", "clusterAffinity", "clusterNames") == []
        or dig(r, "spec", "decisionMatches") == []
        for r in _remedies(case)
    )  # fmt: skip


def _as_if_absent(case: Case) -> Json:
    clusters = [body for body in case["given"]["objects"] if body["kind"] == "Cluster"]
    return {"remedyActions": {c["metadata"]["name"]: sorted(set(_actions(case, c))) for c in clusters}}


def _actions(case: Case, cluster: Json) -> Iterator[str]:
    statuses = {c["type"]: c["status"] for c in dig(cluster, "status", "conditions") or ()}
    for remedy in _remedies(case):
        names = dig(remedy, "spec", "clusterAffinity", "clusterNames")
        matches = dig(remedy, "spec", "decisionMatches")
        if names and cluster["metadata"]["name"] not in names:
            continue
        wanted = [m["clusterConditionMatch"] for m in matches or () if m.get("clusterConditionMatch")]
        hits = (
            (statuses[w["conditionType"]] == w["conditionStatus"]) is (w["operator"] == "Equal")
            for w in wanted
            if w["conditionType"] in statuses
        )
        if not matches or any(hits):
            yield from dig(remedy, "spec", "actions") or ()


# -- thresholds: the memory lies in the derived file


def _forgets(case: Case) -> bool:
    steps = case["given"].get("observations") or ()
    forgot = any(step.get("event") in ("controllerRestart", "detectorRestart") for step in steps)
    return case["area"].endswith(".threshold") and (forgot or any("setCondition" in step for step in steps))


def _with_memory(case: Case) -> Json:
    """Karmada's threshold machine, with a memory that nothing takes away, and one pending outcome."""
    params = case["given"].get("params") or {}
    spans = {
        good: next(
            (parse_duration(v) for name, v in params.items() if name.lower().endswith(word)), timedelta(seconds=30)
        )
        for good, word in ((True, "successthreshold"), (False, "failurethreshold"))
    }
    current, pending = _remembered(case)
    timeline = []
    for step, wanted in zip(case["given"]["observations"], case["expect"]["timeline"], strict=True):
        now = parse_time(step["at"])
        if "setCondition" in step:
            current, pending = step["setCondition"]["condition"], None
        seen = step.get("ready") or step.get("observed")
        if seen:
            crossing = current is not None and (current["status"] == "True") != (seen["status"] == "True")
            if crossing:
                since = pending[1] if pending and pending[0] == seen["status"] else now
                pending = (seen["status"], since)
            if not crossing or now >= since + spans[seen["status"] == "True"]:
                current, pending = seen, None
        timeline.append(_renamed(step["at"], wanted, current))
    return {"timeline": timeline, **{k: v for k, v in timeline[-1].items() if k != "at"}}


def _remembered(case: Case) -> tuple[Json, tuple[str, datetime] | None]:
    """The condition that was published before, and what was observed last, where upstream's cache has it."""
    cache = dig(case, "given", "state", "conditionCache") or {}
    for body in case["given"].get("objects") or ():
        cached = cache.get(body["metadata"]["name"])
        type_ = "ServiceDomainNameResolutionReady" if body["kind"] == "Node" else "Ready"
        current = next((c for c in dig(body, "status", "conditions") or () if c["type"] == type_), None)
        if cached and current:
            start = cached.get("thresholdStartTime") or "1970-01-01T00:00:00Z"
            return current, (cached.get("readyCondition") or cached.get("status"), parse_time(start))
    return None, None


def _renamed(at: str, wanted: Json, current: Json) -> Json:
    kind = next(name for name in wanted if name != "at")
    told = {name: current[name] for name in ("type", "status", "reason") if current and name in current}
    return {"at": at, kind: {name: [told] for name in wanted[kind]}}


# -- monitor: what counts is when the lease says it was renewed


def _sees(case: Case) -> bool:
    if case["area"] != "health.monitor":
        return False
    steps = case["given"].get("observations") or ()
    leases = [body for body in case["given"]["objects"] if body["kind"] == "Lease"]
    first = parse_time(steps[0]["at"]) if steps else None
    late = any(parse_time(lease["spec"]["renewTime"]) != first for lease in leases)
    renewed = any("renewLease" in step for step in steps)
    return bool(leases) and (late or renewed or any(step.get("controllerRestart") for step in steps))


def _by_renewal(case: Case) -> Json:
    """A reported condition counts exactly while the lease is no older than the grace period."""
    grace = parse_duration((case["given"].get("params") or {}).get("clusterMonitorGracePeriod", "40s"))
    renewals = {
        body["metadata"]["name"]: parse_time(body["spec"]["renewTime"])
        for body in case["given"]["objects"] if body["kind"] == "Lease"
    }  # fmt: skip
    reported = {
        body["metadata"]["name"]: (body["spec"]["syncMode"], _ready(body))
        for body in case["given"]["objects"] if body["kind"] == "Cluster"
    }  # fmt: skip
    timeline = []
    for step, wanted in zip(case["given"]["observations"], case["expect"]["timeline"], strict=True):
        if "renewLease" in step:
            renewals.update(renewed_leases(step["renewLease"], renewals))
        if "setCondition" in step:
            name = step["setCondition"]["cluster"]
            reported[name] = (reported[name][0], step["setCondition"]["condition"])
        conditions = {}
        for name in wanted.get("conditions") or ():
            mode, ready = reported[name]
            stale = mode == "Pull" and name in renewals and parse_time(step["at"]) - renewals[name] > grace
            told = {"type": "Ready", "status": "Unknown", "reason": "ClusterStatusUnknown"} if stale else ready
            conditions[name] = [{k: told[k] for k in ("type", "status", "reason") if k in told}] if told else []
        timeline.append({"at": step["at"], **({"conditions": conditions} if conditions else {})})
    return {"timeline": timeline, **{k: v for k, v in timeline[-1].items() if k != "at"}}


def _ready(cluster: Json) -> Json:
    return next((c for c in dig(cluster, "status", "conditions") or () if c["type"] == "Ready"), None)


def renewed_leases(value: Json, leases: Mapping[str, Json]) -> dict[str, datetime]:
    """A step's `renewLease`: an instant for the one lease of the case, or a mapping from names to instants."""
    if isinstance(value, Mapping):
        named = value.get("cluster") or value.get("name")
        instant = value.get("renewTime") or value.get("at")
        pairs = {named: instant} if named and instant else dict(value)
    else:
        pairs = dict.fromkeys(leases, value)
    return {name: parse_time(instant) for name, instant in pairs.items()}


# -- detectors: what is stale is Unknown, not what it was


def _unknown(case: Case) -> Json:
    nodes = [body for body in case["given"].get("objects") or () if body["kind"] == "Node"]
    clusters = case["expect"].get("conditions") or {}
    told = [{"type": "ServiceDomainNameResolutionReady", "status": "Unknown"}] if nodes else []
    return {"conditions": dict.fromkeys(clusters, told)}


DIFFERENCES = (
    Difference(
        "seed 003: an empty clusterAffinity or decisionMatches means the same as an absent one",
        _explicitly_empty, _as_if_absent,
    ),
    Difference(
        "damping has its memory in the derived file, so a restart forgets nothing; one that another writer "
        "overruled lasts for its threshold again",
        _forgets, _with_memory,
    ),
    Difference(
        "the age of a lease is counted from its renewTime, not from when a monitor saw it, and what an agent "
        "reported counts again once its lease is renewed",
        _sees, _by_renewal,
    ),
    Difference(
        "a detector's word that is stale or incomplete is Unknown; Karmada keeps the last verdict for ever",
        lambda case: case["area"] == "detector.aggregate" and dig(case["expect"], "detector", "skip") is True, _unknown,
    ),
)  # fmt: skip
