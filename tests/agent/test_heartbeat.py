"""From the first request to a report and a failure: a real hub repository, a real API server."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.agent.agent_ref import AgentRef
from muster.agent.apiserver import ApiServer
from muster.agent.facts import observed
from muster.agent.health import probe
from muster.agent.heartbeat import Heart
from muster.agent.hub import View, view
from tests.commands.conftest import Run, muster
from tests.support.git import Repo, git_environ, new_repository

__all__ = ["muster"]  # a fixture
START = datetime(2026, 1, 1, tzinfo=UTC)
REF = "refs/heads/agents/edge"


class Server:
    """An API server that answers what it is told to: path -> status and body."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {
            "/livez": (200, "ok"),
            "/version": (200, {"gitVersion": "v1.34.1"}),
            "/api/v1/nodes": (
                200,
                {"items": [{"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3900m"}}}]},
            ),
        }
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, self.headers.get("Authorization")))
                status, body = outer.answers.get(self.path, (404, "not found"))
                data = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    seed = new_repository(tmp_path / "seed")
    seed.commit({"fleet.yaml": "{apiVersion: muster.dev/v1alpha1, kind: Fleet, metadata: {name: f}}\n"})
    bare = new_repository(tmp_path / "hub.git", bare=True)
    seed.git("push", "--quiet", str(bare.path), "main")
    return bare


def said(hub: Repo, name: str) -> Any:
    return yaml.load(hub.git("show", f"{REF}:{name}"), Loader=yaml.BaseLoader)


class Clocks:
    """Time that passes when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def wait(self, seconds: float) -> bool:
        self.seconds += seconds
        return False


def heart(hub: Repo, server: Server, clocks: Clocks, seen: View | None = None) -> Heart:
    environ = git_environ(hub.path.parent)
    api = ApiServer(server.url)
    return Heart(
        AgentRef(str(hub.path), "edge", 30, environ), "me", lambda: probe(api.get), lambda: observed(api.get_json),
        lambda: seen or view(str(hub.path), "main", "edge", environ),
        clocks.now, lambda: clocks.seconds, clocks.wait,
    )  # fmt: skip


def test_the_whole_way_from_asking_to_a_report(hub: Repo, server: Server, muster: Run) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks)
    assert agent.beat() == "asked to be let in"
    assert server.asked == []
    assert muster("accept", "--repo", hub.path, "--branch", "main", "--clusters", "edge")[0] == 0
    assert muster("reconcile", "--repo", hub.path, "--branch", "main", "--now", "2026-01-01T00:00:00Z")[0] == 0
    assert agent.beat() == "renewed, ManagedClusterConditionAvailable is True"
    assert muster("reconcile", "--repo", hub.path, "--branch", "main", "--now", "2026-01-01T00:00:10Z")[0] == 0
    code, out, err = muster(
        "get", "ManagedCluster/edge", "--repo", hub.path, "-o", "json", "--now", "2026-01-01T00:00:10Z"
    )
    assert (code, err) == (0, "agents heard until 2026-01-01T00:00:00Z (10s ago)\n")
    found = json.loads(out)
    body = found[0] if isinstance(found, list) else found
    body = body.get("items", [body])[0]
    status = {condition["type"]: condition["status"] for condition in body["status"]["conditions"]}
    assert status["ManagedClusterConditionAvailable"] == "True"
    assert status["ManagedClusterJoined"] == "True"
    assert status["ManagedClusterConditionClockSynced"] == "True"
    assert body["status"]["version"] == {"kubernetes": "v1.34.1"}
    assert body["status"]["allocatable"] == {"cpu": "3900m"}


def test_the_ref_is_one_root_commit_and_keeps_the_files_of_others(hub: Repo, server: Server) -> None:
    agent = heart(hub, server, Clocks(), View(accepted=True))
    agent.beat()
    work = new_repository(hub.path.parent / "adapter")
    work.git("fetch", "--quiet", str(hub.path), REF)
    work.git("checkout", "--quiet", "-b", "x", "FETCH_HEAD")
    work.commit({"reports/dns.yaml": "a: report"})
    work.git("push", "--quiet", str(hub.path), f"HEAD:{REF}")
    agent.beat()
    assert hub.git("rev-list", "--count", REF) == "1"
    assert hub.git("show", f"{REF}:reports/dns.yaml") == "a: report"


def test_a_failure_is_reported_when_it_has_lasted_and_facts_stay(hub: Repo, server: Server) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks, View(accepted=True))
    agent.beat()
    server.answers["/livez"] = (500, "etcd is gone")
    assert agent.beat() == "renewed, ManagedClusterConditionAvailable is False"
    assert clocks.seconds == 20
    status = said(hub, "cluster.yaml")["status"]
    assert status["conditions"] == [{
        "type": "ManagedClusterConditionAvailable", "status": "False",
        "reason": "ManagedClusterKubeAPIServerUnavailable",
        "message": "The kube-apiserver is not ok, status code: 500, etcd is gone",
        "lastTransitionTime": "2026-01-01T00:00:20Z",
    }]  # fmt: skip
    assert status["version"] == {"kubernetes": "v1.34.1"}
    assert said(hub, "lease.yaml")["spec"]["renewTime"] == "2026-01-01T00:00:20Z"


def test_a_failure_that_passes_is_never_reported(hub: Repo, server: Server) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks, View(accepted=True))
    agent.beat()
    server.answers["/livez"] = (500, "starting")
    agent.wait = lambda seconds: bool(server.answers.update({"/livez": (200, "ok")})) or clocks.wait(seconds)
    assert agent.beat() == "renewed, ManagedClusterConditionAvailable is True"
    assert said(hub, "cluster.yaml")["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_while_the_clocks_differ_only_the_lease_is_renewed(hub: Repo, server: Server) -> None:
    clocks = Clocks()
    heart(hub, server, clocks, View(accepted=True)).beat()
    before = said(hub, "cluster.yaml")
    server.answers["/version"] = (200, {"gitVersion": "v1.35.0"})
    clocks.wait(60)
    heart(hub, server, clocks, View(accepted=True, synced=False)).beat()
    assert said(hub, "cluster.yaml") == before
    assert said(hub, "lease.yaml")["spec"]["renewTime"] == "2026-01-01T00:01:00Z"


def test_the_hub_stretches_the_lease(hub: Repo, server: Server) -> None:
    agent = heart(hub, server, Clocks(), View(accepted=True, lease_seconds=240))
    agent.beat()
    assert said(hub, "lease.yaml")["spec"]["leaseDurationSeconds"] == "240"
    assert 240 <= agent.period() <= 300


def test_the_command_speaks_to_an_api_server_as_a_kubeconfig_says(
    hub: Repo, server: Server, muster: Run, tmp_path: Path
) -> None:
    config = {
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "sesame"}}],
    }  # fmt: skip
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
    (tmp_path / "facts.yaml").write_text("clusterClaims: [{name: id.k8s.io, value: x}]\nother: 1\n", encoding="utf-8")
    beat = ("heartbeat", "--cluster", "edge", "--remote", hub.path, "--kubeconfig", tmp_path / "kubeconfig",
            "--status", tmp_path / "facts.yaml")  # fmt: skip
    assert muster(*beat) == (0, "edge: asked to be let in\n", "")
    assert muster("accept", "--repo", hub.path, "--branch", "main", "--clusters", "edge")[0] == 0
    assert muster("reconcile", "--repo", hub.path, "--branch", "main", "--now", "2026-01-01T00:00:00Z")[0] == 0
    assert muster(*beat) == (0, "edge: renewed, ManagedClusterConditionAvailable is True\n", "")
    assert ("/livez", "Bearer sesame") in server.asked
    assert said(hub, "cluster.yaml")["status"]["clusterClaims"] == [{"name": "id.k8s.io", "value": "x"}]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{}", "no context"),
        ("[", "cannot be read"),
        ("{current-context: c, contexts: [{name: c, context: {cluster: k}}]}", "no cluster 'k'"),
    ],
)
def test_a_kubeconfig_that_does_not_say(hub: Repo, muster: Run, tmp_path: Path, config: str, message: str) -> None:
    (tmp_path / "kubeconfig").write_text(config, encoding="utf-8")
    code, _, err = muster("heartbeat", "--cluster", "e", "--remote", hub.path, "--kubeconfig", tmp_path / "kubeconfig")
    assert code == 2
    assert message in err
