"""A fleet repository for one case of Karmada: inputs as people and agents commit them, and what was derived before.

Karmada keeps one object; muster keeps its parts apart. What Karmada's controllers wrote into an object earlier (taints,
remedyActions, trafficBlockClusters) is prior derived state here; conditions that a case gives are an agent's report.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import muster
from muster.data.times import parse_time
from muster.data.tree import dig
from tests.conformance.evaluating import evaluated
from tests.conformance.reading import as_yaml, unknown_inputs, unknown_keys

Json = Any
Key = tuple[str, str, str]

#: Kinds that a repository can hold; a case's Nodes are translated by its area.
KINDS = ("Cluster", "Remedy", "ClusterTaintPolicy", "MultiClusterIngress", "ResourceBinding", "Lease")
BUILTIN_TAINTS = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
_PLURALS = {"Cluster": "clusters", "MultiClusterIngress": "multiclusteringresses"}


def key_of(body: Json) -> Key:
    """Kind, namespace and name."""
    metadata = body.get("metadata") or {}
    return body["kind"], metadata.get("namespace") or "", metadata.get("name") or body.get("name", "")


@dataclass
class World:
    """One case's repository. Upstream has no budgets, so none is in the way here."""

    inputs: dict[Key, Json] = field(default_factory=dict)
    derived: dict[Key, Json] = field(default_factory=dict)
    params: dict[str, dict[str, Json]] = field(default_factory=dict)
    allow_no_execute: bool = True
    builtin_taints: bool = False
    files: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for policy in ("cluster-ready", "service-domain-name-resolution-ready"):
            self.params[policy] = {"successThreshold": "0s", "failureThreshold": "0s"}

    def put(self, body: Json) -> None:
        """Commit an input in place of the one of its name."""
        if body.get("kind") in KINDS:
            self.inputs[key_of(body)] = body

    def drop(self, body: Json) -> None:
        """Remove an input."""
        kind, namespace, name = key_of(body)
        for key in [key for key in self.inputs if (key[0], key[2]) == (kind, name) and namespace in ("", key[1])]:
            del self.inputs[key]

    def report(self, cluster: str, condition: Json) -> None:
        """Let an agent report a condition."""
        body = self.inputs[("Cluster", "", cluster)]
        status = dict(body.get("status") or {})
        others = [c for c in status.get("conditions") or () if c["type"] != condition["type"]]
        status["conditions"] = [*others, condition]
        self.inputs[("Cluster", "", cluster)] = {**body, "status": status}

    def before(self, key: Key, **sections: Json) -> None:
        """Say what an earlier run derived: `spec` and `status` of an object."""
        kind, namespace, name = key
        body = self.derived.setdefault(key, {"kind": kind, "metadata": {"name": name}})
        if namespace:
            body["metadata"]["namespace"] = namespace
        for section, fields in sections.items():
            body[section] = {**body.get(section, {}), **fields}

    def evaluate(self, now: str) -> muster.Run:
        """Evaluate at an instant, and keep what is derived for the next evaluation."""
        run = evaluated(self.tree(), parse_time(now))
        for path, content in run.files.items():
            if content is None:
                self.files.pop(path, None)
            else:
                self.files[path] = content
        return run

    def tree(self) -> dict[str, str]:
        """The repository's files."""
        for key, body in self.derived.items():
            kind, namespace, name = key
            version = self.inputs[key]["apiVersion"] if key in self.inputs else ""
            folder = "/".join(step for step in (_PLURALS[kind], namespace) if step)
            self.files[f"derived/{folder}/{name}.yaml"] = _yaml([{"apiVersion": version, **body}])
        self.derived.clear()
        inputs = {f"inputs/{index}.yaml": _yaml([body]) for index, body in enumerate(self.inputs.values())}
        return {"settings.yaml": _yaml(self._settings()), **inputs, **self.files}

    def _settings(self) -> Iterable[Json]:
        version = "muster.dev/v1alpha1"
        spec = {"policyParams": self.params, "taints": {"allowNoExecute": self.allow_no_execute}}
        yield {"apiVersion": version, "kind": "Fleet", "metadata": {"name": "conformance"}, "spec": spec}
        unlimited = {"maxDisrupted": "100%", "ignoreUpTo": 1_000_000}
        yield {"apiVersion": version, "kind": "DisruptionBudget", "metadata": {"name": "default"}, "spec": unlimited}
        if not self.builtin_taints:
            taints = [{"key": "conformance/none", "effect": "NoSchedule", "when": "self.metadata.name == ''"}]
            inert = {"target": {"kind": "Cluster"}, "taints": taints}
            name = {"name": "cluster-builtin-taints"}
            yield {"apiVersion": version, "kind": "TaintPolicy", "metadata": name, "spec": inert}


def _yaml(bodies: Iterable[Json]) -> str:
    return as_yaml(*bodies)


def settle_prior(world: World, body: Json, *, builtin_taints: bool) -> Json:
    """Split what controllers wrote off a cluster or ingress: it becomes prior derived state. Return the rest."""
    spec, status = dict(body.get("spec") or {}), dict(body.get("status") or {})
    key = key_of(body)
    if body["kind"] == "Cluster":
        taints = spec.pop("taints", None) or []
        latched = [
            {"key": t["key"], "effect": t["effect"], "policy": "earlier"}
            for t in taints
            if not (builtin_taints and t["key"] in BUILTIN_TAINTS and t["effect"] == "NoSchedule")
        ]
        if taints:
            world.before(key, spec={"taints": taints}, status={"muster": {"latched": latched}})
        if actions := status.pop("remedyActions", None):
            world.before(key, status={"remedyActions": actions})
    elif blocked := status.pop("trafficBlockClusters", None):
        world.before(key, status={"trafficBlockClusters": blocked})
    return {**body, **({"spec": spec} if spec or "spec" in body else {}), "status": status}


def cluster(name: str, **status: Json) -> Json:
    """A cluster with nothing to it but its status."""
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push"},
        "status": status,
    }


def found(run: muster.Run, kind: str, name: str, namespace: str = "") -> Json:
    """The assembled object of a run; an empty mapping where there is none."""
    for body in run.objects:
        metadata = body["metadata"]
        if (body["kind"], metadata.get("namespace") or "", metadata["name"]) == (kind, namespace, name):
            return body
    return {}


#: What a case may give, and what can happen in an observation.
_GIVEN = ("now", "objects", "request", "event", "observations", "concurrentWrite", "params", "state", "probe", "alarm")
_OBSERVED = (
    "at",
    "ready",
    "observed",
    "probe",
    "cluster",
    "node",
    "setCondition",
    "create",
    "update",
    "apply",
    "replace",
    "delete",
    "event",
    "renewLease",
    "controllerRestart",
)
_EVENTS = ("monitor", "controllerRestart", "detectorRestart")
_PARAMS = (
    "clusterSuccessThreshold",
    "clusterFailureThreshold",
    "successThreshold",
    "failureThreshold",
    "staleThreshold",
    "clusterMonitorPeriod",
    "clusterMonitorGracePeriod",
    "clusterStartupGracePeriod",
    "allowNoExecuteTaintPolicy",
    "taintsToAdd",
    "taintsToRemove",
    "detectPeriod",
)
_REMEMBERED = ("readyCondition", "status", "condition", "thresholdStartTime")


def unknown_inputs_of(case: Json) -> Iterator[tuple[Json, Json]]:
    """What of a case nothing here puts into a repository."""
    given = case["given"]
    yield from unknown_inputs(case, _GIVEN)
    yield from unknown_keys(given.get("params") or {}, _PARAMS, "given.params")
    yield from unknown_keys(given.get("state") or {}, ("conditionCache",), "given.state")
    for name, cached in (dig(given, "state", "conditionCache") or {}).items():
        yield from unknown_keys(cached or {}, _REMEMBERED, f"given.state.conditionCache.{name}")
    for step in given.get("observations") or ():
        yield from unknown_keys(step, _OBSERVED, "given.observations[]")
        if step.get("event", "monitor") not in _EVENTS:
            yield f"one of the events {_EVENTS}", step["event"]
