"""What an agent reported is as old as its lease: fresh until a second that the clock is told of, stale from it on."""

from datetime import datetime, timedelta

import pytest

from muster import cel
from muster.data.kinds import CSR, KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.fleet.objects import Object
from muster.rules.policies.staleness import expiry, reported_conditions
from tests.support.example import NOON

MANAGED = Object(MANAGED_CLUSTER.id("a"), {}, ())
KARMADA = Object(KARMADA_CLUSTER.id("a"), {}, ())


def lease(**spec: Tree) -> Tree:
    return {"spec": {"renewTime": "2026-01-01T12:00:00Z", **spec}}


@pytest.mark.parametrize(
    ("cluster", "said", "end"),
    [
        pytest.param(MANAGED, lease(), timedelta(seconds=300), id="by what a ManagedCluster is allowed"),
        pytest.param(MANAGED, lease(renewTime="2026-01-01T12:00:00.5Z"), timedelta(seconds=301), id="whole seconds"),
        pytest.param(KARMADA, lease(leaseDurationSeconds=10), timedelta(seconds=11), id="Karmada's: past its own word"),
        pytest.param(KARMADA, lease(), timedelta(seconds=41), id="or past 40 seconds"),
        pytest.param(KARMADA, lease(leaseDurationSeconds=True), timedelta(seconds=41), id="which no bool replaces"),
        pytest.param(MANAGED, None, None, id="without a Lease nobody knows"),
        pytest.param(MANAGED, {"spec": {}}, None, id="nor without a renewal"),
        pytest.param(Object(CSR.id("r"), {}, ()), lease(), None, id="nor of what is no cluster"),
    ],
)
def test_when_a_lease_has_expired(cluster: Object, said: Tree, end: timedelta | None) -> None:
    assert expiry(cluster, said, 300) == (None if end is None else NOON + end)


@pytest.mark.parametrize(
    ("now", "stale", "horizon"),
    [
        (NOON, False, NOON + timedelta(seconds=300)),
        (NOON + timedelta(seconds=299), False, NOON + timedelta(seconds=300)),
        (NOON + timedelta(seconds=300), True, None),
    ],
)
def test_a_condition_answers_whether_it_is_stale(now: datetime, stale: bool, horizon: datetime | None) -> None:
    clock = cel.Clock(now)
    reported = {"Ready": {"type": "Ready", "status": "True", "stale": "an agent's word counts for nothing here"}}
    found = reported_conditions(reported, MANAGED, lease(), 300, clock)["Ready"]
    assert clock.horizon is None, "nobody has asked yet"
    assert "stale" in found
    assert found["stale"] is stale
    assert clock.horizon == horizon
    assert found["status"] == "True"
    with pytest.raises(KeyError):
        found["severity"]


def test_of_no_cluster_nothing_grows_stale() -> None:
    clock = cel.Clock(NOON + timedelta(days=1))
    assert reported_conditions({"Ready": {}}, None, lease(), 300, clock)["Ready"]["stale"] is False
