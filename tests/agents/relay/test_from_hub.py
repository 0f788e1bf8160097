"""A real API server as a relay: what its agents report arrives, and no restart of anything loses or invents news."""

import json
import re
from base64 import b64encode
from datetime import timedelta
from math import ceil
from pathlib import Path

import pytest
import yaml

from muster.agents.identity.request import new_request
from muster.cli import exits
from muster.data import kinds
from muster.data.kinds import Kind
from muster.data.times import parse_time
from muster.data.tree import Tree, mappings_at
from muster.fleet.leases import CLUSTER_NAME
from tests.support.commandline import Run, muster
from tests.support.git import Repo, clone, new_repository
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub
from tests.support.klusterlets import Klusterlets, now
from tests.support.patience import wait_until
from tests.support.processes import running

__all__ = ["muster"]  # a fixture
pytestmark = needs_hub
SECONDS = 60
NAMES = ("fh-1", "fh-2", "fh-3")
SETTINGS = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {agents: {relays: [{name: ocm, clusters: ["*"]}]}}
"""
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s}
spec: {hubAcceptsClient: true, leaseDurationSeconds: %d}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    """The fleet's repository, which declares three clusters."""
    fleet = new_repository(tmp_path / "fleet.git", bare=True)
    person = clone(fleet, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS, **{f"clusters/{name}.yaml": CLUSTER % (name, SECONDS) for name in NAMES}})
    person.git("push", "--quiet", "origin", "main")
    return fleet


def arguments(hub: Hub, fleet: Repo, *more: str) -> tuple[str, ...]:
    """A relay of the user who has the printed rights and no others."""
    return (
        "relay",
        "--from-hub",
        str(hub.kubeconfig),
        "--context",
        "muster",
        "--remote",
        str(fleet.path),
        "--name",
        "ocm",
        *more,
    )


def with_status(hub: Hub, kind: Kind, metadata: Tree, status: Tree, **spec: Tree) -> None:
    """Make an object, as people and agents do."""
    body = kind.body(metadata, **spec)
    hub.make_namespaces([body])
    hub.apply(body)
    hub.apply({**kind.body(metadata), "status": status}, status=True)


def test_every_kind_arrives_with_the_rights_that_are_printed(hub: Hub, fleet: Repo, muster: Run) -> None:
    condition = {"type": "Available", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": now()}
    Klusterlets(hub, ["fh-1"], 60)
    with_status(
        hub,
        kinds.MANAGED_CLUSTER_ADD_ON,
        {"name": "dns", "namespace": "fh-1"},
        {"conditions": [condition, {**condition, "type": "Configured"}]},
        spec={},
    )
    with_status(
        hub,
        kinds.MANIFEST_WORK,
        {"name": "web", "namespace": "fh-1"},
        {"conditions": [condition]},
        spec={"workload": {"manifests": []}},
    )
    with_status(
        hub,
        kinds.ADD_ON_PLACEMENT_SCORE,
        {"name": "cost", "namespace": "fh-1"},
        {"scores": [{"name": "price", "value": 7}]},
    )
    with_status(
        hub, kinds.KARMADA_CLUSTER, {"name": "fh-m1"}, {"kubernetesVersion": "v1.31.0"}, spec={"syncMode": "Pull"}
    )
    code, out, err = muster(*arguments(hub, fleet, "--once"))
    assert (code, "is forbidden" in err, "muster relay --print-rbac" in err) == (exits.REPOSITORY, True, True)
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "muster"}
    rights = list(yaml.safe_load_all(muster("relay", "--print-rbac")[1]))
    for body in rights:
        hub.apply({**body, **({"subjects": [subject]} if "subjects" in body else {})})
    code, out, err = muster(*arguments(hub, fleet, "--once", "--clusters", "fh-*"))
    assert (code, err) == (0, "")
    counts = "1 AddOnPlacementScore, 1 Cluster, 1 Lease, 1 ManagedCluster, 1 ManagedClusterAddOn, 1 ManifestWork"
    assert re.fullmatch(rf"listed: {counts}(; passed over: .*)?\n2 clusters\n", out)
    muster("reconcile", "--repo", fleet.path, "--branch", "main")
    add_on, work, score = (
        json.loads(muster("get", what, "--repo", fleet.path, "-o", "json")[1])["status"]
        for what in ("ManagedClusterAddOn/fh-1/dns", "ManifestWork/fh-1/web", "AddOnPlacementScore/fh-1/cost")
    )
    assert [one["type"] for one in add_on["conditions"]] == ["Available"]
    assert [one["type"] for one in work["conditions"]] == ["Available"]
    assert score["scores"] == [{"name": "price", "value": 7}]
    assert (
        muster(*arguments(hub, fleet, "--once", "--clusters", "fh-*", "--log-format", "json"))[1].count('"time"') == 1
    )
    hub.delete(rights[-1])


def test_wrong_options(hub: Hub, fleet: Repo, muster: Run, tmp_path: Path) -> None:
    for more, why in (
        (("--listen", "127.0.0.1:0", "--tokens", str(hub.kubeconfig)), "exclude each other"),
        (("--context", "nobody"), "nobody"),
    ):
        code, _, err = muster(*arguments(hub, fleet, *more))
        assert (code, why in err) == (exits.USAGE, True), err
    elsewhere = ("--name", "other", "--once", "--clusters", "no-such")  # the last name counts
    assert "the Fleet does not hear other: spec.agents.relays" in muster(*arguments(hub, fleet, *elsewhere))[2]
    code, _, err = muster("relay", "--from-hub", "in-cluster", "--remote", fleet.path, "--name", "ocm")
    assert (code, "outside of a cluster" in err) == (exits.USAGE, True)
    code, _, err = muster("relay", "--clusters", "c*", "--repo", fleet.path, "--remote", fleet.path, "--name", "ocm")
    assert (code, "go with --from-hub" in err) == (exits.USAGE, True)


def available(fleet: Repo, name: str) -> Tree:
    """What main says of a cluster's availability."""
    text = fleet.git("show", f"main:derived/managedclusters/{name}.yaml", check=False)
    found = {one["type"]: one for one in mappings_at(yaml.load(text, yaml.BaseLoader) or {}, "status", "conditions")}
    return found.get(kinds.MANAGED_CLUSTER.headline) or {}


def test_restarts_lose_nothing_and_main_moves_at_transitions_only(hub: Hub, fleet: Repo) -> None:
    """Relay, server and engine are killed while leases are renewed; a cluster whose last renewal was almost five lease
    durations ago is Unknown to the second."""
    environ = {key: value for key, value in fleet.environ.items() if not key.endswith("_DATE")}
    environ |= {"PYTHONUNBUFFERED": "1"}
    relay = arguments(hub, fleet, "--context", "admin", "--clusters", "fh-*", "--every", "0.5")
    watch = ("watch", "--repo", str(fleet.path), "--branch", "main")
    klusterlets = Klusterlets(hub, NAMES, SECONDS)
    pem = b64encode(new_request("fh-1").pem).decode()
    asked = {"request": pem, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    for metadata in ({"name": "kubelet-serving"}, {"name": "fh-1-agent", "labels": {CLUSTER_NAME: "fh-1"}}):
        hub.apply(kinds.CSR.body(metadata, spec=asked))

    def says(status: str, *names: str) -> bool:
        return all(available(fleet, name).get("status") == status for name in names)

    with klusterlets.running(1.0), running(*watch, environ=environ) as engine:
        with running(*relay, environ=environ) as first:
            first.wait_for("CertificateSigningRequest of no cluster")
            wait_until(lambda: says("True", *NAMES), lambda: f"{first.lines} {engine.lines}")
            since = {name: available(fleet, name) for name in NAMES}
            head = fleet.git("rev-parse", "main")
            first.kill()
        hub.kill()
        engine.kill()
        hub.start()
        with running(*relay, environ=environ) as second, running(*watch, environ=environ) as again:
            second.wait_for("listed: ")
            again.wait_for("watching")
            klusterlets.kill("fh-3")
            klusterlets.renew("fh-3", timedelta(seconds=5 * SECONDS - 8))
            wait_until(lambda: says("Unknown", "fh-3"), lambda: f"{second.lines} {again.lines}")
    due = klusterlets.renewed["fh-3"] + timedelta(seconds=5 * SECONDS)
    assert parse_time(available(fleet, "fh-3")["lastTransitionTime"]).timestamp() == ceil(due.timestamp())
    assert {name: available(fleet, name) for name in ("fh-1", "fh-2")} == {
        name: since[name] for name in ("fh-1", "fh-2")
    }
    subjects = fleet.git("log", "--format=%s", f"{head}..main").splitlines()
    assert len(subjects) == 1, subjects
    assert subjects[0].startswith("fh-3 Unknown")


def test_a_restart_of_the_hub_is_one_line(hub: Hub, fleet: Repo, muster: Run) -> None:
    """A server that starts refuses what it allows later: that is no lack of rights, and nobody is told to grant any."""
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "muster"}
    rights = list(yaml.safe_load_all(muster("relay", "--print-rbac")[1]))
    for body in rights:
        hub.apply({**body, **({"subjects": [subject]} if "subjects" in body else {})})
    with running(*arguments(hub, fleet, "--clusters", "fh-*", "--every", "0.5"), environ=fleet.environ) as relay:

        def said(text: str) -> int:
            return sum(text in line for line in relay.lines)

        relay.wait_for("listed: ")
        for number in range(1, 4):
            hub.kill()
            wait_until(lambda count=number: said("the API server https") == count, lambda: f"{relay.lines}")  # type: ignore[misc]
            hub.start()
            wait_until(lambda count=number: said("answers again") == count, lambda: f"{relay.lines}")  # type: ignore[misc]
    assert said("the API server https") == 3, relay.lines
    assert [line for line in relay.lines if "forbidden" in line or "rbac" in line] == []
    hub.delete(rights[-1])
