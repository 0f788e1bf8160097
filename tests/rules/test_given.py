"""What clusters are given of the rest of the fleet: a text that differs when, and only where, it matters to them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, MANAGED_CLUSTER
from muster.fleet.objects import Object
from muster.rules.effects.allowance import Allowance, Holding
from muster.rules.effects.budget import budgets_of
from muster.rules.given import GivenTerms, differs
from muster.rules.heartbeats.durations import LeaseFloor
from muster.rules.pipeline import terms_of
from muster.rules.policies.in_force import InForce
from muster.rules.stages import StageTerm, Terms, Traits
from tests.rules.test_pipeline import fleet_of
from tests.support.example import NOON
from tests.support.fuzzing import corpus

FLEET = fleet_of(corpus(), NOON)
TERMS = terms_of(FLEET, NOON)


def a_cluster(name: str, seconds: int = 60) -> Object:
    spec = {"hubAcceptsClient": True, "leaseDurationSeconds": seconds}
    body = {"apiVersion": "v1", "kind": "ManagedCluster", "metadata": {"name": name}, "spec": spec}
    return Object(MANAGED_CLUSTER.id(name), body, ())


SHORT, LONG = a_cluster("short"), a_cluster("long", 600)


def moved(terms: Terms, clusters: tuple[Object, ...] = (SHORT, LONG), *asked: ObjectId) -> list[str]:
    """The clusters to which these terms give something else."""
    before, now = GivenTerms(TERMS), GivenTerms(terms)
    return [one.id.name for one in clusters if differs(before.about([one], [{}], asked), now.about([one], [{}], asked))]


def test_the_same_terms_give_the_same() -> None:
    assert moved(terms_of(FLEET, NOON)) == []


def test_a_lease_floor_concerns_the_clusters_that_it_stretches() -> None:
    assert moved(TERMS.after([LeaseFloor(120)])) == ["short"]
    assert moved(TERMS.after([LeaseFloor(900)])) == ["short", "long"]
    assert moved(TERMS.after([LeaseFloor(30)])) == []


def test_a_budget_concerns_the_clusters_that_asked() -> None:
    (budget, *_) = budgets_of(FLEET)
    holding = Holding(budget, "", 3, 4, 2, suspicious=False, since=datetime(2026, 1, 1, tzinfo=UTC), met=None)
    held = TERMS.after([Allowance((budget,), (holding,), NOON)])
    assert moved(held) == []
    assert moved(held, (SHORT, LONG), LONG.id) == ["long"]
    elsewhere = TERMS.after([Allowance((budget,), (replace(holding, domain="another"),), NOON)])
    assert moved(elsewhere, (SHORT, LONG), LONG.id) == []


def test_adapters_and_cost_limits_concern_every_cluster() -> None:
    others: tuple[StageTerm, ...] = (replace(TERMS.of(Traits), uses_adapters=not TERMS.of(Traits).uses_adapters),)
    assert moved(TERMS.after(others)) == ["short", "long"]
    rules = TERMS.of(InForce)
    larger = replace(rules, counts={MANAGED_CLUSTER: 1 << 20, ADAPTER_REPORT: 1 << 20}, _shares={})
    assert moved(replace(TERMS, of_fleet={**TERMS.of_fleet, InForce: larger})) == ["short", "long"]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("a,b", "a,b", False),
        ("a,b", "a,c", True),
        (",b", "a,b", False),
        ("a,", "a,c", False),
        ("", "a,b", False),
        ("a,b", "a,", True),
        ("a,b,c", "a,b", True),
        ("a", "a,b", False),
    ],
)
def test_what_was_not_read_does_not_differ(before: str, now: str, expected: bool) -> None:
    assert differs(before, now) is expected
