"""Every stage says why: by which rule, and from which fields, that a person can open."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.data.decision import Because, Decision, Failed, Held, Pulse, Wake
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, CLUSTER_DEPLOYMENT
from muster.data.source import Place
from muster.fleet.fleet import Fleet
from muster.fleet.places import place_of
from muster.rules.pipeline import STAGES, terms_of
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.stages import StageTerm
from muster.run.settle import settle
from tests.rules.test_pipeline import fleet_of
from tests.support.example import NOON
from tests.support.examples import often
from tests.support.fuzzing import corpus, lay_over
from tests.support.living import Living
from tests.support.mutations import Broken, Files, Mutator
from tests.support.truth import require_truth

#: Stages that only tell others something, or whose outcomes no fleet below has.
SILENT = {"requested taints", "requested actions", "departures", "pool clusters", "identity"}


#: What the example fleet does not have: a cluster without a set that is being removed, with an add-on and a node pool;
#: a latching taint; and a request that a person approved.
FURTHER = """
apiVersion: muster.dev/v1alpha1
kind: Projection
metadata: {name: each}
spec: {forEach: clusters, path: cluster.metadata.name, text: cluster.metadata.name}
---
apiVersion: muster.dev/v1alpha1
kind: Projection
metadata: {name: list}
spec: {forEach: all, path: "'list'", text: string(clusters.size())}
---
apiVersion: muster.dev/v1alpha1
kind: ScorePolicy
metadata: {name: length}
spec: {target: {kind: ManagedCluster}, expression: size(self.metadata.name), validFor: 1h}
---
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
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: unleased}
spec: {syncMode: Pull}
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
---
apiVersion: muster.dev/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec: {placementRef: {name: web}, revision: v1}
---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: web, namespace: shop}
spec:
  manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}]}}
  placementRefs: [{name: web}]
"""


def input_places(fleet: Fleet, decided: ObjectId, because: Because) -> list[Place]:
    """Return where the inputs of a decision about an object stand: each at the field, or at the nearest ancestor of it
    that a file sets. What no file has (muster alone declares the object, or it is gone) is left out."""
    found: dict[Place, None] = {}
    for read in because.inputs:
        id_ = read.object or decided
        obj = fleet.objects.get(id_) or fleet.read.builtin.get(id_)
        if obj is not None and obj.parts:
            found[place_of(obj.parts, read.path)] = None
    return list(found)


def grounded(fleet: FleetWithPolicies, now: datetime, files: Files) -> set[str]:
    """The stages that decided anything; each outcome has a rule, and inputs that stand in a file."""
    terms, spoken = terms_of(fleet, now), set()
    paths = {path for _, path in files}
    for stage in STAGES:
        outcomes = list(stage.ask(fleet, terms))
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
        terms = terms.after(outcomes)
        fleet = fleet.with_outcomes(one for one in outcomes if not isinstance(one, StageTerm | Failed))
    return spoken


def test_every_stage_names_rule_and_inputs() -> None:
    files = {**corpus(), ("", "further.yaml"): FURTHER.encode()}
    spoken = grounded(fleet_of(files, NOON), NOON, files)  # clusters get their first revisions
    lay_over(files, settle(Broken(files), NOON))
    for later in (timedelta(0), timedelta(minutes=4), timedelta(hours=1), timedelta(days=1)):
        spoken |= grounded(fleet_of(files, NOON + later), NOON + later, files)
    for seed in (0, 2, 6):  # among them one after which clusters are silent, and one after which something is kept
        files = Mutator(corpus(), seed).broken()
        for now in (NOON, NOON + timedelta(hours=1)):
            spoken |= grounded(fleet_of(files, now), now, files)
            lay_over(files, settle(Broken(files), now))
    assert {stage.name for stage in STAGES} - spoken <= SILENT, "stages of which no decision was seen"


def test_what_is_said_of_the_example_is_so() -> None:
    files = {**corpus(), ("", "further.yaml"): FURTHER.encode()}
    for later in (timedelta(0), timedelta(minutes=4), timedelta(hours=1), timedelta(days=1)):
        settled = settle(Broken(files), NOON + later)
        assert require_truth(settled.last) > 300
        lay_over(files, settled)


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_what_is_said_of_random_lives_is_so(seed: int, tmp_path: Path) -> None:
    living = (Living.example if seed == 5 else Living.small)(tmp_path / "fleet", seed)
    for _ in range(often(10)):
        what = living.step()
        settled = living.cold()
        assert require_truth(settled.last), what
        living.land(settled)


def test_a_report_that_is_read_is_not_gone() -> None:
    """Of what counts it is said whether it is still reported, is reported otherwise, or is out of sight."""
    files, path = dict(corpus()), ("", "clusters/ap/prod-ap-2/reports/dns.yaml")
    assert _why_it_counts(files).startswith("it is still reported")
    text = files[path]
    files[path] = text.replace(b"observed_generation: 1", b"observed_generation: 7")
    assert _why_it_counts(files).startswith("the report has changed")
    del files[path]
    assert _why_it_counts(files).startswith("no file has the report any more")


def _why_it_counts(files: Files) -> str:
    fleet = settle(Broken(files), NOON).last.fleet
    because = fleet.decisions(ADAPTER_REPORT.id("dns", "prod-ap-2"))["status", "muster"].because
    return because.text


def test_a_field_of_a_pools_cluster_says_what_made_it() -> None:
    fleet = settle(Broken(dict(corpus())), NOON).last.fleet
    decisions = fleet.decisions(CLUSTER_DEPLOYMENT.id("ci-2", "ci-2"))
    said = {path[-1]: (found.because.rule, found.because.text) for path, found in decisions.items()}
    asked = "its deletion was asked for at 2026-01-01T11:00:00Z, and that is never taken back"
    assert said["deletionTimestamp"] == ("ClusterPool/pools/ci", f"{asked}; it is marked for removal from its pool")
    assert said["clusterPoolRef"] == ("ClusterPool/pools/ci", "it was given to claim nightly at 2026-01-01T09:00:00Z")
