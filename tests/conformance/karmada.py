"""Cases of Karmada and its multicluster-cloud-provider: given objects, what is observed when, and what follows.

Where upstream runs one controller alone, the repository holds the same situation (`karmada_world`). Where muster
decides otherwise on purpose, it is held to its own expectation (`karmada_differences`). Compared is what a case
asserts: remedyActions, trafficBlockClusters, serviceLocations, taints (as the set that Kubernetes says they are) and
conditions.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

import muster
from muster.model.finding import Finding, Severity
from muster.model.times import format_time
from muster.model.tree import dig, mappings_at
from tests.conformance.karmada_differences import expectation, renewed_leases
from tests.conformance.karmada_world import World, found, settle_prior
from tests.conformance.report import Outcome

Json = Any
Case = Mapping[str, Json]

DNS = "ServiceDomainNameResolutionReady"
#: Areas that are not run, each with its reason.
SKIPPED: Mapping[str, str] = {
    "failover": "evicting workloads is the scheduler's business: muster decides taints and moves no workload",
}
#: How upstream's validation calls what is wrong, and the codes of the findings that say so.
_CODES: Mapping[str, tuple[str, ...]] = {
    "required": ("MUS204", "MUS206"),
    "duplicate": ("MUS223",),
    "forbidden": ("MUS224",),
}


def run(directory: Path) -> list[Outcome]:
    """Run every case of every file of Karmada's form in a directory."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Case]:
    """Yield the cases of files named `karmada*.yaml`, in order. Times stay texts."""
    for path in sorted(directory.glob("karmada*.y*ml")):
        yield from (yaml.load(path.read_text(encoding="utf-8"), Loader=_Texts) or {}).get("cases") or ()


class _Texts(yaml.SafeLoader):
    """A loader that leaves times as they are written."""


_Texts.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def judge(case: Case) -> Outcome:
    area = case["area"]
    for skipped, reason in SKIPPED.items():
        if area.split(".")[0] == skipped:
            return Outcome(area, case["id"], "skipped", actual=reason)
    runner = _RUNNERS.get(area) or _RUNNERS[area.split(".")[0]]
    expect, _ = expectation(case)
    try:
        wrong = list(runner(case, expect))
    except Exception as error:  # noqa: BLE001 - a case that breaks the adapter is a failed one, the others go on
        return Outcome(area, case["id"], "failed", actual=f"{type(error).__name__}: {error}")
    if not wrong:
        return Outcome(area, case["id"], "passed")
    expected, actual = wrong[0]
    return Outcome(area, case["id"], "failed", str(expected), str(actual))


#: What differs: expected and actual.
Wrong = Iterator[tuple[Json, Json]]


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
        yield from _compare(world.evaluate(case["given"]["now"]), expect)
        return
    timeline = {entry["at"]: entry for entry in expect.get("timeline") or ()}
    for step in steps:
        observe(world, step)
        after = world.evaluate(step["at"])
        yield from _compare(after, timeline.get(step["at"], {}))
    yield from _compare(after, {key: value for key, value in expect.items() if key != "timeline"})


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


def _compare(run: muster.Run, expect: Json) -> Wrong:
    for name, actions in (expect.get("remedyActions") or {}).items():
        yield from _differs(actions, dig(found(run, "Cluster", name), "status", "remedyActions") or [])
    for name, taints in (expect.get("taints") or {}).items():
        have = mappings_at(found(run, "Cluster", name), "spec", "taints")
        yield from _differs(_by_identity(taints), _by_identity(have))
    for field in ("conditions", "nodeConditions"):
        for name, wanted in (expect.get(field) or {}).items():
            yield from _conditions(run, name, wanted)
    for field in ("trafficBlockClusters", "serviceLocations"):
        for label, wanted in (expect.get(field) or {}).items():
            namespace, _, name = label.rpartition("/")
            yield from _differs(wanted, dig(found(run, "MultiClusterIngress", name, namespace), "status", field) or [])


def _differs(expected: Json, actual: Json) -> Wrong:
    if expected != actual:
        yield expected, actual


def _by_identity(taints: Json) -> list[Json]:
    return sorted(taints, key=lambda taint: (taint["key"], taint["effect"]))


def _conditions(run: muster.Run, cluster: str, wanted: Json) -> Wrong:
    """The complete list of the conditions of one type; reason and message where the case gives them."""
    types = {condition["type"] for condition in wanted} or {"Ready", DNS}
    have = [c for c in mappings_at(found(run, "Cluster", cluster), "status", "conditions") if c["type"] in types]
    shown = [{name: c.get(name) for name in w if w[name] != ""} for c, w in zip(have, wanted, strict=False)]
    if len(have) != len(wanted) or shown != [{name: w[name] for name in w if w[name] != ""} for w in wanted]:
        yield wanted, have


# -- areas


def _remedy(case: Case, expect: Json) -> Wrong:
    yield from _steps(case, _world(case), expect, _observe)


def _trigger(case: Case, expect: Json) -> Wrong:
    """Karmada's queue: which clusters an event wakes. Here every run looks at every cluster.

    So after the event no cluster may stand otherwise than a fresh evaluation says, and those that change are among the
    ones that upstream wakes; for the event of a cluster upstream wakes none, and lets a Remedy wait.
    """
    event, world = case["given"]["event"], _world(case)
    bodies = [body for body in (event.get("oldObject"), event.get("object")) if body]
    named = {name for body in bodies for name in dig(body, "spec", "clusterAffinity", "clusterNames") or ()}
    for name in sorted({*named, *expect["reconcile"]}):
        if ("Cluster", "", name) not in world.inputs:
            world.put(_cluster(name))
    if old := event.get("oldObject") or (event.get("object") if event["type"] == "Delete" else None):
        world.put(_acting(old))
    before = _actions(world.evaluate(case["given"]["now"]))
    if event["type"] == "Delete":
        world.drop(event["object"])
    else:
        world.put(_acting(event["object"]))
    after = _actions(world.evaluate(case["given"]["now"]))
    fresh = World(inputs=dict(world.inputs))
    yield from _differs(_actions(fresh.evaluate(case["given"]["now"])), after)
    changed = {name for name in after if before.get(name) != after[name]}
    if event["object"]["kind"] == "Remedy":
        yield from _differs(set(), changed - set(expect["reconcile"]))


def _acting(body: Json) -> Json:
    """A Remedy that does something, so that what it reaches can be seen."""
    if body["kind"] != "Remedy" or dig(body, "spec", "actions"):
        return body
    return {**body, "spec": {**(body.get("spec") or {}), "actions": ["TrafficControl"]}}


def _actions(run: muster.Run) -> dict[str, Json]:
    clusters = (body for body in run.objects if body["kind"] == "Cluster")
    return {body["metadata"]["name"]: dig(body, "status", "remedyActions") or [] for body in clusters}


def _cluster(name: str, **status: Json) -> Json:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"syncMode": "Push"}, "status": status,
    }  # fmt: skip


def _validation(case: Case, expect: Json) -> Wrong:
    findings = _world(case).evaluate(case["given"]["now"]).findings
    errors = [found for found in findings if found.severity is Severity.ERROR]
    wanted = expect.get("error") or []
    for error in wanted if isinstance(wanted, list) else [wanted]:
        if not any(_says(found, error) for found in errors):
            yield error, errors
    if not wanted and errors:
        yield "no error", errors


def _says(finding: Finding, error: Json) -> bool:
    codes = _CODES.get(error.get("type", ""))
    return str(error.get("field", "")) in finding.message and (codes is None or finding.code in codes)


def _race(case: Case, expect: Json) -> Wrong:
    """Upstream's write fails and is tried again. Here the other's commit comes first, and its head is evaluated."""
    world = _world(case)
    write = case["given"]["concurrentWrite"]
    name = next(body["metadata"]["name"] for body in case["given"]["objects"] if body["kind"] == "Cluster")
    body = world.inputs[("Cluster", "", name)]
    world.put({**body, "spec": {**body["spec"], "taints": [write["appendTaint"]]}})
    run = world.evaluate(case["given"]["now"])
    have = {(taint["key"], taint["effect"]) for taint in mappings_at(found(run, "Cluster", name), "spec", "taints")}
    policies = [body for body in case["given"]["objects"] if body["kind"] == "ClusterTaintPolicy"]
    taints = [write["appendTaint"], *(taint for policy in policies for taint in policy["spec"]["taints"])]
    yield from _differs({(taint["key"], taint["effect"]) for taint in taints}, have)


def _threshold(case: Case, expect: Json) -> Wrong:
    """Probes go through the thresholds. Upstream's memory is what an earlier run derived; without one there is none."""
    cache = dig(case, "given", "state", "conditionCache") or {}
    world = _thresholds(case)
    type_ = DNS if case["area"].startswith("detector.") else "Ready"
    for body in case["given"].get("objects") or ():
        name = body["metadata"]["name"]
        current = next((c for c in mappings_at(body, "status", "conditions") if c["type"] == type_), None)
        world.put(_cluster(name))
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
                world.put(_cluster(name, probe=_probe_status(step["probe"])))

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


def _probe(case: Case, expect: Json) -> Wrong:
    probe = _probe_status(case["given"].get("probe") or {})
    world = World()
    for name in expect.get("conditions") or ():
        world.put(_cluster(name, probe=probe))
    yield from _compare(world.evaluate(case["given"]["now"]), expect)


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
            world.put({
                "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": name},
                "spec": {when: marked, "taints": taints},
            })  # fmt: skip
    for key in [key for key in world.inputs if key[0] == "Cluster"]:
        world.report(key[2], {"type": "Merge", "status": "True", "reason": "Conformance"})
    yield from _compare(world.evaluate(case["given"]["now"]), expect)


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
    yield from _compare(world.evaluate(case["given"]["now"]), expect)


def _detection(node: Json) -> Json:
    conditions = {c["type"]: c for c in mappings_at(node, "status", "conditions")}
    seen = conditions.get(DNS, {})
    found_ = {
        "source": node["metadata"]["name"], "type": DNS, "status": seen.get("status", "Unknown"),
        "nodeReady": dig(conditions, "Ready", "status") == "True",
    }  # fmt: skip
    return {**found_, **({"lastUpdateTime": seen["lastHeartbeatTime"]} if seen.get("lastHeartbeatTime") else {})}


def _detector_condition(case: Case, expect: Json) -> Wrong:
    status = "False" if case["given"].get("alarm") else "True"
    world = World()
    for name in expect.get("conditions") or ():
        world.put(_cluster(name, detections=[{"source": "leader", "type": DNS, "status": status}]))
    yield from _compare(world.evaluate(case["given"]["now"]), expect)


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
    "taintpolicy": _remedy,
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
