"""All roads into a fleet at once: agents by tokens and by pushes, alerts, a detector of many clusters, and a relay
that runs as a process."""

import hashlib
import json
import re
from pathlib import Path

import urllib3

from muster.cli import exits
from tests.agents.detect.servers import http_server
from tests.agents.heartbeat.test_heartbeat import Server, server
from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run
from tests.support.git import clone, new_repository
from tests.support.processes import running

__all__ = ["server"]  # a fixture
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec:
  agents: {relays: [{name: edge, clusters: ["http-*", "push-*"]}]}
  collectors: {alertmanager: [{match: {alertname: Down}, condition: GatewayReachable}]}
"""
BY_TOKEN = [f"http-{number}" for number in range(10)]
BY_PUSH = [f"push-{number}" for number in range(5)]
DETECTED = [*BY_PUSH, *(f"seen-{number}" for number in range(5))]  # by one process, five of them without an agent


def test_get_clusters_tells_of_all_of_them(server: Server, tmp_path: Path, muster: Run) -> None:
    hub, repo = new_repository(tmp_path / "hub.git", bare=True), new_repository(tmp_path / "relay.git", bare=True)
    person = clone(hub, tmp_path / "person")
    names = sorted({*BY_TOKEN, *BY_PUSH, *DETECTED})
    person.commit({"fleet.yaml": FLEET, **{f"clusters/{name}.yaml": cluster(name) for name in names}})
    person.git("push", "--quiet", "origin", "main")
    assert muster("reconcile", "--repo", hub.path, "--branch", "main")[0] == exits.FINE
    tokens = [f"{name} {hashlib.sha256(name.encode()).hexdigest()}" for name in BY_TOKEN]
    tokens.append(f"alerts {hashlib.sha256(b'alerts').hexdigest()} http-*,push-*")
    (tmp_path / "tokens").write_text("\n".join(tokens))
    with (
        running(
            "relay",
            "--repo",
            str(repo.path),
            "--remote",
            str(hub.path),
            "--name",
            "edge",
            "--every",
            "0.2",
            "--listen",
            "127.0.0.1:0",
            "--tokens",
            str(tmp_path / "tokens"),
            environ=hub.environ,
        ) as relay,
        http_server() as gateway,
    ):
        relay.wait_for("listening on")
        url = next(found[0] for line in relay.lines if (found := re.search(r"http://\S+", line)))
        ready = {"condition": "GatewayReady", "http": gateway.url}
        probes = [
            {**ready, "clusters": BY_PUSH, "remote": str(repo.path)},
            {**ready, "clusters": [f"seen-{number}" for number in range(4)]},
            {**ready, "clusters": ["seen-4"], "http": "http://127.0.0.1:1/"},
        ]
        table = {"defaults": {"period": "200ms", "leaseDuration": "60s"}, "probes": probes}
        (tmp_path / "table.yaml").write_text(json.dumps(table))
        target = ("--remote", str(hub.path))
        with running("detect", "--table", str(tmp_path / "table.yaml"), *target, environ=hub.environ) as detector:
            for name in BY_TOKEN:
                (tmp_path / name).write_text(name)
                way = ("--relay", url, "--token-file", tmp_path / name)
                assert muster("heartbeat", "--cluster", name, "--api-server", server.url, *way)[0] == 0
            for name in BY_PUSH:
                assert muster("heartbeat", "--cluster", name, "--api-server", server.url, "--remote", repo.path)[0] == 0
            for name in ("http-3", "push-3"):
                alert = {
                    "status": "firing",
                    "labels": {"alertname": "Down", "cluster": name},
                    "startsAt": "2026-01-01T00:00:00Z",
                    "fingerprint": name,
                }
                answer = urllib3.request(
                    "POST",
                    f"{url}/v1/alertmanager",
                    headers={"Authorization": "Bearer alerts"},
                    body=json.dumps({"version": "4", "alerts": [alert]}),
                    retries=False,
                    timeout=60,
                )
                assert answer.status == 200, answer.data
            for name in DETECTED:
                detector.wait_for(f"{name}: GatewayReady: ")
    assert muster("reconcile", "--repo", hub.path, "--branch", "main")[0] in (exits.FINE, exits.FINDINGS)
    code, out, _ = muster("get", "clusters", "--repo", hub.path, "-o", "json")
    assert code == 0
    told = {
        one["metadata"]["name"]: {c["type"]: c["status"] for c in one["status"]["conditions"]}
        for one in json.loads(out)["items"]
    }
    assert sorted(told) == names

    def having(type_: str, status: str) -> list[str]:
        return sorted(name for name, conditions in told.items() if conditions.get(type_) == status)

    assert having("ManagedClusterConditionAvailable", "True") == sorted([*BY_TOKEN, *BY_PUSH])
    assert having("GatewayReachable", "False") == ["http-3", "push-3"]
    assert having("GatewayReady", "True") == sorted(set(DETECTED) - {"seen-4"})
    assert having("GatewayReady", "False") == ["seen-4"]
