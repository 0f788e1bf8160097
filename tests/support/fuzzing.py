"""Everything that muster does with a fleet, done with broken ones: `python -m tests.support.fuzzing [SEED [ROUNDS]]`.

A fault is an exception, or the finding by which the engine says that it has caught one. Prints how many there were, by
the place in our code at which they arose.
"""

# ruff: noqa: E501 - YAML
import base64
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from muster.cli.columns import rows
from muster.cli.documents import json_text, yaml_stream
from muster.cli.outcome import findings_text
from muster.data.codes import Code
from muster.data.kinds import BY_NAME, MULTI_CLUSTER_INGRESS
from muster.features.export.endpoints import load_balancer, routing
from muster.features.export.objects import exported
from muster.features.plan.plan import plan_document, result_document
from muster.features.pulses.publish import next_look, opener, publish
from muster.features.pulses.sinks import RetryPatience
from muster.git.memory.pulses import PulseMemory, decoded, encoded
from muster.run.checking import check_snapshot
from muster.run.run import Run, Settled
from muster.run.settle import settle
from muster.run.transitions.subjects import subject_line
from muster.run.transitions.transitions import commit_message
from tests.support.example import EXAMPLE, NOON
from tests.support.mutations import Broken, Files, Mutator

ROOT = EXAMPLE.parent
#: Findings that say: a fault of ours was caught.
FAULTS = frozenset((Code.FAULT_AT_OBJECT, Code.FAULT))
#: Findings that say: this is no derived part as muster writes them.
STRANGE = frozenset((Code.DERIVED_DAMAGED, Code.NOT_A_DERIVED_PART, Code.STRANGE_DERIVED_FIELD))
_INSTANTS = (
    NOON,
    NOON + timedelta(minutes=10),
    NOON + timedelta(days=400),
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC, microsecond=0),
    NOON - timedelta(days=400),
)
_HASTE = RetryPatience(lambda _seconds: None, lambda: 0.5)

_SETTINGS = """
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata:
  name: example
  annotations: {muster.dev/allow-disruption: "until 2026-01-02T00:00:00Z: move"}
spec:
  commit: {skipCI: true}
  derived: {shards: 1}
  heartbeats: {maxPerSecond: 0.1}
  registration: {autoAccept: true}
  limits: {expressionCost: 10000000}
  taints: {allowNoExecute: true}
  outputs: [placementdecisions.multicluster.x-k8s.io, clusterprofiles.multicluster.x-k8s.io]
  reports: {maxAge: 40m, maxAhead: 5m}
  pools:
    externalDependencies: [Secret/pools/aws-credentials]
  adapters:
    ManagedCluster: [dns, validation]
    NodePool: [hypershift, validation]
  policyParams: {cluster-ready: {failureThreshold: 40s, monitorGracePeriod: 40s}, adapters-pulses: {ready: 20m}}
  pulses:
    sinks:
    - {name: log, url: "file:pulses.jsonl"}
    - {name: web, url: "http://127.0.0.1:1/events", mode: binary, timeout: 1s, attempts: 1, backoff: 1ms}
    - {name: mq, url: "amqp://127.0.0.1:1/x", timeout: 1s, attempts: 1, credentialsFrom: MUSTER_SINK_FUZZ}
"""
_MORE = """
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: eu}
spec:
  selector: {matchLabels: {region: eu}}
  domainLabel: topology.kubernetes.io/region
  maxDisrupted: 10%
  ignoreUpTo: 0
  cooldown: 30m
  suspectObserverAt: 50%
  minAvailableBackends: 1
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: not-ready}
spec:
  targetClusters: {clusterNames: [member-eu-1, member-us-1]}
  addOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: ["True"]}]
  removeOnConditions: [{conditionType: Ready, operator: In, statusValues: ["True"]}]
  taints: [{key: fuzz, effect: NoExecute}]
---
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: damped}
spec:
  target: {kind: ManagedCluster}
  type: Damped
  matchConditions: [{name: has-lease, expression: has(lease.spec)}]
  variables: [{name: age, expression: now - lease.spec.renewTime}]
  holdFor: {"True": 30s, "False": 10m, Unknown: 1h}
  rules:
  - {name: old, when: variables.age > duration('10m'), status: "False", reason: Old, messageExpression: "string(variables.age)"}
  - {name: new, statusExpression: "'True'", reason: New, message: x, observedGenerationExpression: generation}
---
apiVersion: muster.dev/v1alpha1
kind: PulsePolicy
metadata: {name: fuzz}
spec:
  target: {kind: ManagedCluster}
  rules:
  - {name: old, when: "has(lease.spec) && now - lease.spec.renewTime > duration('1m')"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: fuzz}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
  validations: [{expression: "object.metadata.name != 'x'", messageExpression: "'no ' + object.metadata.name"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: fuzz}
spec: {policyName: fuzz, validationActions: [Deny]}
"""
_AGENT = """
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: managed-cluster-lease, namespace: new-ap-1}
spec: {holderIdentity: new-ap-1, renewTime: "2026-01-01T11:59:30Z", leaseDurationSeconds: 60}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: new-ap-1}
status:
  conditions:
  - {type: ManagedClusterConditionAvailable, status: "True", reason: Ok, message: ok, lastTransitionTime: "2026-01-01T11:59:30Z"}
  allocatable: {cpu: "4", memory: 8Gi}
  clusterClaims: [{name: id, value: "1"}]
---
apiVersion: muster.dev/v1alpha1
kind: AdapterReport
metadata: {name: dns, namespace: new-ap-1}
spec:
  resource: {kind: ManagedCluster, name: new-ap-1}
  adapter: dns
  observed_generation: 1
  observed_time: "2026-01-01T11:59:30Z"
  conditions:
  - {type: Available, status: "True", last_transition_time: "2026-01-01T11:59:30Z"}
  - {type: Applied, status: "True"}
  - {type: Health, status: "True"}
"""


@cache
def corpus() -> Files:
    """The example fleet with every setting, further policies, the bundle's as its own, and an agent's ref."""
    found: Files = {}
    for root, prefix in ((EXAMPLE, ""), (ROOT / "policies", "policies/")):
        for path in root.rglob("*.yaml"):
            replaced = path.name == "managed-cluster-builtin-taints.yaml"  # by a file of the example
            if path.parent.name == "library":
                continue
            if "/." not in str(path.relative_to(root.parent)) and not path.name.endswith(".test.yaml") and not replaced:
                found["", f"{prefix}{path.relative_to(root)}"] = path.read_bytes()
    found["", "fleet.yaml"] = _SETTINGS.encode()
    found["", "policies/fuzz.yaml"] = _MORE.encode()
    found["agents/new-ap-1", "agent.yaml"] = _AGENT.encode()
    return found


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of ours: where in our code it arose, what it was, and in which round."""

    place: str
    what: str
    seed: int


def faults(seed: int, folder: Path) -> Iterator[Fault]:
    """Break the fleet by a seed, do everything with it, and yield the faults. Files of sinks go to `folder`."""
    mutator = Mutator(corpus(), seed)
    files = mutator.broken()
    instants = sorted(mutator.draws.sample(_INSTANTS, 2)) if seed % 3 else [NOON, NOON + timedelta(hours=1)]
    try:
        _done(check_snapshot(Broken(files)).findings)
        for number, instant in enumerate(instants):
            settled = settle(Broken(files), instant)
            yield from _caught(settled, seed)
            if number:
                yield from _strange(settled, seed)
            use(settled, folder)
            lay_over(files, settled)
    except Exception as error:  # noqa: BLE001 - what the fuzzer is for
        yield Fault(place_of(error), f"{type(error).__name__}: {error}"[:160], seed)


def use(settled: Settled, folder: Path) -> None:
    """Everything that commands do with what a fleet settled on."""
    run = settled.last
    commit_message(run, settled.changes)
    subject_line(settled.changes)
    json_text([*run.objects, *run.pulses])
    json_text({**plan_document(settled), **result_document(settled)})
    yaml_stream(run.objects)
    for status in (False, True):
        exported(run.objects, named=True, status=status)
    findings_text(run.findings)
    _tables(run)
    load_balancer("nginx")(routing(run.fleet, list(run.fleet.of(MULTI_CLUSTER_INGRESS))), 80)
    next_look(run)
    memory = PulseMemory()
    environ = {"MUSTER_SINK_FUZZ": base64.b64encode(b"x").decode()}
    publish(
        run.fleet,
        run.fleet.pulses[:3],
        memory,
        open_sink=opener(folder, environ),
        remember=lambda _: None,
        patience=_HASTE,
    )
    decoded(encoded(memory))


def _tables(run: Run) -> None:
    for kind in sorted({body["kind"] for body in run.objects}):
        rows(kind, [body for body in run.objects if body["kind"] == kind], run.now, namespaced=BY_NAME[kind].namespaced)


def _caught(settled: Settled, seed: int) -> Iterator[Fault]:
    for found in (*settled.first.findings, *settled.findings):
        if found.code in FAULTS:
            yield Fault(found.message.rpartition(" at ")[2], found.message[:160], seed)


def _strange(settled: Settled, seed: int) -> Iterator[Fault]:
    """What the run before wrote, this one must find sound."""
    for found in settled.first.findings:
        if found.code in STRANGE:
            yield Fault(f"{found.code} {found.file}", found.message[:160], seed)


def lay_over(files: Files, settled: Settled) -> None:
    for path, text in settled.files.items():
        if text is None:
            files.pop(("", path), None)
        else:
            files["", path] = text.encode()


def _done(_: object) -> None:
    """What is lazy has been asked for."""


def place_of(error: BaseException) -> str:
    """The innermost place in our own code: `decide/damping.py:55 pending`."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/engine/muster/" in frame.filename]
    if not frames:
        return "elsewhere"
    return f"{frames[-1].filename.partition('/engine/muster/')[2]}:{frames[-1].lineno} {frames[-1].name}"


def by_place(found: Iterable[Fault]) -> str:
    """A table of faults: how often, where, an example and its seed."""
    told = list(found)
    counts = Counter(fault.place for fault in told)
    example = {fault.place: fault for fault in reversed(told)}
    return "\n".join(
        f"{count:5} {place}  {example[place].what}  (seed {example[place].seed})"
        for place, count in counts.most_common()
    )


def main(first: int = 0, rounds: int = 1000) -> None:
    """Count faults by place."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        found = [fault for seed in range(first, first + rounds) for fault in faults(seed, Path(folder))]
    broken = len({fault.seed for fault in found})
    sys.stdout.write(f"{by_place(found)}\n{broken} of {rounds} rounds had a fault of ours\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
