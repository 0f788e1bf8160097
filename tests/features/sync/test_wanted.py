"""What a hub must have of a fleet, without a hub: the example fleet as it was committed."""

from dataclasses import replace

import pytest

from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION
from muster.data.tree import dig
from muster.features.sync.following import document_of, lines_of
from muster.features.sync.hub import HubKey, HubKind
from muster.features.sync.ownership import SyncParent
from muster.features.sync.rbac import rbac
from muster.features.sync.sync import Synced
from muster.features.sync.wanted import SCHEDULING_DISABLED, Patch, wanted
from muster.git.open import open_snapshot
from muster.run.checking import check_snapshot
from tests.support.example import EXAMPLE

PARENT = SyncParent("fleet", "muster", "abc")


@pytest.fixture(scope="module")
def patches() -> list[Patch]:
    return wanted(check_snapshot(open_snapshot(EXAMPLE, None)), ("karmada", "hive"))


def test_placement_decisions_are_whole_and_the_rest_is_fields(patches: list[Patch]) -> None:
    made = {patch.key.kind.name for patch in patches if patch.made}
    assert "PlacementDecision" in made
    assert "ManagedCluster" not in {patch.key.kind.name for patch in patches}
    status = next(patch for patch in patches if patch.key.kind == HubKind.of(PLACEMENT_DECISION) and patch.key.status)
    assert dig(status.body, "status", "decisions")
    assert "labels" not in status.body["metadata"]
    for patch in patches:
        if patch.key.kind.name == "Cluster":
            assert set(patch.body["status"]) == {"remedyActions"}


def test_placements_get_the_annotation_alone(patches: list[Patch]) -> None:
    found = [patch for patch in patches if patch.key.kind == HubKind.of(PLACEMENT)]
    assert found
    for patch in found:
        assert set(patch.body) == {"apiVersion", "kind", "metadata"}
        assert patch.body["metadata"]["annotations"] == {SCHEDULING_DISABLED: "true"}
        assert not patch.made


def test_other_systems_are_sent_only_if_asked_for() -> None:
    fleet = check_snapshot(open_snapshot(EXAMPLE, None))
    groups = {patch.key.kind.group for patch in wanted(fleet)}
    assert groups == {"cluster.open-cluster-management.io"}


def test_rights_are_those_of_the_kinds_that_are_written() -> None:
    projected = [HubKind("argoproj.io", "ApplicationSet", "v1alpha1", "applicationsets")]
    roles = {body["kind"]: body for body in rbac(PARENT, ["hive"], projected)}
    rules = {rule["resources"][0]: rule["verbs"] for rule in roles["ClusterRole"]["rules"]}
    assert rules["placementdecisions"] == ["list", "patch", "create", "delete"]
    assert rules["placements"] == ["list", "patch"]
    assert "delete" in rules["clusterdeployments"]
    assert rules["clusters"] == ["list"]
    assert "managedclusters" not in rules
    assert rules["applicationsets"] == ["get", "list", "patch", "create", "delete"]
    assert roles["RoleBinding"]["subjects"][0]["namespace"] == "fleet"


def test_an_apply_set_has_the_id_of_its_parent() -> None:
    assert PARENT.set_id.startswith("applyset-")
    assert PARENT.set_id.endswith("-v1")
    assert PARENT.set_id != SyncParent("fleet", "other", "abc").set_id


def test_a_pass_is_told_in_words_and_as_a_document() -> None:
    key = HubKey(HubKind.of(PLACEMENT_DECISION), "shop", "web-decision-1")
    done = Synced(created=[key] * 7, absent=[key], failed=[(key._replace(status=True), "no such namespace")])
    assert list(lines_of("0123456789abcdef", done)) == [
        f"0123456789ab: 7 created ({', '.join(['placementdecision/shop/web-decision-1'] * 5)} and 2 more), 0 unchanged",
        "  not on the hub, so left alone: placementdecision/shop/web-decision-1",
        "  refused: placementdecision/shop/web-decision-1 status: no such namespace",
    ]
    done = replace(done, others={"targets": 2})
    assert "  files without Kubernetes objects, so not synced: 2 of targets" in [*lines_of("0", done, verbose=True)]
    document = document_of("0123", done)
    assert document["failed"][0]["subresource"] == "status"
    assert len(document["created"]) == 7
    assert next(iter(lines_of("0123", Synced()))) == "0123: nothing to do, 0 unchanged"
