"""Every stage says why: by which rule, and from which fields, that a person can open."""

from datetime import datetime, timedelta

from muster.decide.context import Broadcast, Context
from muster.decide.pipeline import STAGES
from muster.engine.settle import settle
from muster.fleet.fleet import Fleet
from muster.fleet.places import place_of
from muster.model.decision import Because, Decision, Failed, Held, Pulse, Wake
from muster.model.ids import ObjectId
from muster.model.source import Place
from muster.policy.ruled import Ruled
from tests.decide.test_pipeline import fleet_of
from tests.support.example import NOON
from tests.support.fuzzing import corpus, lay_over
from tests.support.mutations import Broken, Files, Mutator

#: Stages that only tell others something, or whose outcomes no fleet below has.
SILENT = {"wishes", "departures", "pool clusters", "identity"}


#: What the example fleet does not have: a cluster without a set that is being removed, with an add-on and a node pool;
#: a latching taint; and a request that a person approved.
FURTHER = """
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: leaving, deletionTimestamp: "2026-01-01T11:00:00Z", finalizers: [a.b/c]}
spec: {hubAcceptsClient: true}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: search, namespace: leaving}
---
apiVersion: muster.dev/v1alpha1
kind: NodePool
metadata: {name: workers, namespace: leaving}
spec: {}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: latch}
spec:
  addOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: ["Maybe"]}]
  taints: [{key: latched, effect: NoSchedule}]
---
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: asked}
spec: {request: Zm9v, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}
status: {conditions: [{type: Approved, status: "True", reason: Person, message: ""}]}
"""


def input_places(fleet: Fleet, decided: ObjectId, because: Because) -> list[Place]:
    """Return where the inputs of a decision about an object stand: each at the field, or at the nearest ancestor of it
    that a file sets. What no file has (muster alone declares the object, or it is gone) is left out."""
    found: dict[Place, None] = {}
    for read in because.inputs:
        id_ = read.object or decided
        obj = fleet.objects.get(id_) or fleet.builtin.get(id_)
        if obj is not None and obj.parts:
            found[place_of(obj.parts, read.path)] = None
    return list(found)


def grounded(fleet: Ruled, now: datetime, files: Files) -> set[str]:
    """The stages that decided anything; each outcome has a rule, and inputs that stand in a file."""
    context, spoken = Context.of(fleet, now), set()
    paths = {path for _, path in files}
    for stage in STAGES:
        outcomes = list(stage.ask(fleet, context, now))
        for outcome in outcomes:
            if not isinstance(outcome, Decision | Held | Pulse | Wake):
                continue
            spoken.add(stage.name)
            assert outcome.because.rule, f"{stage.name}: {outcome}"
            places = input_places(fleet, outcome.object, outcome.because)
            obj = fleet.objects.get(outcome.object)
            assert places or obj is None or not obj.parts, f"{stage.name}: {outcome}"
            for place in places:
                assert place.line, f"{stage.name}: {outcome}"
                assert place.file.rpartition(":")[2] in paths or place.file.startswith("builtin:"), place
        context = context.after(outcomes)
        fleet = fleet.with_outcomes(one for one in outcomes if not isinstance(one, Broadcast | Failed))
    return spoken


def test_every_stage_names_rule_and_inputs() -> None:
    spoken = set[str]()
    files = {**corpus(), ("", "further.yaml"): FURTHER.encode()}
    for later in (timedelta(0), timedelta(minutes=4), timedelta(hours=1), timedelta(days=1)):
        spoken |= grounded(fleet_of(files, NOON + later), NOON + later, files)
    for seed in (0, 2, 6):  # among them one after which clusters are silent, and one after which something is kept
        files = Mutator(corpus(), seed).broken()
        for now in (NOON, NOON + timedelta(hours=1)):
            spoken |= grounded(fleet_of(files, now), now, files)
            lay_over(files, settle(Broken(files), now))
    assert {stage.name for stage in STAGES} - spoken <= SILENT, "stages of which no decision was seen"
