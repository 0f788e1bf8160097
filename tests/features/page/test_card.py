"""The card of a cluster: how it is and why, what changes next, who put its taints, and what is known of it."""

from functools import cache

import yaml

from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.page.overview import ClusterDetails
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.support.example import EXAMPLE, NOON


@cache
def _card(name: str) -> Tree:
    texts = {str(path.relative_to(EXAMPLE)): path.read_text() for path in EXAMPLE.rglob("*.yaml")}
    return ClusterDetails(settle(MemorySnapshot(texts), NOON).last).card(name)


def test_a_cluster_that_is_fine_says_until_when_without_another_heartbeat() -> None:
    card = _card("prod-eu-1")
    assert card["why"] == "Managed cluster is available"
    lease = card["lease"]
    assert lease["seconds"] == 60
    assert parse_time(lease["renewed"]) < NOON < parse_time(lease["expires"])
    assert parse_time(card["next"]["at"]) <= parse_time(lease["expires"])
    assert card["version"].startswith("v1.")
    assert ["cpu", "96", "90"] in card["capacity"]


def test_each_condition_has_its_rule_and_why() -> None:
    found = {one["type"]: one for one in _card("prod-us-2")["conditions"]}
    assert found["ManagedClusterConditionAvailable"]["status"] == "False"
    assert found["ManagedClusterConditionAvailable"]["rule"].startswith("ConditionPolicy/managed-cluster-available#")
    assert found["HubAcceptedManagedCluster"]["rule"] == "registration"


def test_who_put_a_taint() -> None:
    by_rule, by_person = _card("prod-us-2")["taints"], _card("prod-eu-3")["taints"]
    assert [one["rule"].partition("/")[0] for one in by_rule] == ["TaintPolicy"]
    assert [(one["taint"], one["rule"]) for one in by_person] == [("example.com/maintenance=disk:NoSelectIfNew", "")]


def test_the_whole_object_is_there_to_read() -> None:
    assert yaml.safe_load(_card("prod-eu-1")["yaml"])["metadata"]["name"] == "prod-eu-1"
