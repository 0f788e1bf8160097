"""Words that people type for kinds."""

import pytest

from muster.data.kinds import UnknownKind, kinds_named


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("ManagedCluster", ["ManagedCluster"]),
        ("managedclusters", ["ManagedCluster"]),
        ("managedclusters.cluster.open-cluster-management.io", ["ManagedCluster"]),
        ("clusters", ["Cluster", "ManagedCluster"]),
        ("CD", ["ClusterDeployment"]),
        ("mclset", ["ManagedClusterSet"]),
        ("mcing", ["MultiClusterIngress"]),
        ("budgets", ["DisruptionBudget"]),
        ("csr", ["CertificateSigningRequest"]),
    ],
)
def test_a_kind_has_several_names(word: str, names: list[str]) -> None:
    assert sorted(kind.name for kind in kinds_named(word)) == names


def test_policies_are_all_of_them() -> None:
    assert {"ConditionPolicy", "TaintPolicy", "PulsePolicy"} <= {kind.name for kind in kinds_named("policies")}


def test_a_kind_that_is_none_has_a_nearest() -> None:
    with pytest.raises(UnknownKind, match=r"no kind is called 'managdclusters'. .*managedclusters"):
        kinds_named("managdclusters")
