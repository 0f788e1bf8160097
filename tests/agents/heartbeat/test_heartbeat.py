"""From the first request to a report and a failure: a real hub repository, a real API server."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml

from muster.agents.heartbeat.availability import Availability, ClusterObserver, check_api_server
from muster.agents.heartbeat.facts import ClusterFacts, read_facts
from muster.agents.heartbeat.heartbeat import Heartbeat
from muster.agents.hub.pushed_ref import PushedRef
from muster.agents.hub.remote import RemoteHub
from muster.agents.hub.view import HubView
from muster.agents.kube.apiserver import ApiServer
from muster.data.times import format_time
from muster.git.errors import RepositoryError
from tests.support.commandline import Run, muster
from tests.support.git import Repo, clone, git_environ, new_repository
from tests.support.patience import PATIENCE_SECONDS

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
                status, body = outer.answers.get(self.path.partition("?")[0], (404, "not found"))
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


def view_once(remote: str, branch: str, cluster: str, environ: Mapping[str, str]) -> HubView:
    with closing(RemoteHub(remote, branch, cluster, environ)) as found:
        return found.look()


class Clocks:
    """Time that passes when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def wait(self, seconds: float) -> bool:
        self.seconds += seconds
        return False


def heart(hub: Repo, server: Server, clocks: Clocks, seen: HubView | None = None) -> Heartbeat:
    environ = git_environ(hub.path.parent)
    api = ApiServer(server.url)
    return Heartbeat(
        PushedRef(str(hub.path), "edge", 30, environ),
        "me",
        lambda: check_api_server(api.get),
        lambda: ClusterFacts(read_facts(api.get_json)),
        lambda: seen or view_once(str(hub.path), "main", "edge", environ),
        clocks.now,
        lambda: clocks.seconds,
        clocks.wait,
    )


def test_the_whole_way_from_asking_to_a_report(hub: Repo, server: Server, muster: Run) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks)
    assert agent.beat() == "asked to join"
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


def test_an_add_on_whose_lease_runs_out_is_unknown_and_its_cluster_is_not(
    hub: Repo, server: Server, muster: Run
) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks)

    def decided() -> tuple[str, str]:
        """The availability of the cluster and of its add-on, after a run."""
        now = ("--now", format_time(clocks.now()))
        assert muster("reconcile", "--repo", hub.path, "--branch", "main", *now)[0] == 0
        found = []
        for object_ in ("ManagedCluster/edge", "ManagedClusterAddOn/edge/dns"):
            body = json.loads(muster("get", object_, "--repo", hub.path, "-o", "json", *now)[1])
            body = (body if isinstance(body, list) else body.get("items", [body]))[0]
            conditions = body.get("status", {}).get("conditions", [])
            found.append(next((c["status"] for c in conditions if c["type"].endswith("Available")), "-"))
        return found[0], found[1]

    agent.beat()
    assert muster("accept", "--repo", hub.path, "--branch", "main", "--clusters", "edge")[0] == 0
    person = clone(hub, hub.path.parent / "person")
    add_on = (
        "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\n"
        "metadata: {name: dns, namespace: edge}\n"
    )
    person.commit({"add-ons/dns.yaml": add_on})
    person.git("push", "--quiet", "origin", "HEAD:main")
    decided()
    agent.beat()
    assert decided() == ("True", "-"), "an add-on that renews no Lease is not judged by one"
    with_add_on = replace(agent, add_ons=("dns",))
    with_add_on.beat()
    assert decided() == ("True", "True")
    for _ in range(6):
        clocks.wait(60)
        replace(agent, add_ons=()).beat()
    assert decided() == ("True", "Unknown")
    with_add_on.beat()
    assert decided() == ("True", "True")


def test_the_ref_is_one_root_commit_and_keeps_the_files_of_others(hub: Repo, server: Server) -> None:
    agent = heart(hub, server, Clocks(), HubView(accepted=True))
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
    agent = heart(hub, server, clocks, HubView(accepted=True))
    agent.beat()
    server.answers["/livez"] = (500, "etcd is gone")
    assert agent.beat() == "renewed, ManagedClusterConditionAvailable is False"
    assert clocks.seconds == 20
    status = said(hub, "cluster.yaml")["status"]
    assert status["conditions"] == [
        {
            "type": "ManagedClusterConditionAvailable",
            "status": "False",
            "reason": "ManagedClusterKubeAPIServerUnavailable",
            "message": "The kube-apiserver is not ok, status code: 500, etcd is gone",
            "lastTransitionTime": "2026-01-01T00:00:20Z",
        }
    ]
    assert status["version"] == {"kubernetes": "v1.34.1"}
    assert said(hub, "lease.yaml")["spec"]["renewTime"] == "2026-01-01T00:00:20Z"


def test_a_failure_that_passes_is_never_reported(hub: Repo, server: Server) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks, HubView(accepted=True))
    agent.beat()
    server.answers["/livez"] = (500, "starting")
    agent.wait = lambda seconds: bool(server.answers.update({"/livez": (200, "ok")})) or clocks.wait(seconds)
    assert agent.beat() == "renewed, ManagedClusterConditionAvailable is True"
    assert said(hub, "cluster.yaml")["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_while_the_clocks_differ_only_the_lease_is_renewed(hub: Repo, server: Server) -> None:
    """The hub goes on saying so while the lease is renewed: then it is about the clock, and not about a silence."""
    clocks = Clocks()
    heart(hub, server, clocks, HubView(accepted=True)).beat()
    unsynced = heart(hub, server, clocks, HubView(accepted=True, synced=False))
    for _ in range(3):
        clocks.wait(240)
        before = said(hub, "cluster.yaml")
        server.answers["/version"] = (200, {"gitVersion": f"v1.{clocks.seconds}"})
        told = unsynced.beat()
    assert told == "renewed; the hub says that the clocks differ, so nothing else is reported"
    assert said(hub, "cluster.yaml") == before
    assert before["status"]["version"] == {"kubernetes": "v1.480.0"}
    assert said(hub, "lease.yaml")["spec"]["renewTime"] == "2026-01-01T00:12:00Z"


def test_what_was_said_before_a_silence_is_no_news_after_it(hub: Repo, server: Server) -> None:
    """The hub says that the clocks differ, because nobody has renewed; the cluster has failed meanwhile."""
    clocks = Clocks()
    heart(hub, server, clocks, HubView(accepted=True)).beat()
    clocks.wait(301)
    server.answers["/livez"] = (500, "etcd failed")
    back = heart(hub, server, clocks, HubView(accepted=True, synced=False))
    assert back.beat() == "renewed, ManagedClusterConditionAvailable is False"
    assert said(hub, "cluster.yaml")["status"]["conditions"][0]["status"] == "False"

    clocks.wait(301)
    server.answers["/livez"] = (200, "ok")
    heart(hub, server, clocks, HubView(accepted=True)).beat()
    clocks.wait(301)
    server.answers["/livez"] = (500, "etcd failed")
    young = heart(hub, server, clocks, HubView(accepted=True, synced=False))
    young.wait = lambda _seconds: True  # stopped before the failure has lasted long enough to be confirmed
    young.beat()
    assert said(hub, "cluster.yaml")["status"]["conditions"] == []
    assert said(hub, "lease.yaml")["spec"]["acquireTime"] == said(hub, "lease.yaml")["spec"]["renewTime"]


def test_the_hub_stretches_the_lease(hub: Repo, server: Server) -> None:
    agent = heart(hub, server, Clocks(), HubView(accepted=True, lease_seconds=240))
    agent.beat()
    assert said(hub, "lease.yaml")["spec"]["leaseDurationSeconds"] == "240"
    # Upstream renews after one to one and a quarter durations; a Lease that is to be good until the next renewal does
    # with less than one.
    assert all(0.8 * 240 <= agent.period() <= 0.95 * 240 for _ in range(100))


def test_the_command_speaks_to_an_api_server_as_a_kubeconfig_says(
    hub: Repo, server: Server, muster: Run, tmp_path: Path
) -> None:
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "sesame"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
    (tmp_path / "facts.yaml").write_text("clusterClaims: [{name: id.k8s.io, value: x}]\nother: 1\n", encoding="utf-8")
    beat = (
        "heartbeat",
        "--cluster",
        "edge",
        "--remote",
        hub.path,
        "--kubeconfig",
        tmp_path / "kubeconfig",
        "--status",
        tmp_path / "facts.yaml",
    )
    assert muster(*beat) == (0, "edge: asked to join\n", "")
    assert muster("accept", "--repo", hub.path, "--branch", "main", "--clusters", "edge")[0] == 0
    assert muster("reconcile", "--repo", hub.path, "--branch", "main", "--now", "2026-01-01T00:00:00Z")[0] == 0
    assert muster(*beat) == (0, "edge: renewed, ManagedClusterConditionAvailable is True\n", "")
    assert ("/livez", "Bearer sesame") in server.asked
    assert said(hub, "cluster.yaml")["status"]["clusterClaims"] == [{"name": "id.k8s.io", "value": "x"}]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{}", "is not a kubeconfig: it has no contexts"),
        ("[", "is not YAML: line 2"),
        ("{current-context: c, contexts: [{name: c, context: {cluster: k}}]}", "no cluster 'k'"),
    ],
)
def test_a_kubeconfig_that_does_not_say(hub: Repo, muster: Run, tmp_path: Path, config: str, message: str) -> None:
    (tmp_path / "kubeconfig").write_text(config, encoding="utf-8")
    code, _, err = muster("heartbeat", "--cluster", "e", "--remote", hub.path, "--kubeconfig", tmp_path / "kubeconfig")
    assert code == 2
    assert message in err


def until(clocks: Clocks, seconds: float) -> Callable[[float], bool]:
    """A `wait` that stops when so much time has passed."""

    def wait(pause: float) -> bool:
        clocks.seconds += pause
        return clocks.seconds >= seconds

    return wait


def unreachable() -> HubView:
    raise RepositoryError("nobody answers", "")


def test_going_on_a_failure_of_the_cluster_never_holds_the_lease_up(hub: Repo, server: Server) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks, HubView(accepted=True, lease_seconds=2))
    agent.beat()
    server.answers["/livez"] = (500, "etcd is gone")
    renewals: list[tuple[float, str]] = []
    agent.wait = until(clocks, 24)
    agent.run(lambda line: renewals.append((clocks.seconds, line)), lambda line: None)
    times = [at for at, _ in renewals]
    assert max(after - before for before, after in itertools.pairwise(times)) <= 0.95 * 2
    # As young as it is, the failure is not confirmed; once it has lasted, it is reported.
    assert {line for at, line in renewals if at < 20} == {"renewed"}
    assert renewals[-1][1] == "renewed, ManagedClusterConditionAvailable is False"


def test_keeps_last_answer_while_hub_is_down(hub: Repo, server: Server) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks, HubView(accepted=True, lease_seconds=5))
    agent.beat()
    agent.read_hub = unreachable
    clocks.wait(4)
    assert agent.beat() == "renewed, ManagedClusterConditionAvailable is True"
    assert said(hub, "lease.yaml")["spec"]["leaseDurationSeconds"] == "5"
    # The next process goes on where this one stopped; one that never was let in has nothing to go on from.
    following = heart(hub, server, clocks)
    following.read_hub = unreachable
    clocks.wait(4)
    following.beat()
    assert said(hub, "lease.yaml")["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": "5",
        "acquireTime": "2026-01-01T00:00:00Z",
        "renewTime": "2026-01-01T00:00:08Z",
    }
    hub.git("update-ref", "-d", REF)
    with pytest.raises(RepositoryError, match="nobody answers"):
        heart_that(hub, server, clocks, unreachable).beat()


def heart_that(hub: Repo, server: Server, clocks: Clocks, view: Callable[[], HubView]) -> Heartbeat:
    agent = heart(hub, server, clocks)
    agent.read_hub = view
    return agent


@pytest.mark.parametrize("seconds", [2, 5, 10, 60, 300])
def test_a_push_that_fails_is_tried_several_times_before_the_hub_loses_patience(
    hub: Repo, server: Server, seconds: int
) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks, HubView(accepted=True, lease_seconds=seconds))
    agent.beat()
    assert isinstance(agent.ref, PushedRef)
    agent.ref = replace(agent.ref, remote=str(hub.path / "gone"))
    complaints: list[str] = []
    tries: list[float] = []

    def tried() -> HubView:
        tries.append(clocks.seconds)
        return HubView(accepted=True, lease_seconds=seconds)

    agent.read_hub = tried
    agent.wait = until(clocks, 5 * seconds)
    agent._contents = None
    agent.run(lambda line: None, complaints.append)
    assert len(tries) >= 5
    assert max(after - before for before, after in itertools.pairwise(tries)) <= seconds
    assert len(complaints) == 1, "what goes on being wrong is said once"


def test_whoever_is_not_accepted_looks_often_and_pushes_once(hub: Repo, server: Server) -> None:
    agent = heart(hub, server, Clocks())
    agent.beat()
    before = hub.tip(REF)
    assert agent.beat() == "asked to join"
    assert hub.tip(REF) == before
    assert agent.pause() <= 10


def test_a_cluster_that_hangs_is_looked_at_beside_the_heartbeat() -> None:
    told, gate = Event(), Event()

    def look() -> Availability:
        gate.wait(PATIENCE_SECONDS)
        raise OSError("its token is gone")

    observer = ClusterObserver(look, ClusterFacts, told.set)
    observer.start()
    assert observer.verdict() is None
    gate.set()
    assert told.wait(PATIENCE_SECONDS)
    verdict = observer.verdict()
    assert verdict is not None
    assert (verdict.status, "OSError" in verdict.message) == ("False", True)
    observer.stop()


def test_what_the_agent_waits_for_is_said_once_and_again_when_it_changes(hub: Repo, server: Server) -> None:
    clocks = Clocks()
    agent = heart(hub, server, clocks)
    lines: list[str] = []
    agent.wait = until(clocks, 60)
    agent.run(lines.append, lines.append)
    assert lines == ["asked to join", "waits since 2026-01-01T00:00:00Z to be accepted: muster accept edge"]
    agent.read_hub = lambda: HubView(accepted=True)
    agent.wait = until(clocks, 0)
    agent.run(lines.append, lines.append)
    assert lines[2:] == ["renewed, ManagedClusterConditionAvailable is True"]
