"""The card of a cluster: how it is and why, what changes next, who put its taints, and what is known of it."""

import base64
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml

from muster.data.decision import Because, Decision
from muster.data.kinds import CSR, MANAGED_CLUSTER
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.page.details import ClusterDetails
from muster.features.page.overview import ClusterRows, overview
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.features.pulses.test_walkthrough import cluster
from tests.support.authority import server_certificate
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
    assert [one["by"] for one in by_rule] == ["TaintPolicy/managed-cluster-builtin-taints"]
    assert [(one["taint"], one["rule"]) for one in by_person] == [("example.com/maintenance=disk:NoSelectIfNew", "")]
    assert by_person[0]["file"] == {"path": "clusters/eu/prod-eu-3/cluster.yaml", "ref": ""}


def test_the_whole_object_is_there_to_read() -> None:
    assert yaml.safe_load(_card("prod-eu-1")["yaml"])["metadata"]["name"] == "prod-eu-1"


def test_remedies_are_named_with_their_actions() -> None:
    assert _card("member-us-1")["remedies"] == [["TrafficControl", "dns-down"]]


FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {collectors: {alertmanager: [{match: {alertname: KubeAPIDown}, condition: APIServerReachable}]}}
"""
REQUEST = """\
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: csr-{0}, labels: {{open-cluster-management.io/cluster-name: a}}}}
spec: {{request: bm8=, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}}
"""


def test_alerts_and_certificates(tmp_path: Path) -> None:
    pem = server_certificate(tmp_path)[0].read_bytes()
    issued = {"good": base64.b64encode(pem).decode(), "odd": base64.b64encode(b"odd").decode(), "none": ""}
    texts = {"fleet.yaml": FLEET, "a.yaml": cluster("a")} | {f"{name}.yaml": REQUEST.format(name) for name in issued}
    run = settle(MemorySnapshot(texts), NOON).last
    entry = {"revision": "v2", "stage": "canary", "state": "Progressing", "since": "2026-01-01T11:00:00Z"}
    decided = [
        Decision(MANAGED_CLUSTER.id("a"), ("status", "muster", "rollouts", "shop/web"), entry, Because("test", ())),
        *(
            Decision(CSR.id(f"csr-{name}"), ("status", "certificate"), text, Because("test", ()))
            for name, text in issued.items()
        ),
    ]
    fleet = replace(run.fleet, decided={one.object: {one.path: one} for one in decided})
    found = ClusterDetails(replace(run, fleet=fleet)).card("a")
    undecided = replace(run, fleet=replace(run.fleet, decided={}))
    assert overview(undecided, "fleet", ClusterRows.of(undecided))["requests"] == [
        {"name": f"csr-{name}", "cluster": "a"} for name in ("good", "none", "odd")
    ]
    assert found["alerts"] == ["APIServerReachable"]
    assert [one["rollout"] for one in found["rollouts"]] == ["shop/web"]
    (certificate,) = found["certificates"]
    assert certificate["request"] == "csr-good"
    assert parse_time(certificate["from"]) < parse_time(certificate["until"])
