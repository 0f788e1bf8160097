"""What agents wrote into the objects of a live hub: one row for each kind."""

import pytest

from muster.data import kinds
from muster.data.kinds import Kind
from muster.data.tree import Tree
from muster.fleet.hub_parts import agent_part

NAMED = {"name": "c1"}
BESIDE = {"name": "x", "namespace": "c1"}
LABELS = {"open-cluster-management.io/cluster-name": "c1"}
NOISE = {"uid": "1", "resourceVersion": "7", "managedFields": [], "labels": {"a": "b", **LABELS}, "finalizers": ["f"]}


def condition(type_: str, status: str = "True", reason: str = "r") -> Tree:
    return {"type": type_, "status": status, "reason": reason}


ROWS = {
    "a cluster: without the hub's conditions": (
        kinds.MANAGED_CLUSTER,
        NAMED,
        {
            "spec": {"hubAcceptsClient": True, "taints": []},
            "status": {
                "version": {"kubernetes": "v1"},
                "conditions": [
                    condition("HubAcceptedManagedCluster"),
                    condition("ManagedClusterJoined"),
                    condition("ManagedClusterConditionClockSynced"),
                    condition("ManagedClusterConditionAvailable"),
                    condition("example.com/Disk", "False"),
                ],
            },
        },
        {
            "status": {
                "version": {"kubernetes": "v1"},
                "conditions": [condition("ManagedClusterConditionAvailable"), condition("example.com/Disk", "False")],
            }
        },
    ),
    "a silent cluster: what the hub says in the agent's place": (
        kinds.MANAGED_CLUSTER,
        NAMED,
        {
            "status": {
                "conditions": [
                    condition("ManagedClusterConditionAvailable", "Unknown", "ManagedClusterLeaseUpdateStopped")
                ]
            }
        },
        None,
    ),
    "Karmada: without remedy actions": (
        kinds.KARMADA_CLUSTER,
        NAMED,
        {
            "status": {
                "remedyActions": ["TrafficControl"],
                "conditions": [condition("Ready")],
                "kubernetesVersion": "v1",
            }
        },
        {"status": {"conditions": [condition("Ready")], "kubernetesVersion": "v1"}},
    ),
    "an add-on: without what the add-on manager says": (
        kinds.MANAGED_CLUSTER_ADD_ON,
        BESIDE,
        {
            "spec": {"installNamespace": "n"},
            "status": {
                "configReferences": [],
                "conditions": [condition("Available"), condition("Configured"), condition("RegistrationApplied")],
            },
        },
        {"status": {"conditions": [condition("Available")]}},
    ),
    "a work": (
        kinds.MANIFEST_WORK,
        BESIDE,
        {
            "spec": {"workload": {"manifests": []}},
            "status": {"conditions": [condition("Applied")], "resourceStatus": {"manifests": []}, "other": 1},
        },
        {"status": {"conditions": [condition("Applied")], "resourceStatus": {"manifests": []}}},
    ),
    "a work of which no agent has said anything": (kinds.MANIFEST_WORK, BESIDE, {"spec": {}}, None),
    "scores": (
        kinds.ADD_ON_PLACEMENT_SCORE,
        BESIDE,
        {"status": {"scores": [{"name": "cpu", "value": 1}]}},
        {"status": {"scores": [{"name": "cpu", "value": 1}]}},
    ),
    "a lease": (kinds.LEASE, BESIDE, {"spec": {"renewTime": "t"}}, {"spec": {"renewTime": "t"}, "labels": LABELS}),
    "a request: in the name of its agent": (
        kinds.CSR,
        {"name": "r"},
        {
            "spec": {
                "request": "cQ==",
                "usages": ["client auth"],
                "signerName": "s",
                "groups": ["g"],
                "uid": "u",
                "username": "system:open-cluster-management:c1:a",
            },
            "status": {"certificate": "eA=="},
        },
        {
            "labels": LABELS,
            "spec": {
                "request": "cQ==",
                "signerName": "s",
                "usages": ["client auth"],
                "username": "system:open-cluster-management:c1:a",
            },
        },
    ),
    "a request: in another name": (
        kinds.CSR,
        {"name": "r"},
        {"spec": {"request": "cQ==", "username": "system:open-cluster-management:c2:a"}},
        {"labels": LABELS, "spec": {"request": "cQ=="}},
    ),
    "a deployment: what its provisioner says": (
        kinds.CLUSTER_DEPLOYMENT,
        BESIDE,
        {"spec": {"clusterName": "x", "installed": True}, "status": {"apiURL": "u"}},
        {"spec": {"installed": True}, "status": {"apiURL": "u"}},
    ),
    "a kind that no agent writes": (kinds.PLACEMENT, BESIDE, {"status": {"conditions": [condition("x")]}}, None),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_part_of_agents(row: str) -> None:
    kind, metadata, sections, expected = ROWS[row]
    found = agent_part(kind, body(kind, {**metadata, **NOISE}, sections))
    if expected is None:
        assert found is None
        return
    labels = {"labels": expected["labels"]} if "labels" in expected else {}
    rest = {name: section for name, section in expected.items() if name != "labels"}
    assert found == body(kind, {**metadata, **labels}, rest)


def body(kind: Kind, metadata: Tree, sections: Tree) -> Tree:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **sections}
