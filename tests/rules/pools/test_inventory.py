"""A customization is reserved for one cluster, is free again with its end, and remembers how that went."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from muster.data.decision import Decision
from muster.data.kinds import CLUSTER_DEPLOYMENT_CUSTOMIZATION
from muster.data.tree import Tree
from muster.rules.pools.buckets import Buckets
from muster.rules.pools.inventory import APPLIED, AVAILABLE, Customization, Stock, reserve, synchronize
from tests.rules.pools.building import cluster, pool
from tests.support.example import NOON

POOL = pool(inventory=[{"name": "one"}, {"name": "two"}])


def item(name: str, cluster: str = "", **reasons: str) -> Customization:
    """A customization; `available` and `applied` are the reasons of its conditions."""
    conditions: dict[str, Tree] = {}
    for type_, reason in ((AVAILABLE, reasons.get("available")), (APPLIED, reasons.get("applied"))):
        if reason:
            status = "True" if reason in ("Available", "Succeeded") else "False"
            conditions[type_] = {"status": status, "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    id_ = CLUSTER_DEPLOYMENT_CUSTOMIZATION.id(name, "pools")
    return Customization(id_, cluster, "ci" if cluster else "", conditions)


def stock(*items: Customization) -> Stock:
    return Stock({one.id: one for one in items}, NOON)


def of(found: Stock, name: str) -> Customization:
    return found.items[CLUSTER_DEPLOYMENT_CUSTOMIZATION.id(name, "pools")]


def free(*items: Customization) -> list[str]:
    found = synchronize(stock(*items), POOL, Buckets(), ())
    assert found is not None
    return [one.id.name for one in found.free]


def test_a_pool_without_an_inventory_has_nothing_to_synchronize() -> None:
    assert synchronize(stock(), replace(POOL, inventory=None), Buckets(), ()) is None


def test_what_is_reserved_says_for_whom_and_is_not_free() -> None:
    there = stock(item("one"), item("two"))
    reserve(there, of(there, "one"), "ci-1", POOL)
    assert (of(there, "one").cluster, of(there, "one").reason(AVAILABLE)) == ("ci-1", "Reserved")
    assert of(there, "one").reason(APPLIED) == "InstallationPending"
    found = synchronize(
        there, POOL, Buckets(installing=(cluster("ci-1", customization="one", installed=False),)), ["ci-1"]
    )
    assert found is not None
    assert [one.id.name for one in found.free] == ["two"]
    decided = {(d.object.name, d.path[-1]): d for d in there.decisions() if isinstance(d, Decision)}
    assert decided["one", "clusterDeploymentRef"].value == {"name": "ci-1"}
    assert decided["one", "clusterPoolRef"].value == {"name": "ci"}
    assert not [at for at in decided if at[0] == "two"], "of one that was never used nothing is decided"


def test_it_is_free_again_once_its_cluster_is_gone() -> None:
    there = stock(item("one", "ci-1", available="Reserved"), item("two", "ci-2", available="Reserved"))
    found = synchronize(there, POOL, Buckets(), ["ci-2"])
    assert found is not None
    assert [one.id.name for one in found.free] == ["one"]
    assert (of(there, "one").cluster, of(there, "one").reason(AVAILABLE)) == ("", "Available")
    assert of(there, "two").cluster == "ci-2"


@pytest.mark.parametrize(
    ("known", "holder"),
    [
        pytest.param(item("one", available="Available"), "ci-1", id="only the cluster remembers it"),
        pytest.param(item("one", "ci-9", available="Available"), "ci-9", id="another that exists holds it"),
        pytest.param(item("one", available="Reserved"), "", id="somebody says that it is not available"),
    ],
)
def test_a_reservation_is_restored(known: Customization, holder: str) -> None:
    there = stock(known)
    synchronize(there, POOL, Buckets(standby=(cluster("ci-1", customization="one"),)), ["ci-1", "ci-9"])
    assert of(there, "one").cluster == holder


def test_how_it_fared_is_remembered_and_told() -> None:
    there = stock(item("one", "ci-1"), item("two", "ci-2"))
    buckets = Buckets(
        broken=(cluster("ci-1", customization="one"),), assignable=(cluster("ci-2", customization="two"),)
    )
    found = synchronize(there, POOL, buckets, ["ci-1", "ci-2"])
    assert found is not None
    assert (of(there, "one").reason(APPLIED), of(there, "two").reason(APPLIED)) == ("BrokenByCloud", "Succeeded")
    assert not found.valid
    assert json.loads(found.message)["BrokenByCloud"] == ["one"]


def test_what_is_missing_or_broken_is_named() -> None:
    found = synchronize(stock(item("one", applied="BrokenBySyntax")), POOL, Buckets(), ())
    assert found is not None
    assert json.loads(found.message) == {"BrokenByCloud": [], "BrokenBySyntax": ["one"], "Missing": ["two"]}
    sound = synchronize(stock(item("one"), item("two")), POOL, Buckets(), ())
    assert sound is not None
    assert (sound.valid, sound.message) == (True, "")


def test_the_next_cluster_is_made_from_what_is_least_likely_to_be_the_trouble() -> None:
    assert free(item("one", applied="BrokenByCloud"), item("two")) == ["two", "one"]
    assert free(item("one", applied="Succeeded"), item("two", applied="BrokenByCloud")) == ["one", "two"]
    long_ago = item("two", applied="Succeeded").stating(APPLIED, ("False", "x", ""), NOON - timedelta(days=9))
    used = long_ago.stating(APPLIED, ("True", "Succeeded", ""), NOON - timedelta(days=9))
    assert free(item("one", applied="Succeeded"), used) == ["two", "one"]
