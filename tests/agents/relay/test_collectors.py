"""Collectors over HTTP: alerts and reports become conditions of their own clusters, and hostile messages do nothing."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from muster.agents.hub.local import LocalHub
from muster.agents.relay.alerts import read_rules
from muster.agents.relay.authentication import Authentication, RateLimit, TokenFile
from muster.agents.relay.collected import REF
from muster.agents.relay.collectors import DOCUMENT, MOST_BYTES, Collectors, document
from muster.agents.relay.server import RelayServer
from muster.data.agentref import Mandate
from muster.data.tree import Tree, dig
from muster.net.serving.server import served
from tests.agents.relay.test_relay import NOW, Site, site
from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run, muster
from tests.support.examples import often
from tests.support.git import Repo
from tests.support.patience import PATIENCE_SECONDS

__all__ = ["muster", "site"]  # fixtures
SETTINGS = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec:
  agents: {relays: [{name: edge, clusters: ["edge-*"]}]}
  collectors:
    alertmanager:
    - {match: {alertname: KubeAPIDown}, condition: APIServerReachable}
    - {match: {alertname: "Etcd*", severity: critical}, condition: EtcdHealthy, status: Unknown, clusterLabel: site}
"""
NAMES = ("edge-a", "edge-b", "other-x")


SCHEMATHESIS = """\
[parameters]
"path.cluster" = "edge-a"
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 411, 413, 429, 431]
"""


@dataclass
class Desk:
    """A server for collectors, and the fleet that it reports to."""

    site: Site
    muster: Run
    url: str
    collectors: Collectors

    def post(self, path: str, body: Tree, token: str = "alerts", **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = urllib3.request(
            "POST",
            self.url + path,
            body=data,
            headers={"Authorization": f"Bearer {token}", **headers},
            retries=False,
            timeout=PATIENCE_SECONDS,
        )
        is_json = answer.headers.get("Content-Type") == "application/json"
        return answer.status, answer.json() if is_json else answer.data.decode()

    def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        """The conditions of a cluster at the hub, after a step of the relay."""
        self.site.relay.step()
        code, out, err = self.muster(
            "get",
            f"managedcluster/{name}",
            "--repo",
            str(self.site.hub.path),
            "-o",
            "json",
            "--now",
            "2026-01-01T00:01:00Z",
        )
        assert code in (0, 1), err
        body = json.loads(out)
        return {one["type"]: (one["status"], one.get("message", "")) for one in dig(body, "status", "conditions")}


@contextmanager
def desk_of(site: Site, muster: Run, tmp_path: Path, limit: RateLimit | None = None) -> Iterator[Desk]:
    person = Repo(tmp_path / "person", site.hub.environ)
    person.commit({"fleet.yaml": SETTINGS, **{f"clusters/{name}.yaml": cluster(name) for name in NAMES}})
    person.git("push", "--quiet", "origin", "main")
    muster("reconcile", "--repo", str(site.hub.path), "--now", "2026-01-01T00:00:30Z")
    site.relay.fetch_hub()
    hub = LocalHub(site.relay.repository, "main")
    rules = read_rules(yaml.safe_load(SETTINGS)["spec"])
    collectors = Collectors(site.relay.collected, hub, lambda: NOW, Mandate(["edge-*"]), rules)
    lines = [("edge-a", ""), ("alerts", "*"), ("dns", "edge-b")]
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{who} {hashlib.sha256(who.encode()).hexdigest()} {more}\n" for who, more in lines))
    doors = Authentication(TokenFile(tokens))
    server = RelayServer(("127.0.0.1", 0), site.relay, doors, hub, collectors, limit)
    with served(server, "relay"):
        yield Desk(site, muster, server.url, collectors)


@pytest.fixture
def desk(site: Site, muster: Run, tmp_path: Path) -> Iterator[Desk]:
    with desk_of(site, muster, tmp_path, RateLimit(1e6, 1e6)) as made:
        yield made


def alert(name: str, fingerprint: str, status: str = "firing", **labels: str) -> Tree:
    """An alert as Alertmanager 0.27 sends it."""
    return {
        "status": status,
        "labels": {"alertname": name, **labels},
        "annotations": {"summary": f"{name} of {labels}"},
        "startsAt": "2026-01-01T00:00:00.123Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "fingerprint": fingerprint,
        "generatorURL": "http://prometheus/graph",
    }


def webhook(*alerts: Tree) -> Tree:
    return {
        "version": "4",
        "groupKey": "{}:{}",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "muster",
        "groupLabels": {},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://am",
        "alerts": [*alerts],
    }


def test_alerts_are_conditions_until_they_are_resolved(desk: Desk) -> None:
    fires = webhook(
        alert("KubeAPIDown", "1", cluster="edge-a"),
        alert("EtcdSlow", "2", site="edge-a", severity="critical"),
        alert("EtcdSlow", "3", site="edge-a", severity="warning"),
        alert("KubeAPIDown", "4"),
        alert("KubeAPIDown", "5", cluster="other-x"),
        alert("KubeAPIDown", "6", cluster="edge-nowhere"),
    )
    status, answer = desk.post("/v1/alertmanager", fires)
    assert (status, answer["taken"]) == (200, 2)
    assert answer["ignored"] == [
        "KubeAPIDown: the Fleet does not give other-x to this relay",
        "KubeAPIDown: the fleet has no ManagedCluster edge-nowhere",
        "EtcdSlow: no rule of the Fleet matches it",
        "KubeAPIDown: it has no label cluster",
    ]
    found = desk.conditions("edge-a")
    assert found["APIServerReachable"] == ("False", "KubeAPIDown of {'cluster': 'edge-a'}")
    assert found["EtcdHealthy"][0] == "Unknown"
    assert desk.post("/v1/alertmanager", webhook(alert("KubeAPIDown", "1", "resolved", cluster="edge-a")))[0] == 200
    found = desk.conditions("edge-a")
    assert (found["APIServerReachable"][0], found["EtcdHealthy"][0]) == ("True", "Unknown")
    # What was answered 200 is on disk: a relay that is killed has it.
    again = desk.site.again()
    again.fetch_hub()
    assert again.collected.tree == desk.site.relay.collected.tree


def test_a_sender_reports_on_its_own_clusters_alone(desk: Desk) -> None:
    condition = {"cluster": "edge-b", "type": "DNS", "status": "False", "reason": "NoAnswer", "message": "it is silent"}
    assert desk.post("/v1/reports", {"conditions": [condition]}, "dns") == (200, {"taken": 1, "ignored": []})
    assert desk.conditions("edge-b")["DNS"] == ("False", "it is silent")
    tree = desk.collectors.files.tree
    for body in (
        {"conditions": [condition, {**condition, "cluster": "edge-a"}]},
        {
            "reports": [
                {
                    "cluster": "edge-a",
                    "adapter": "dns",
                    "observed_generation": 1,
                    "conditions": [{"type": "Available", "status": "True"}],
                }
            ]
        },
    ):
        assert desk.post("/v1/reports", body, "dns") == (403, {"error": "dns may not report on 'edge-a'"})
    assert desk.post("/v1/alertmanager", webhook(alert("KubeAPIDown", "1", cluster="edge-a")), "dns")[0] == 403
    # An agent's token is good for its own cluster.
    assert desk.post("/v1/reports", {"conditions": [condition]}, "edge-a")[0] == 403
    assert desk.post("/v1/reports", {"conditions": [condition]}, "nobody")[0] == 401
    assert desk.collectors.files.tree == tree
    own = {**condition, "cluster": "edge-a"}
    assert desk.post("/v1/reports", {"conditions": [own]}, "edge-a")[0] == 200
    # A collector's token opens no agent's files.
    answer = urllib3.request("GET", f"{desk.url}/v1/agents/edge-b", headers={"Authorization": "Bearer dns"})
    assert answer.status == 401
    # Withdrawn.
    assert desk.post("/v1/reports", {"conditions": [{**condition, "status": None}]}, "dns")[0] == 200
    assert "DNS" not in desk.conditions("edge-b")


def test_adapters_report(desk: Desk) -> None:
    report = {
        "cluster": "edge-a",
        "adapter": "dns",
        "observed_generation": 1,
        "data": {"zone": "z"},
        "conditions": [{"type": "Available", "status": "False", "reason": "NoZone"}],
    }
    assert desk.post("/v1/reports", {"reports": [report]})[0] == 200
    desk.site.relay.step()
    code, out, err = desk.muster("get", "reports", "--repo", str(desk.site.hub.path), "-o", "json")
    assert code == 0, err
    assert "NoZone" in out


HOSTILE: list[bytes | Tree] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"[" * 100_000,
    b'{"alerts": ' + b'{"a":' * 50_000,
    b"\xff\xfe",
    b'{"conditions": [NaN]}',
    {"conditions": [{"cluster": "edge-a", "type": "X", "status": "maybe"}]},
    {"conditions": [{"cluster": "../edge-a", "type": "X", "status": "True"}]},
    {"conditions": [{"cluster": "edge-a", "type": "a/b/c", "status": "True"}]},
    {"conditions": [{"cluster": "edge-a", "type": "X", "status": "True", "message": "\ud800"}]},
    {"conditions": [{"cluster": "edge-a", "type": "X", "status": "True", "message": "x" * 5000}]},
    {"conditions": [{"cluster": "edge-a", "type": "X", "status": "True", "more": 1}]},
    {"conditions": [{"cluster": "edge-a", "type": f"X{n}", "status": "True"} for n in range(2000)]},
    {"reports": [{"cluster": "edge-a", "adapter": "A", "observed_generation": 1, "conditions": []}]},
    {
        "reports": [
            {
                "cluster": "edge-a",
                "adapter": "a",
                "observed_generation": 1 << 70,
                "conditions": [{"type": "Available", "status": "True"}],
            }
        ]
    },
    b'{"reports": [{"cluster": "edge-a", "adapter": "a", "observed_generation": 1, "data": {"x": 1e999}}]}',
    {},
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_messages_are_refused_and_change_nothing(desk: Desk, number: int) -> None:
    good = {"conditions": [{"cluster": "edge-a", "type": "Fine", "status": "True"}]}
    assert desk.post("/v1/reports", good)[0] == 200
    tree = desk.collectors.files.tree
    for path in ("/v1/reports", "/v1/alertmanager"):
        status, answer = desk.post(path, HOSTILE[number])
        assert (status, list(answer)) == (400, ["error"]), answer
    assert desk.collectors.files.tree == tree


def test_control_characters_reach_people_escaped(desk: Desk) -> None:
    bad = {"cluster": "edge-a", "type": "X", "status": "True", "message": "a\u0000b\u0085c\u2028\r\n---\nkind: Fleet"}
    status, answer = desk.post("/v1/reports", {"conditions": [bad]})
    assert (status, answer.get("taken")) in ((200, 1), (400, None))
    if status == 200:
        assert desk.conditions("edge-a")["X"][0] == "True"


def test_sizes_heads_and_rates_are_bounded(site: Site, muster: Run, tmp_path: Path) -> None:
    good = {"conditions": [{"cluster": "edge-a", "type": "Fine", "status": "True"}]}
    with desk_of(site, muster, tmp_path, RateLimit(0.01, 4)) as desk:
        assert desk.post("/v1/reports", b" " * (MOST_BYTES + 1))[0] == 413
        assert desk.post("/v1/reports", good, **{f"X-{n}": "y" for n in range(70)})[0] == 431
        assert desk.post("/v1/reports", good, X="y" * 20_000)[0] == 431
        assert [desk.post("/v1/reports", good)[0] for _ in range(4)] == [200, 200, 200, 429]
        assert (
            desk.post("/v1/reports", {"conditions": [{**good["conditions"][0], "cluster": "edge-b"}]}, "dns")[0] == 200
        )
        assert urllib3.request("GET", f"{desk.url}/livez").status == 200


def test_the_document_is_served_and_kept_to(desk: Desk, tmp_path: Path) -> None:
    """schemathesis asks everything that the document allows and much that it forbids, and compares the answers."""
    assert urllib3.request("GET", desk.url + DOCUMENT).data == document()
    (tmp_path / "schemathesis.toml").write_text(SCHEMATHESIS)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from schemathesis.cli import schemathesis; schemathesis()",
            "run",
            desk.url + DOCUMENT,
            "--header",
            "Authorization: Bearer edge-a",
            "--max-examples",
            str(often(4)),
            "--phases",
            "examples,coverage,fuzzing",
            "--checks",
            "all",
            "--seed",
            "1",
            "--no-color",
            "--exclude-checks",
            "positive_data_acceptance,missing_required_header",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def test_a_collector_writes_where_no_evaluation_finds_other_things(desk: Desk) -> None:
    assert desk.post("/v1/alertmanager", webhook(alert("KubeAPIDown", "1", cluster="edge-a")))[0] == 200
    paths = desk.site.repo.git("ls-tree", "-r", "--name-only", REF).split()
    assert [path.partition("/edge-a/")[2] for path in paths] == [
        "alerts/alerts/ManagedCluster.APIServerReachable.alerts",
        "alerts/alerts/ManagedCluster.APIServerReachable.yaml",
    ]
