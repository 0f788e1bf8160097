"""What a slip of the pen is, and what is another program's name that only looks like one of ours."""

import pytest

from muster.data.kinds import ALL
from muster.data.names import slip_of
from muster.fleet.misspelt import guess_document, misspelt_kind

OCM = "cluster.open-cluster-management.io"


@pytest.mark.parametrize(
    ("group", "name", "kind"),
    [
        (OCM, "ManagedClustr", "ManagedCluster"),
        (OCM, "Managedcluster", "ManagedCluster"),
        (OCM, "MangedClusterSetBindin", "ManagedClusterSetBinding"),
        (OCM, "Placemnt", "Placement"),
        ("cluster.open-cluster-managment.io", "ManagedCluster", "ManagedCluster"),
        ("cluster.open-cluster-managment.io", "ManagedClustr", "ManagedCluster"),
        ("open-cluster-management.io", "ManagedCluster", "ManagedCluster"),
        ("", "ManagedCluster", "ManagedCluster"),
        ("remedy.karmada.io", "Remdy", "Remedy"),
        ("cluster.kamada.io", "Cluster", "Cluster"),
        ("muster.dev", "Flet", "Fleet"),
        ("muster.dev", "DisruptionBugdet", "DisruptionBudget"),
        ("hive.openshift.io", "Clusterpool", "ClusterPool"),
        ("coordination.k8s.io", "Leese", "Lease"),
        ("hive.openshift.io", "ManagedCluster", "ManagedCluster"),
        ("openshift.io", "ClusterPool", "ClusterPool"),
    ],
)
def test_a_slip(group: str, name: str, kind: str) -> None:
    found = misspelt_kind(group, name)
    assert found is not None
    assert found.name == kind


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("apps", "Deployment"),
        ("", "Service"),
        ("", "Secret"),
        ("", "List"),
        ("batch", "Job"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("networking.k8s.io", "Ingress"),
        ("kustomize.config.k8s.io", "Kustomization"),
        ("cluster.x-k8s.io", "Cluster"),
        ("provisioning.cattle.io", "Cluster"),
        ("postgresql.cnpg.io", "Cluster"),
        ("fleet.cattle.io", "Fleet"),
        ("karpenter.sh", "NodePool"),
        ("cloud.google.com", "NodePool"),
        ("policy.open-cluster-management.io", "Policy"),
        ("policy.open-cluster-management.io", "PlacementBinding"),
        ("apps.open-cluster-management.io", "PlacementRule"),
        ("operator.open-cluster-management.io", "Klusterlet"),
        (OCM, "ClusterClaim"),
        (OCM, "ClusterCurator"),
        ("work.open-cluster-management.io", "AppliedManifestWork"),
        ("addon.open-cluster-management.io", "ClusterManagementAddOn"),
        ("internal.open-cluster-management.io", "ManagedClusterInfo"),
        ("view.open-cluster-management.io", "ManagedClusterView"),
        ("policy.karmada.io", "PropagationPolicy"),
        ("policy.karmada.io", "ClusterOverridePolicy"),
        ("work.karmada.io", "ClusterResourceBinding"),
        ("networking.karmada.io", "MultiClusterService"),
        ("hive.openshift.io", "ClusterDeprovision"),
        ("hive.openshift.io", "ClusterProvision"),
        ("hive.openshift.io", "MachinePool"),
        ("config.openshift.io", "ClusterVersion"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("coordination.k8s.io", "LeaseCandidate"),
    ],
)
def test_another_programs_kind(group: str, name: str) -> None:
    assert misspelt_kind(group, name) is None


def test_of_two_near_kinds_the_nearer_is_meant() -> None:
    names = {kind.name for kind in ALL}
    assert slip_of("ManagedClusterSe", names) == "ManagedClusterSet"
    assert slip_of("ManagedClusterS", names) == "ManagedCluster"


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ({"apiVersion": f"{OCM}/v1", "metadata": {"name": "a"}}, "ManagedCluster"),
        ({"apiVersion": "cluster.open-clu"}, "ManagedCluster"),
        ({"kind": "ManagedCluster", "metadata": {"name": "a"}}, "ManagedCluster"),
        ({"kind": "ManagedClustr", "metadata": {"name": "a"}}, "ManagedCluster"),
        ({"metadata": {"name": "a"}, "spec": {}}, ""),
    ],
)
def test_a_document_that_lacks_a_line(body: dict[str, object], kinds: str) -> None:
    guess = guess_document(body)
    assert guess is not None
    assert (guess.kinds[0].name if guess.kinds else "") == kinds


@pytest.mark.parametrize(
    "body",
    [
        {"apiVersion": "apps/v1", "metadata": {"name": "a"}},
        {"apiVersion": "v2", "name": "chart"},
        {"kind": "Cluster", "nodes": []},
        {"replicas": 3},
        {},
        [],
        "text",
        None,
    ],
)
def test_a_document_of_another_program(body: object) -> None:
    assert guess_document(body) is None
