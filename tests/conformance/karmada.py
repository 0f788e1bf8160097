"""Cases of Karmada and its multicluster-cloud-provider: given objects, what is observed when, and what follows.

Where upstream runs one controller alone, the repository holds the same situation (`karmada_world`). Where muster
decides otherwise on purpose, it is held to its own expectation (`karmada_differences`). Compared is what a case
asserts: remedyActions, trafficBlockClusters, serviceLocations, taints (as the set that Kubernetes says they are) and
conditions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import muster
from muster.data.codes import Severity
from muster.data.times import format_time
from muster.data.tree import dig, mappings_at
from tests.conformance.karmada_differences import expectation, renewed_leases
from tests.conformance.karmada_errors import error_mismatches
from tests.conformance.karmada_race import race
from tests.conformance.karmada_trigger import trigger
from tests.conformance.karmada_world import World, cluster, found, settle_prior, unknown_inputs_of
from tests.conformance.reading import careful, cases_in, outcome, unknown_keys
from tests.conformance.report import Outcome

Json = Any
Case = Mapping[str, Json]

DNS = "ServiceDomainNameResolutionReady"
#: Areas that are not run, each with its reason.
SKIPPED: Mapping[str, str] = {
    "failover": "evicting workloads is the scheduler's business: muster decides taints and moves no workload",
}
#: The state that any case may assert, after the last observation or in its timeline.
_STATE = ("remedyActions", "taints", "conditions", "nodeConditions", "trafficBlockClusters", "serviceLocations")
_MATCHING = ("selects", "matches", "relatedRemedies")
#: Intermediate results that are asserted in one area.
_PROBED: Mapping[str, tuple[str, ...]] = {
    **{f"remedy.{area}": _MATCHING for area in ("affinity", "match", "actions", "reconcile", "sequence")},
    "remedy.trigger": ("reconcile",),
    "taintpolicy.match": ("matches",),
    "health.probe": ("online", "healthy"),
    "detector.aggregate": ("detector",),
}


def run(directory: Path) -> list[Outcome]:
    """Run every case of every file of Karmada's form in a directory."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Case]:
    """Yield the cases of files named after Karmada, in order. Times stay texts."""
    yield from cases_in(directory, "karmada")


@careful
def judge(case: Case) -> Outcome:
    """Run one case."""
    area = case["area"]
    for skipped, reason in SKIPPED.items():
        if area.split(".")[0] == skipped:
            return Outcome(area, case["id"], "skipped", actual=reason)
    runner = _RUNNERS.get(area) or _RUNNERS.get(area.split(".")[0])
    if runner is None:
        return Outcome(area, case["id"], "failed", f"one of the areas {sorted(_RUNNERS)}", f"area {area}")
    expect, _ = expectation(case)
    return outcome(area, case["id"], [*unknown_inputs_of(case), *_unknown(case), *runner(case, expect)])


#: What differs: expected and actual.
Wrong = Iterator[tuple[Json, Json]]


def _unknown(case: Case) -> Wrong:
    known = {"error", "allowed", "timeline", *_STATE, *_PROBED.get(case["area"], ())}
    yield from unknown_keys(case["expect"], known)
    for index, entry in enumerate(case["expect"].get("timeline") or ()):
        yield from unknown_keys(entry, {"at", *_STATE}, f"expect.timeline[{index}]")


# -- the situation of a case


def _world(case: Case, *, builtin_taints: bool = False, status_is_prior: bool = True) -> World:
    """The repository before the first observation."""
    params = case["given"].get("params") or {}
    world = World(builtin_taints=builtin_taints, allow_no_execute=params.get("allowNoExecuteTaintPolicy") is not False)
    for body in case["given"].get("objects") or ():
        if body["kind"] in ("Cluster", "MultiClusterIngress") and status_is_prior:
            body = settle_prior(world, body, builtin_taints=builtin_taints)
        world.put(body)
    return world


def _steps(case: Case, world: World, expect: Json, observe: Callable[[World, Json], None]) -> Wrong:
    """Play the observations, and compare the state after each; without any, the state now."""
    steps = case["given"].get("observations")
    if not steps:
        yield from _compare(world.evaluate(case["given"]["now"]), expect, _type_of(case))
        return
    timeline = list(expect.get("timeline") or ())
    for step in steps:
        observe(world, step)
        after = world.evaluate(step["at"])
        if timeline and timeline[0]["at"] == step["at"]:
            yield from _compare(after, timeline.pop(0), _type_of(case))
    if timeline:
        yield f"a state at {timeline[0]['at']}", f"observations at {[step['at'] for step in steps]}"
    yield from _compare(after, expect, _type_of(case))


def _type_of(case: Case) -> str:
    """The type of the conditions that an area is about."""
    return DNS if case["area"].startswith("detector.") else "Ready"


def _observe(world: World, step: Json) -> None:
    """What can happen in any area."""
    for verb in ("create", "update", "apply", "replace"):
        if verb in step:
            world.put(step[verb])
    if "delete" in step:
        world.drop(step["delete"])
    if "setCondition" in step:
        world.report(step["setCondition"]["cluster"], step["setCondition"]["condition"])
    if "renewLease" in step:
        leases = {key[2]: body for key, body in world.inputs.items() if key[0] == "Lease"}
        for name, instant in renewed_leases(step["renewLease"], leases).items():
            lease = leases[name]
            world.put({**lease, "spec": {**lease["spec"], "renewTime": format_time(instant)}})


# -- comparing


def _compare(run: muster.Run, expect: Json, type_: str = "Ready", *, admission: bool = False) -> Wrong:
    """The state after an observation; `type_` is that of the conditions where a case expects none."""
    if "allowed" in expect:
        refused = any(finding.severity is Severity.ERROR for finding in run.findings)
        yield from _differs({"allowed": expect["allowed"]}, {"allowed": not refused})
    if "error" in expect:
        yield from error_mismatches(expect["error"], run.findings, admission=admission)
    for name, actions in (expect.get("remedyActions") or {}).items():
        yield from _differs(actions, dig(found(run, "Cluster", name), "status", "remedyActions") or [])
    for name, taints in (expect.get("taints") or {}).items():
        have = mappings_at(found(run, "Cluster", name), "spec", "taints")
        yield from _differs(_by_identity(taints), _by_identity(have))
    for field in ("conditions", "nodeConditions"):
        for name, wanted in (expect.get(field) or {}).items():
            yield from _conditions(run, name, wanted, type_)
    for field in ("trafficBlockClusters", "serviceLocations"):
        for label, wanted in (expect.get(field) or {}).items():
            namespace, _, name = label.rpartition("/")
            yield from _differs(wanted, dig(found(run, "MultiClusterIngress", name, namespace), "status", field) or [])


def _differs(expected: Json, actual: Json) -> Wrong:
    if expected != actual:
        yield expected, actual


def _by_identity(taints: Json) -> Json:
    return sorted(taints, key=lambda taint: (taint["key"], taint["effect"]))


def _conditions(run: muster.Run, name: str, wanted: Json, type_: str) -> Wrong:
    """The complete list of the conditions of one type; reason and message where the case gives them."""
    types = {condition["type"] for condition in wanted} | {type_}
    have = [c for c in mappings_at(found(run, "Cluster", name), "status", "conditions") if c["type"] in types]
    shown = [{name: c.get(name) for name in w if w[name] != ""} for c, w in zip(have, wanted, strict=False)]
    told = [{name: w[name] for name in w if w[name] != ""} for w in wanted]
    if len(have) != len(wanted) or told != shown:
        yield wanted, have


# -- areas


def _remedy(case: Case, expect: Json) -> Wrong:
    yield from _steps(case, _world(case), expect, _observe)
    for key, without in (("selects", "decisionMatches"), ("matches", "clusterAffinity")):
        for name, clusters in (expect.get(key) or {}).items():
            yield from _differs({key: {name: clusters}}, {key: {name: _acts(case, name, without, clusters)}})
    related_to = expect.get("relatedRemedies") or {}
    if isinstance(related_to, list):  # of the one cluster of the case
        related_to = {b["metadata"]["name"]: related_to for b in case["given"]["objects"] if b["kind"] == "Cluster"}
    for name, remedies in related_to.items():
        bodies = [body["metadata"]["name"] for body in case["given"]["objects"] if body["kind"] == "Remedy"]
        related = [body for body in bodies if _acts(case, body, "decisionMatches", [name])[name]]
        yield from _differs({name: sorted(remedies)}, {name: sorted(related)})


def _acts(case: Case, remedy: str, without: str, clusters: Iterable[str]) -> dict[str, bool]:
    """Where one Remedy acts if nothing but its other half decides: its affinity, or its decisionMatches."""
    world = _world(case)
    for key in [key for key in world.inputs if key[0] == "Remedy"]:
        body = world.inputs.pop(key)
        if key[2] == remedy:
            spec = {name: value for name, value in body["spec"].items() if name != without}
            world.put({**body, "spec": {**spec, "actions": ["Conformance"]}})
    run = world.evaluate(case["given"]["now"])
    actions = {name: dig(found(run, "Cluster", name), "status", "remedyActions") or () for name in clusters}
    return {name: "Conformance" in done for name, done in actions.items()}


def _taint_policy(case: Case, expect: Json) -> Wrong:
    """`matches` is whether a policy's conditions to add hold: seen alone, whether it puts its taints on."""
    yield from _steps(case, _world(case), expect, _observe)
    for policy, clusters in (expect.get("matches") or {}).items():
        world = _world(case)
        for key in [key for key in world.inputs if key[0] == "ClusterTaintPolicy"]:
            body = world.inputs.pop(key)
            if key[2] == policy:
                spec = {name: body["spec"][name] for name in ("addOnConditions", "taints") if name in body["spec"]}
                world.put({**body, "spec": spec})
        run = world.evaluate(case["given"]["now"])
        latched = {name: mappings_at(found(run, "Cluster", name), "status", "muster", "latched") for name in clusters}
        have = {name: any(entry["policy"] == policy for entry in entries) for name, entries in latched.items()}
        yield from _differs({policy: clusters}, {policy: have})


def _trigger(case: Case, expect: Json) -> Wrong:
    yield from trigger(_world(case), case["given"], expect["reconcile"])
    yield from _compare(_world(case).evaluate(case["given"]["now"]), {"error": expect.get("error")})


def _validation(case: Case, expect: Json) -> Wrong:
    silent = {} if expect.get("allowed") is False else {"error": None}
    yield from _compare(_world(case).evaluate(case["given"]["now"]), {**silent, **expect}, admission=True)


def _race(case: Case, _expect: Json) -> Wrong:
    yield from race(_world(case), case)


def _threshold(case: Case, expect: Json) -> Wrong:
    """Probes go through the thresholds. Upstream's memory is what an earlier run derived; without one there is none."""
    cache = dig(case, "given", "state", "conditionCache") or {}
    world = _thresholds(case)
    type_ = DNS if case["area"].startswith("detector.") else "Ready"
    for body in case["given"].get("objects") or ():
        name = body["metadata"]["name"]
        current = next((c for c in mappings_at(body, "status", "conditions") if c["type"] == type_), None)
        world.put(cluster(name))
        if current and name in cache:
            _remember(world, name, current, cache[name])
    names = [body["metadata"]["name"] for body in case["given"].get("objects") or ()]

    def observe(world: World, step: Json) -> None:
        seen = step.get("ready") or step.get("observed")
        if "setCondition" in step:
            _overrule(world, step["setCondition"])
        for name in names:
            if seen:
                world.report(step.get("cluster") or step.get("node") or name, seen)
            elif "probe" in step:
                world.put(cluster(name, probe=_probe_status(step["probe"])))

    yield from _steps(case, world, expect, observe)


def _thresholds(case: Case) -> World:
    """Karmada's flags as parameters of the two policies."""
    world = World()
    for name, value in (case["given"].get("params") or {}).items():
        for ours in ("successThreshold", "failureThreshold"):
            if name.lower().endswith(ours.lower()):
                for policy in world.params.values():
                    policy[ours] = value
    return world


def _remember(world: World, name: str, current: Json, cached: Json) -> None:
    """The published condition, and the observation that waits where it differs."""
    status: Json = {"conditions": [current]}
    seen = cached.get("readyCondition") or cached.get("status") or cached.get("condition")
    if seen and seen != current["status"]:
        since = cached.get("thresholdStartTime") or "1970-01-01T00:00:00Z"
        status["muster"] = {"pending": {current["type"]: {"status": seen, "reason": "", "since": since}}}
    world.before(("Cluster", "", name), status=status)


def _overrule(world: World, written: Json) -> None:
    """Another writer publishes a condition."""
    world.files.pop(f"derived/clusters/{written['cluster']}.yaml", None)
    world.before(("Cluster", "", written["cluster"]), status={"conditions": [written["condition"]]})


#: What a probe found, by the reason of the condition: whether the cluster was reached, and whether it is well.
_ONLINE: Mapping[str, tuple[bool, bool]] = {
    "ClusterReady": (True, True),
    "ClusterNotReady": (True, False),
    "ClusterNotReachable": (False, False),
    "StatusCollectionFailed": (False, False),
}


def _probe(case: Case, expect: Json) -> Wrong:
    probe = _probe_status(case["given"].get("probe") or {})
    world = World()
    for name in expect.get("conditions") or ("member",):
        world.put(cluster(name, probe=probe))
        run = world.evaluate(case["given"]["now"])
        conditions = {c["type"]: c for c in mappings_at(found(run, "Cluster", name), "status", "conditions")}
        for key, have in zip(("online", "healthy"), _ONLINE[conditions["Ready"]["reason"]], strict=True):
            if key in expect:
                yield from _differs({key: expect[key]}, {key: have})
    yield from _compare(world.evaluate(case["given"]["now"]), expect, _type_of(case))


def _probe_status(given: Mapping[str, Json]) -> Json:
    """Statuses are numbers; whatever else a probe gave is an error of the client or of the connection."""
    probe: Json = {}
    for name, value in given.items():
        if isinstance(value, int) and not isinstance(value, bool):
            probe[name] = value
        elif "client" in name.lower():
            probe["clientError"] = str(value)
        elif name != "healthz":
            probe["error"] = str(value)
    return probe


def _taint(case: Case, expect: Json) -> Wrong:
    yield from _steps(case, _world(case, builtin_taints=True), expect, _observe)


def _taint_merge(case: Case, expect: Json) -> Wrong:
    """A function upstream; here one policy that takes taints off, and after it one that puts them on."""
    world = _world(case)
    marked = [{"conditionType": "Merge", "operator": "In", "statusValues": ["True"]}]
    for name, field, when in (("a", "taintsToRemove", "removeOnConditions"), ("b", "taintsToAdd", "addOnConditions")):
        if taints := [
            {k: v for k, v in t.items() if k != "timeAdded"} for t in dig(case, "given", "params", field) or ()
        ]:
            world.put(
                {
                    "apiVersion": "policy.karmada.io/v1alpha1",
                    "kind": "ClusterTaintPolicy",
                    "metadata": {"name": name},
                    "spec": {when: marked, "taints": taints},
                }
            )
    for key in [key for key in world.inputs if key[0] == "Cluster"]:
        world.report(key[2], {"type": "Merge", "status": "True", "reason": "Conformance"})
    yield from _compare(world.evaluate(case["given"]["now"]), expect, _type_of(case))


def _monitor(case: Case, expect: Json) -> Wrong:
    params = case["given"].get("params") or {}
    world = _world(case)
    for ours, theirs in (
        ("monitorGracePeriod", "clusterMonitorGracePeriod"),
        ("startupGracePeriod", "clusterStartupGracePeriod"),
    ):
        if theirs in params:
            world.params["cluster-ready"][ours] = params[theirs]
    yield from _steps(case, world, expect, _observe)


def _aggregate(case: Case, expect: Json) -> Wrong:
    """What each node's detector saw, as the cluster reports it."""
    world = _world(case)
    stale = dig(case, "given", "params", "staleThreshold")
    if stale:
        world.params["service-domain-name-resolution-ready"]["staleThreshold"] = stale
    nodes = [body for body in case["given"].get("objects") or () if body["kind"] == "Node"]
    for key in [key for key in world.inputs if key[0] == "Cluster"]:
        body = world.inputs[key]
        conditions = body["status"].get("conditions") or []
        published = [c for c in conditions if c["type"] == DNS]
        if published:
            world.before(key, status={"conditions": published})
        status = {"conditions": [c for c in conditions if c["type"] != DNS], "detections": list(map(_detection, nodes))}
        world.put({**body, "status": status})
    run = world.evaluate(case["given"]["now"])
    yield from _compare(run, expect, DNS)
    if told := expect.get("detector"):
        yield from unknown_keys(told, ("skip", "alarm"), "expect.detector")
        for key in [key for key in world.inputs if key[0] == "Cluster"]:
            conditions = {
                c["type"]: c["status"] for c in mappings_at(found(run, "Cluster", key[2]), "status", "conditions")
            }
            status = conditions.get(DNS, "Unknown")
            yield from _differs(told.get("skip", False), status == "Unknown")
            if not told.get("skip"):  # beside a skip, the alarm is what the code happens to return
                yield from _differs(told["alarm"], status == "False")


def _detection(node: Json) -> Json:
    conditions = {c["type"]: c for c in mappings_at(node, "status", "conditions")}
    seen = conditions.get(DNS, {})
    found_ = {
        "source": node["metadata"]["name"],
        "type": DNS,
        "status": seen.get("status", "Unknown"),
        "nodeReady": dig(conditions, "Ready", "status") == "True",
    }
    return {**found_, **({"lastUpdateTime": seen["lastHeartbeatTime"]} if seen.get("lastHeartbeatTime") else {})}


def _detector_condition(case: Case, expect: Json) -> Wrong:
    status = "False" if case["given"].get("alarm") else "True"
    world = World()
    for name in expect.get("conditions") or ():
        world.put(cluster(name, detections=[{"source": "leader", "type": DNS, "status": status}]))
    yield from _compare(world.evaluate(case["given"]["now"]), expect, _type_of(case))


def _traffic(case: Case, expect: Json) -> Wrong:
    """A cluster's actions come from Remedies here: one for each cluster that a case gives actions to."""
    world = _world(case)
    for body in case["given"].get("objects") or ():
        name = body["metadata"]["name"]
        if body["kind"] == "Cluster" and (actions := dig(body, "status", "remedyActions")):
            spec = {"clusterAffinity": {"clusterNames": [name]}, "actions": actions}
            remedy = {"apiVersion": "remedy.karmada.io/v1alpha1", "kind": "Remedy", "metadata": {"name": f"of-{name}"}}
            world.put({**remedy, "spec": spec})
    yield from _steps(case, world, expect, _observe)


def _locations(case: Case, expect: Json) -> Wrong:
    """What the status says before was computed by an earlier run."""
    world = _world(case)
    for key in [key for key in world.inputs if key[0] == "MultiClusterIngress"]:
        body = world.inputs[key]
        if before := body["status"].get("serviceLocations"):
            world.before(key, status={"serviceLocations": before})
        world.put({name: value for name, value in body.items() if name != "status"})
    yield from _steps(case, world, expect, _observe)


_RUNNERS: Mapping[str, Callable[[Case, Json], Wrong]] = {
    "remedy": _remedy,
    "remedy.trigger": _trigger,
    "remedy.validation": _validation,
    "taintpolicy": _taint_policy,
    "taintpolicy.race": _race,
    "taintpolicy.validation": _validation,
    "health.threshold": _threshold,
    "health.probe": _probe,
    "health.taint": _taint,
    "health.taintMerge": _taint_merge,
    "health.monitor": _monitor,
    "detector.threshold": _threshold,
    "detector.aggregate": _aggregate,
    "detector.condition": _detector_condition,
    "mci.trafficBlock": _traffic,
    "mci.serviceLocations": _locations,
}
