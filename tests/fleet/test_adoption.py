"""The day on which objects of a live hub move in: no clock restarts, no cluster moves, and no fault is found."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import muster
from muster.data.tree import Tree, dig

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG_AGO = "2025-06-01T08:00:00Z"

CLUSTER = f"""\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: eu-1
  creationTimestamp: "2025-01-01T00:00:00Z"
  generation: 7
  labels: {{cluster.open-cluster-management.io/clusterset: default}}
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 60
  taints:
  - {{key: cluster.open-cluster-management.io/unreachable, effect: NoSelect, timeAdded: "{LONG_AGO}"}}
  - {{key: gpu, value: a100, effect: NoSelect, timeAdded: "{LONG_AGO}"}}
status:
  capacity: {{cpu: "8"}}
  conditions:
  - type: HubAcceptedManagedCluster
    status: "True"
    reason: HubClusterAdminAccepted
    message: Accepted by hub cluster admin
    lastTransitionTime: "{LONG_AGO}"
  - type: ManagedClusterJoined
    status: "True"
    reason: ManagedClusterJoined
    message: Managed cluster joined
    lastTransitionTime: "{LONG_AGO}"
  - type: ManagedClusterConditionAvailable
    status: Unknown
    reason: ManagedClusterLeaseUpdateStopped
    message: Registration agent stopped updating its lease.
    lastTransitionTime: "{LONG_AGO}"
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: managed-cluster-lease, namespace: eu-1}}
spec: {{renewTime: "2025-06-01T07:55:00Z", leaseDurationSeconds: 60, holderIdentity: managed-cluster-lease}}
"""

PLACED = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: default, namespace: shop}
spec: {clusterSet: default}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: shop}
spec: {numberOfClusters: 1}
status: {numberOfSelectedClusters: 1}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata:
  name: web-decision-1
  namespace: shop
  labels:
    cluster.open-cluster-management.io/placement: web
    cluster.open-cluster-management.io/decision-group-index: "0"
    cluster.open-cluster-management.io/decision-group-name: ""
status: {decisions: [{clusterName: eu-2, reason: ""}]}
"""


class Repository:
    """A directory that is evaluated again and again, what was derived staying in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def reconcile(self, now: datetime = NOON) -> muster.Run:
        """Evaluate, and keep what follows."""
        run = muster.evaluate(self.root, now)
        for path, text in run.files.items():
            if text is None:
                (self.root / path).unlink()
            else:
                self.write(path, text)
        return run


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty one."""
    return Repository(tmp_path)


def derived(run: muster.Run, kind: str, name: str) -> Tree:
    """The object as it stands."""
    return next(body for body in run.objects if (body["kind"], body["metadata"]["name"]) == (kind, name))


def healthy(name: str) -> str:
    """A cluster of the same hub that is well."""
    text = CLUSTER.replace("eu-1", name).replace("2025-06-01T07:55:00Z", "2026-01-01T11:59:50Z")
    text = text.replace("status: Unknown", 'status: "True"')
    return text.replace("ManagedClusterLeaseUpdateStopped", "ManagedClusterAvailable")


def times(body: Tree) -> set[str]:
    """Every time at which a taint or a condition of an object changed."""
    taints = dig(body, "spec", "taints") or ()
    return {c["lastTransitionTime"] for c in dig(body, "status", "conditions")} | {t["timeAdded"] for t in taints}


def test_no_clock_restarts(repository: Repository) -> None:
    repository.write("hub.yaml", CLUSTER)
    run = repository.reconcile()
    assert [found for found in run.findings if found.severity.name != "NOTE"] == []
    body = derived(run, "ManagedCluster", "eu-1")
    assert times(body) - {LONG_AGO} <= {"2026-01-01T12:00:00Z"}, "only a condition that the hub did not have is new"
    since = {c["type"]: c["lastTransitionTime"] for c in body["status"]["conditions"]}
    assert since.pop("ManagedClusterConditionClockSynced", "") in ("", "2026-01-01T12:00:00Z")
    assert set(since.values()) == {LONG_AGO}
    assert body["metadata"]["generation"] == 7
    kept = run.files["derived/managedclusters/eu-1.yaml"] or ""
    assert all(type_ in kept for type_ in since), "what the hub had decided, muster remembers"
    assert repository.reconcile().files == {}


def test_a_built_in_taint_in_a_file_keeps_nobody_away_for_ever(repository: Repository) -> None:
    repository.write("hub.yaml", CLUSTER)
    repository.reconcile()
    back = CLUSTER.replace("2025-06-01T07:55:00Z", "2026-01-01T12:59:50Z").replace("status: Unknown", 'status: "True"')
    repository.write("hub.yaml", back)
    run = repository.reconcile(NOON.replace(hour=13))
    taints = [(t["key"], t["timeAdded"]) for t in derived(run, "ManagedCluster", "eu-1")["spec"]["taints"]]
    assert taints == [("gpu", LONG_AGO)], "the hub's taint went with the silence, the person's stays"
    assert [found for found in run.findings if found.severity.name != "NOTE"] == []


def untainted(*documents: str) -> str:
    """The documents without a person's taint."""
    taint = f'  - {{key: gpu, value: a100, effect: NoSelect, timeAdded: "{LONG_AGO}"}}\n'
    return "---\n".join(documents).replace(taint, "")


def test_no_cluster_moves(repository: Repository) -> None:
    repository.write("hub.yaml", untainted(healthy("eu-1"), healthy("eu-2"), healthy("eu-3"), PLACED))
    run = repository.reconcile()
    assert dig(derived(run, "PlacementDecision", "web-decision-1"), "status", "decisions") == [
        {"clusterName": "eu-2", "reason": ""}
    ]
    assert repository.reconcile().files == {}


def test_a_stale_decision_in_a_file_holds_nothing_back(repository: Repository) -> None:
    repository.write("a.yaml", untainted(healthy("eu-1"), PLACED))
    repository.write("b.yaml", untainted(healthy("eu-2")))
    repository.reconcile()
    (repository.root / "b.yaml").unlink()
    run = repository.reconcile()
    assert dig(derived(run, "PlacementDecision", "web-decision-1"), "status", "decisions") == [
        {"clusterName": "eu-1", "reason": ""}
    ]


def test_what_an_agent_says_is_a_report_and_no_past(repository: Repository) -> None:
    declared, _, _ = CLUSTER.partition("status:\n")
    said = CLUSTER[CLUSTER.index("status:\n") : CLUSTER.index("---\n")]
    repository.write("cluster.yaml", declared)
    repository.write("observed.yaml", f"{declared.partition('spec:')[0].partition('  creation')[0]}{said}")
    run = repository.reconcile()
    since = {c["type"]: c["lastTransitionTime"] for c in derived(run, "ManagedCluster", "eu-1")["status"]["conditions"]}
    assert since["HubAcceptedManagedCluster"] == "2026-01-01T12:00:00Z"


KARMADA = f"""\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {{name: member}}
spec:
  syncMode: Push
  taints:
  - {{key: cluster.karmada.io/not-ready, effect: NoSchedule, timeAdded: "{LONG_AGO}"}}
  - {{key: drain, effect: NoExecute, timeAdded: "{LONG_AGO}"}}
status:
  remedyActions: [TrafficControl]
  conditions:
  - {{type: Ready, status: "False", reason: ClusterNotReady, message: m, lastTransitionTime: "{LONG_AGO}"}}
---
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {{name: not-ready}}
spec:
  decisionMatches: [{{clusterConditionMatch: {{conditionType: Ready, operator: Equal, conditionStatus: "False"}}}}]
  actions: [TrafficControl]
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {{name: drain}}
spec:
  addOnConditions: [{{conditionType: Ready, operator: In, statusValues: ["False"]}}]
  removeOnConditions: [{{conditionType: Ready, operator: In, statusValues: ["True"]}}]
  taints: [{{key: drain, effect: NoExecute}}]
---
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {{name: fleet}}
spec: {{taints: {{allowNoExecute: true}}}}
"""


def test_a_karmada_control_plane_moves_in(repository: Repository) -> None:
    repository.write("karmada.yaml", KARMADA)
    run = repository.reconcile()
    assert [found for found in run.findings if found.severity.name != "NOTE"] == []
    body = derived(run, "Cluster", "member")
    assert times(body) == {LONG_AGO}
    assert body["status"]["remedyActions"] == ["TrafficControl"]
    assert repository.reconcile().files == {}
    repository.write("karmada.yaml", KARMADA.replace('Ready, status: "False"', 'Ready, status: "True"'))
    for minute in (1, 2, 3):
        run = repository.reconcile(NOON.replace(minute=minute))
    body = derived(run, "Cluster", "member")
    assert dig(body, "spec", "taints") in (None, []), "the policy takes off what it had latched on the hub"
    assert not dig(body, "status", "remedyActions")


DUMPS = Path(__file__).parents[1] / "features/importing/dumps"


def test_a_hive_cluster_moves_in(repository: Repository) -> None:
    """Its hash of a pool's spec is not ours, and its clusters are no worse for it; a start that is under way has its
    time from when it began, and not from today."""
    repository.write("hub.yaml", (DUMPS / "hive.yaml").read_text())
    run = repository.reconcile()
    pool = derived(run, "ClusterPool", "ci")
    current = {c["type"]: c["status"] for c in pool["status"]["conditions"]}["AllClustersCurrent"]
    assert current == "True"
    assert pool["status"]["muster"]["hubVersion"]["hash"] == "8f1c0a2b9d3e4f57"
    bodies = [body for body in run.objects if body["kind"] == "ClusterDeployment"]
    assert [body["metadata"]["name"] for body in bodies if "deletionTimestamp" in body["metadata"]] == []
    assert (
        derived(run, "ClusterDeployment", "ci-tt7rb")["status"]["muster"]["powerStateSince"] == "2026-01-01T11:55:00Z"
    )
    run = repository.reconcile()
    assert run.files == {}
    assert run.horizon == NOON.replace(minute=15, second=1)


def test_a_pool_that_changes_after_it_moved_in_replaces_its_clusters(repository: Repository) -> None:
    text = (DUMPS / "hive.yaml").read_text()
    repository.write("hub.yaml", text)
    repository.reconcile()
    # The wish alone: what is left of the file is the hub's.
    at = text.index("    platform:\n      aws:\n        credentialsSecretRef")
    repository.write("hub.yaml", text[:at] + text[at:].replace("region: eu-central-1", "region: eu-west-1", 1))
    run = repository.reconcile()
    said = {c["type"]: c for c in derived(run, "ClusterPool", "ci")["status"]["conditions"]}["AllClustersCurrent"]
    assert (said["status"], said["reason"]) == ("False", "SomeClusterDeploymentsStale")


def test_clusters_that_the_hub_calls_stale_are_stale(repository: Repository) -> None:
    text = (DUMPS / "hive.yaml").read_text()
    old = text.index("8f1c0a2b9d3e4f57", text.index("name: review-41"))
    text = text[:old] + "0000000000000000" + text[old + 16 :]
    text = text.replace(
        "      message: All unassigned ClusterDeployments match the pool configuration\n"
        '      reason: ClusterDeploymentsCurrent\n      status: "True"\n',
        "      message: 'Some unassigned ClusterDeployments do not match the pool configuration: ci-4kq8w'\n"
        '      reason: SomeClusterDeploymentsStale\n      status: "False"\n',
    )
    repository.write("hub.yaml", text)
    run = repository.reconcile()
    bodies = [body for body in run.objects if body["kind"] == "ClusterDeployment"]
    assert [body["metadata"]["name"] for body in bodies if "deletionTimestamp" in body["metadata"]] == ["ci-4kq8w"]
    assert dig(derived(run, "ClusterPool", "ci"), "status", "muster", "hubVersion", "hash") == "8f1c0a2b9d3e4f57"


def test_a_placement_that_kept_its_uid(repository: Repository) -> None:
    """Its decisions name it, as on the hub, and the next run takes that for its own word."""
    text = (DUMPS / "ocm.yaml").read_text()
    repository.write("hub.yaml", text.replace("624e769365028171", '"624e769365028171"'))
    repository.reconcile()
    run = repository.reconcile()
    assert [found for found in run.findings if found.code.startswith("MUS5")] == []
    (owner,) = derived(run, "PlacementDecision", "frontend-decision-1")["metadata"]["ownerReferences"]
    assert owner["uid"] == "3f0f6a5e-8f9e-4d1c-9a53-000000000021"


@pytest.mark.parametrize(
    ("reason", "adopted"), [("AutoApprovedByHubCSRApprovingController", True), ("KubectlApprove", False)]
)
def test_only_the_hubs_own_word_about_a_request_is_its_past(reason: str, adopted: bool, repository: Repository) -> None:
    """A person's is a wish, which stands for as long as the file says so: nothing of it ends with the first run."""
    repository.write(
        "csr.yaml",
        f"""\
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: r, labels: {{open-cluster-management.io/cluster-name: eu-1}}}}
spec: {{request: bm9uZQ==, signerName: s}}
status: {{conditions: [{{type: Approved, status: "True", reason: {reason}, message: m}}]}}
""",
    )
    past = muster.evaluate(repository.root, NOON).fleet.previous
    assert ("r" in {id_.name for id_ in past}) is adopted
