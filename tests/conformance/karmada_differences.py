"""Where muster decides otherwise than Karmada's code, on purpose: which cases, why, and what muster says instead.

Each difference is a rule over the case, never its name, and it is told twice: as upstream has it, and as muster does.
A case is only held to the second where it states the first, leaf by leaf; otherwise it is compared as it stands.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from muster.data.times import parse_duration, parse_time
from muster.data.tree import dig

Json = Any
Case = Mapping[str, Json]

_CONDITION_FIELDS = {"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"}
_DNS = "ServiceDomainNameResolutionReady"


@dataclass(frozen=True)
class Difference:
    """`applies` to a case; `theirs` and `ours` are what follows from each system's rule, in the words of `expect`."""

    reason: str
    applies: Callable[[Case], bool]
    theirs: Callable[[Case], Json]
    ours: Callable[[Case], Json]


def expectation(case: Case) -> tuple[Json, str]:
    """Return what muster is held to in a case, and why that is not what upstream says; empty where it is."""
    for difference in DIFFERENCES:
        if difference.applies(case):
            theirs, ours = difference.theirs(case), difference.ours(case)
            if theirs != ours and all(_states(case["expect"].get(key), theirs[key]) for key in theirs):
                return {**case["expect"], **ours}, difference.reason
    return case["expect"], ""


def _states(expected: Json, rule: Json) -> bool:
    """Whether a case says what a rule does. Of conditions, both may give some fields of those that there are."""
    if isinstance(expected, list) and isinstance(rule, list):
        return len(expected) == len(rule) and all(map(_states, expected, rule))
    if isinstance(expected, dict) and isinstance(rule, dict):
        if "type" in rule:
            known = expected.keys() <= _CONDITION_FIELDS
            return known and all(_states(expected[key], rule[key]) for key in expected.keys() & rule.keys())
        return expected.keys() == rule.keys() and all(_states(expected[key], rule[key]) for key in rule)
    return bool(expected == rule)


# -- Remedy: an explicit empty value means the same as an absent one


def _remedies(case: Case) -> Iterator[Json]:
    return (body for body in case["given"].get("objects") or () if body["kind"] == "Remedy")


def _explicitly_empty(case: Case) -> bool:
    if not case["area"].startswith("remedy.") or "timeline" in case["expect"]:
        return False
    event = case["given"].get("event") or {}
    bodies = [*_remedies(case), *(body for body in (event.get("object"), event.get("oldObject")) if body)]
    return any(
        dig(r, "spec", "clusterAffinity") == {}
        or dig(r, "spec", "clusterAffinity", "clusterNames") == []
        or dig(r, "spec", "decisionMatches") == []
        for r in bodies
    )


def _with_empties(selecting: bool) -> Callable[[Case], Json]:
    """What Remedies select and do where an explicitly empty value selects all, or nothing."""

    def follows(case: Case) -> Json:
        found: Json = {}
        clusters = {body["metadata"]["name"]: body for body in case["given"]["objects"] if body["kind"] == "Cluster"}
        remedies = {body["metadata"]["name"]: body for body in _remedies(case)}
        if "remedyActions" in case["expect"]:
            found["remedyActions"] = {
                name: sorted(
                    {
                        action
                        for remedy in remedies.values()
                        if _selects(remedy, name, selecting) and _matches(remedy, cluster, selecting)
                        for action in dig(remedy, "spec", "actions") or ()
                    }
                )
                for name, cluster in clusters.items()
            }
        for key, one in (("selects", _selects), ("matches", _matches)):
            told = {
                remedy: {
                    name: one(remedies[remedy], name if one is _selects else clusters[name], selecting)
                    for name in names
                    if name in clusters
                }
                for remedy, names in (case["expect"].get(key) or {}).items()
                if remedy in remedies
            }
            if told:
                found[key] = told
        if isinstance(case["expect"].get("relatedRemedies"), dict):
            found["relatedRemedies"] = {
                name: sorted(r for r, body in remedies.items() if _selects(body, name, selecting))
                for name in case["expect"]["relatedRemedies"]
            }
        if "reconcile" in case["expect"]:
            event = case["given"]["event"]
            bodies = [body for body in (event.get("object"), event.get("oldObject")) if body]
            named = {name for body in bodies for name in dig(body, "spec", "clusterAffinity", "clusterNames") or ()}
            reached = {name for name in {*clusters, *named} for body in bodies if _selects(body, name, selecting)}
            found["reconcile"] = sorted(reached)
        return found

    return follows


def _selects(remedy: Json, cluster: str, selecting: bool) -> bool:
    affinity = dig(remedy, "spec", "clusterAffinity")
    names = dig(affinity, "clusterNames") or []
    return affinity is None or cluster in names or (selecting and not names)


def _matches(remedy: Json, cluster: Json, selecting: bool) -> bool:
    matches = dig(remedy, "spec", "decisionMatches")
    if matches is None or (selecting and not matches):
        return True
    statuses = {c["type"]: c["status"] for c in dig(cluster, "status", "conditions") or ()}
    wanted = [match["clusterConditionMatch"] for match in matches if match.get("clusterConditionMatch")]
    return any(
        (statuses[w["conditionType"]] == w["conditionStatus"]) is (w["operator"] == "Equal")
        for w in wanted
        if w["conditionType"] in statuses
    )


# -- thresholds: the memory lies in the derived file


def _forgets(case: Case) -> bool:
    steps = case["given"].get("observations") or ()
    forgot = any(step.get("event") in ("controllerRestart", "detectorRestart") for step in steps)
    return case["area"].endswith(".threshold") and (forgot or any("setCondition" in step for step in steps))


def _spans(case: Case) -> dict[bool, timedelta]:
    """The thresholds for what is good and for what is not."""
    params = case["given"].get("params") or {}
    return {
        good: next(
            (parse_duration(v) for name, v in params.items() if name.lower().endswith(word)), timedelta(seconds=30)
        )
        for good, word in ((True, "successthreshold"), (False, "failurethreshold"))
    }


class _InMemory:
    """Karmada's machine: in memory it keeps the status that it observed last, and since when. Without, no damping."""

    def __init__(self, case: Case) -> None:
        self.spans, self.saved = _spans(case), _remembered(case)[1]

    def forget(self) -> None:
        self.saved = None

    def overrule(self) -> None:
        """Nothing: what was observed is remembered whoever publishes something else."""

    def publish(self, current: Json, seen: Json, now: datetime) -> Json:
        if self.saved is None:
            self.saved = (seen["status"], parse_time("1970-01-01T00:00:00Z"))
            return seen
        if current is None:
            return seen
        if self.saved[0] != seen["status"]:
            self.saved = (seen["status"], now)
        waits = now < self.saved[1] + self.spans[_is_good(seen)]
        return current if waits and _is_good(seen) != _is_good(current) else seen


class _InFile:
    """Muster's: one outcome waits, beside the condition that it waits to replace. No restart takes it away, and who
    overrules the one ends the other's waiting."""

    def __init__(self, case: Case) -> None:
        self.spans, self.pending = _spans(case), _remembered(case)[1]

    def forget(self) -> None:
        """Nothing: it is in the repository."""

    def overrule(self) -> None:
        self.pending = None

    def publish(self, current: Json, seen: Json, now: datetime) -> Json:
        if current is not None and _is_good(seen) != _is_good(current):
            since = self.pending[1] if self.pending and self.pending[0] == seen["status"] else now
            self.pending = (seen["status"], since)
            if now < since + self.spans[_is_good(seen)]:
                return current
        self.pending = None
        return seen


def _is_good(condition: Json) -> bool:
    return bool(condition["status"] == "True")


def _damped(case: Case, machine: _InMemory | _InFile) -> Json:
    """What a machine publishes after each observation of a case."""
    current, _ = _remembered(case)
    timeline = []
    for step, wanted in zip(case["given"]["observations"], case["expect"]["timeline"], strict=True):
        if step.get("event") in ("controllerRestart", "detectorRestart"):
            machine.forget()
        if "setCondition" in step:
            machine.overrule()
            current = step["setCondition"]["condition"]
        if seen := step.get("ready") or step.get("observed"):
            current = machine.publish(current, seen, parse_time(step["at"]))
        timeline.append(_renamed(step["at"], wanted, current))
    return {"timeline": timeline, **{k: v for k, v in timeline[-1].items() if k != "at"}}


def _remembered(case: Case) -> tuple[Json, tuple[str, datetime] | None]:
    """The condition that was published before, and what was observed last, where upstream's cache has it."""
    cache = dig(case, "given", "state", "conditionCache") or {}
    for body in case["given"].get("objects") or ():
        cached = cache.get(body["metadata"]["name"])
        type_ = _DNS if body["kind"] == "Node" else "Ready"
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
    leases = [body for body in case["given"]["objects"] if body["kind"] == "Lease"]
    return bool(leases) and bool(case["given"].get("observations")) and "timeline" in case["expect"]


@dataclass(slots=True)
class _Monitored:
    """A cluster as Karmada's monitor remembers it."""

    probed: datetime
    ready: Json
    renewed: datetime | None = None


def _monitored(case: Case, *, by_renewal: bool) -> Json:
    """The `Ready` of each cluster after each step: by when the lease says it was renewed, or by when that was seen."""
    params = case["given"].get("params") or {}
    grace = parse_duration(params.get("clusterMonitorGracePeriod", "40s"))
    startup = parse_duration(params.get("clusterStartupGracePeriod", "60s"))
    renewals = {
        body["metadata"]["name"]: parse_time(body["spec"]["renewTime"])
        for body in case["given"]["objects"]
        if body["kind"] == "Lease"
    }
    clusters = {body["metadata"]["name"]: body for body in case["given"]["objects"] if body["kind"] == "Cluster"}
    ready = {name: _ready(body) for name, body in clusters.items()}
    memory: dict[str, _Monitored] = {}

    def pass_(name: str, now: datetime) -> Json:
        body, known = clusters[name], memory.get(name)
        if known is None:
            started = parse_time(body["metadata"].get("creationTimestamp", "1970-01-01T00:00:00Z"))
            memory[name] = known = _Monitored(now if ready[name] else started, ready[name])
        elif known.ready != ready[name]:
            known.probed, known.ready = now, ready[name]
        if body["spec"]["syncMode"] != "Pull":
            return ready[name]
        renewal = renewals.get(name)
        if renewal is not None and (known.renewed is None or known.renewed < renewal):
            known.renewed, known.probed = renewal, now
        if now <= known.probed + (grace if ready[name] else startup):
            return ready[name]
        if ready[name] is None:
            return {"type": "Ready", "status": "Unknown", "reason": "ClusterStatusNeverUpdated"}
        return ready[name] if ready[name]["status"] == "Unknown" else _SILENT

    def reported(name: str, now: datetime) -> Json:
        pull = clusters[name]["spec"]["syncMode"] == "Pull"
        return _SILENT if pull and name in renewals and now - renewals[name] > grace else ready[name]

    timeline = []
    for step, wanted in zip(case["given"]["observations"], case["expect"]["timeline"], strict=True):
        now = parse_time(step["at"])
        if "renewLease" in step:
            renewals.update(renewed_leases(step["renewLease"], renewals))
        if "setCondition" in step:
            ready[step["setCondition"]["cluster"]] = step["setCondition"]["condition"]
        if step.get("controllerRestart"):
            memory.clear()
        stands = {name: reported(name, now) if by_renewal else pass_(name, now) for name in clusters}
        if not by_renewal:
            ready = stands  # the monitor writes what it decides and remembers it, and only the agent writes over it
            for name, known in memory.items():
                known.ready = stands[name]
        fields = ("type", "status", "reason")
        told = {
            name: [{k: stands[name][k] for k in fields if k in stands[name]}] if stands[name] else []
            for name in wanted.get("conditions") or ()
            if name in stands
        }
        timeline.append({"at": step["at"], **({"conditions": told} if told else {})})
    return {"timeline": timeline, **{k: v for k, v in timeline[-1].items() if k != "at"}}


_SILENT: Json = {"type": "Ready", "status": "Unknown", "reason": "ClusterStatusUnknown"}


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


def _skips(case: Case) -> bool:
    return case["area"] == "detector.aggregate" and dig(case["expect"], "detector", "skip") is True


def _last_verdict(case: Case) -> Json:
    """Upstream's: nothing is written, so what stood stands."""
    clusters = {body["metadata"]["name"]: body for body in case["given"]["objects"] if body["kind"] == "Cluster"}
    return {
        "conditions": {
            name: [
                {"type": c["type"], "status": c["status"]}
                for c in dig(clusters.get(name), "status", "conditions") or ()
                if c["type"] == _DNS
            ]
            for name in case["expect"].get("conditions") or ()
        }
    }


def _unknown(case: Case) -> Json:
    nodes = [body for body in case["given"].get("objects") or () if body["kind"] == "Node"]
    told = [{"type": _DNS, "status": "Unknown"}] if nodes else []
    return {"conditions": dict.fromkeys(case["expect"].get("conditions") or (), told)}


DIFFERENCES = (
    Difference(
        "seed 003: an empty clusterAffinity or decisionMatches means the same as an absent one",
        _explicitly_empty,
        _with_empties(selecting=False),
        _with_empties(selecting=True),
    ),
    Difference(
        "damping has its memory in the derived file, so a restart forgets nothing; one that another writer "
        "overruled lasts for its threshold again",
        _forgets,
        lambda case: _damped(case, _InMemory(case)),
        lambda case: _damped(case, _InFile(case)),
    ),
    Difference(
        "the age of a lease is counted from its renewTime, not from when a monitor saw it; what an agent reported "
        "counts again once its lease is renewed, and not before; and an Unknown gets the reason that holds now",
        _sees,
        lambda case: _monitored(case, by_renewal=False),
        lambda case: _monitored(case, by_renewal=True),
    ),
    Difference(
        "a detector's word that is stale or incomplete is Unknown; Karmada keeps the last verdict for ever",
        _skips,
        _last_verdict,
        _unknown,
    ),
)
