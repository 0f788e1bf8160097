"""The registry of kinds: what is said of a kind is said once, and holds together."""

import pytest

from muster.data.ids import ObjectId
from muster.data.kinds import (
    ALL,
    BY_NAME,
    CLUSTERS,
    PLACEMENT_DECISION,
    SIG_PLACEMENT_DECISION,
    TAINT_EFFECTS,
    TARGETS,
    Kind,
    is_cluster,
    kind_of,
    kinds_named,
)
from muster.fleet.schemas import schema_of


def test_a_kind_is_told_by_group_and_name() -> None:
    for kind in ALL:
        id_ = kind.id("x")
        assert kind_of(id_) is kind
        assert [one for one in ALL if one.has(id_)] == [kind]
        assert not kind.has(id_._replace(group="example.com"))
        assert is_cluster(id_) is (kind in CLUSTERS)
    assert not is_cluster(ObjectId("cluster.x-k8s.io", "Cluster", "", "x"))


def test_no_two_kinds_share_a_name_a_plural_or_a_schema() -> None:
    for names in ([k.label for k in ALL], [k.folder for k in ALL], [k.schema for k in ALL]):
        assert len(set(names)) == len(ALL)
    assert all(schema_of(kind) for kind in ALL)


def test_a_name_that_two_kinds_share_means_the_one_that_is_not_qualified() -> None:
    assert BY_NAME["PlacementDecision"] is PLACEMENT_DECISION
    for word, kind in (
        ("placementdecisions", PLACEMENT_DECISION),
        ("placementdecision", PLACEMENT_DECISION),
        ("placementdecisions.cluster.open-cluster-management.io", PLACEMENT_DECISION),
        ("placementdecisions.multicluster.x-k8s.io", SIG_PLACEMENT_DECISION),
        ("placementdecision.multicluster.x-k8s.io", SIG_PLACEMENT_DECISION),
    ):
        assert kinds_named(word) == (kind,)


def test_clusters_have_a_headline_and_take_taints() -> None:
    assert all(kind.headline for kind in CLUSTERS)
    assert TAINT_EFFECTS.keys() == {kind.name for kind in CLUSTERS}
    assert {BY_NAME[name] for name in TARGETS} == set(TARGETS.values())
    assert all(kind.counted for kind in TARGETS.values()), "adapters report on generations"


#: What is no command: the fleet, what clusters report, and what a hub's own controllers obey.
_NO_COMMANDS = frozenset(
    (
        "ManagedCluster",
        "Cluster",
        "Lease",
        "CertificateSigningRequest",
        "Placement",
        "PlacementDecision",
        "ManagedClusterSet",
        "ManagedClusterSetBinding",
        "AddOnPlacementScore",
        "ManagedClusterAddOn",
        "ManifestWork",
        "ManifestWorkReplicaSet",
        "ClusterProfile",
        "Remedy",
        "MultiClusterIngress",
        "ClusterTaintPolicy",
        "ResourceBinding",
        "EndpointSlice",
        "ClusterPool",
        "ClusterClaim",
        "ClusterDeployment",
        "ClusterImageSet",
        "ClusterDeploymentCustomization",
        "AdapterReport",
        "NodePool",
    )
)
_COMMANDS = frozenset(
    (
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "Fleet",
        "ConditionPolicy",
        "TaintPolicy",
        "PulsePolicy",
        "NotificationPolicy",
        "DisruptionBudget",
        "PolicyTest",
        "Waiver",
        "Approval",
        "Rollout",
        "Projection",
        "Calendar",
        "ScorePolicy",
        "Drill",
    )
)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_of_each_kind_it_is_known_whether_it_commands_muster(kind: Kind) -> None:
    assert kind.name in _COMMANDS | _NO_COMMANDS, "say whether an import may take it over"
    assert kind.commands == (kind.name in _COMMANDS)
