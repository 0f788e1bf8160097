"""A cluster stands in one way: as its headline condition says, or denied, or not joined yet."""

import pytest

from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER, NODE_POOL, Kind
from muster.data.tree import Tree
from muster.fleet.clusters import since_of, state_of

ACCEPTED, JOINED = "HubAcceptedManagedCluster", "ManagedClusterJoined"


@pytest.mark.parametrize(
    ("kind", "accepted", "joined", "headline", "state", "since"),
    [
        (MANAGED_CLUSTER, "True", "True", "True", "True", "headline"),
        (MANAGED_CLUSTER, "True", "True", "Unknown", "Unknown", "headline"),
        (MANAGED_CLUSTER, "True", "True", "False", "False", "headline"),
        (MANAGED_CLUSTER, "True", None, "Unknown", "NotJoined", "accepted"),
        (MANAGED_CLUSTER, "True", None, None, "NotJoined", "accepted"),
        (MANAGED_CLUSTER, "True", None, "True", "True", "headline"),  # a fleet without agents: its files say so
        (MANAGED_CLUSTER, "True", None, "False", "False", "headline"),
        (MANAGED_CLUSTER, "False", "True", "True", "Denied", "accepted"),
        (MANAGED_CLUSTER, "False", "True", "Unknown", "Denied", "accepted"),
        (MANAGED_CLUSTER, "False", None, None, "Denied", "accepted"),
        (MANAGED_CLUSTER, None, None, "Unknown", "Unknown", "headline"),
        (MANAGED_CLUSTER, None, None, None, "", ""),
        (MANAGED_CLUSTER, None, None, "Perhaps", "", "headline"),
        (KARMADA_CLUSTER, "False", None, "Unknown", "Unknown", "headline"),
        (NODE_POOL, None, None, "True", "True", "headline"),
    ],
)
def test_state_of_a_cluster(
    kind: Kind, accepted: str | None, joined: str | None, headline: str | None, state: str, since: str
) -> None:
    said = {ACCEPTED: ("accepted", accepted), JOINED: ("joined", joined), kind.headline: ("headline", headline)}
    conditions: dict[str, Tree] = {
        type_: {"type": type_, "status": status, "reason": name}
        for type_, (name, status) in said.items()
        if status is not None
    }
    assert state_of(kind, conditions) == state
    found = since_of(kind, conditions)
    assert (found or {}).get("reason", "") == since
