"""What a watch serves, asked over real HTTP: by clients that may, by those that may not, and for other sites."""

import base64
import http.client
import json
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest
from prometheus_client.parser import text_string_to_metric_families

from muster.data.tree import Tree
from muster.features.metrics.metering import Meter
from muster.features.watch.http import Access, LiveServer, token_of
from muster.features.watch.live import Live
from muster.features.watch.watch import Watcher
from muster.git.repository import open_repository
from muster.net.serving.server import served, server_context
from muster.net.serving.tokens import ReloadedFile
from muster.run.memo.state import open_state
from tests.features.pulses.test_walkthrough import cluster
from tests.support.authority import new_authority, server_certificate
from tests.support.git import Repo, clone, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {derived: {branch: derived}}
"""
TOKEN = "a token that is long"


class Served:
    """A watch whose looks are told, and what answers for it."""

    def __init__(self, repo: Repo, access: Access, context: ssl.SSLContext | None, remote: str | None) -> None:
        self.repo, repository, said = repo, open_repository(repo.path, repo.environ), list[str]()
        kept = repo.path.parent / "state.sqlite"
        self.live = Live(repository, "fleet", None, lambda: open_state(kept))
        self.meter, self.said = Meter(NOW.timestamp, "fleet"), said
        self.server = LiveServer(("127.0.0.1", 0), self.live, self.meter.values, access, context)
        self.watcher = Watcher(
            repository,
            "main",
            remote,
            timedelta(seconds=0 if remote else 30),
            said.append,
            clock=lambda: NOW,
            state=open_state(kept),
            observers=(self.live, self.meter),
        )

    def get(
        self, path: str, method: str = "GET", tls: ssl.SSLContext | None = None, /, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        port = self.server.server_port
        line = (
            http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=tls)
            if tls
            else http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        )
        try:
            line.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = line.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            line.close()

    def status(self, path: str, method: str = "GET", **headers: str) -> int:
        return self.get(path, method, None, **headers)[0]


OWN = Access(hosts=frozenset(("127.0.0.1",)))


@contextmanager
def serving(
    path: Path, access: Access = OWN, context: ssl.SSLContext | None = None, remote: str | None = None
) -> Iterator[Served]:
    repo = new_repository(path / "fleet")
    repo.commit({"clusters/a.yaml": cluster("a")})
    found = Served(repo, access, context, remote)
    with served(found.server, "live"):
        yield found
    assert not [line for line in found.said if "fault" in line], found.said


def fleet(data: bytes) -> Tree:
    match = re.fullmatch(rb'muster\.put\("fleet",(.*)\);\n', data)
    assert match
    return json.loads(match[1])


def test_before_the_first_look_it_is_well_and_not_ready(tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        assert it.status("/healthz") == 200
        assert it.status("/readyz") == it.status("/data/fleet.js") == 503
        assert it.status("/") == 200, "what shows any fleet is there"
        it.watcher.look()
        assert it.status("/readyz") == 200
        it.live.failed(OSError())
        assert it.status("/readyz") == 503
        assert it.status("/data/fleet.js") == 200, "what was seen is shown"
        it.live.sleeps(-31)
        assert it.status("/healthz") == 503, "it has not looked when it said it would"


def test_the_page_follows_what_is_committed(tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        it.watcher.look()
        first = fleet(it.get("/data/fleet.js")[2])
        assert (first["live"], [row[0] for row in first["clusters"]]) == (True, ["a"])
        assert first["commit"] == it.repo.git("rev-parse", "main") == it.live.news("", 5)
        assert b'"a"' in it.get(f"/data/clusters/0.js?at={first['commit']}")[2]
        assert it.status("/data/placements.js") == 200

        heard = list[str]()
        waiting = Thread(target=lambda: heard.append(it.live.news(first["commit"], 20)))
        waiting.start()
        it.repo.commit({"clusters/b.yaml": cluster("b")})
        it.watcher.look()
        waiting.join()
        second = fleet(it.get("/data/fleet.js")[2])
        assert [row[0] for row in second["clusters"]] == ["a", "b"]
        assert heard == [second["commit"]]
        assert it.status(f"/data/clusters/0.js?at={first['commit']}") == 410


def test_what_is_asked_while_the_loop_is_ahead_is_what_it_says_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.features.watch.live._PAUSES", 0.0)
    monkeypatch.setattr("muster.features.watch.live._AHEAD_SECONDS", 60.0)
    with serving(tmp_path) as it:
        it.watcher.look()
        known = fleet(it.get("/data/fleet.js")[2])["commit"]
        it.repo.commit({"clusters/c.yaml": cluster("c")})
        it.watcher.look()
        it.repo.commit({"clusters/d.yaml": cluster("d")})
        it.watcher.observers = ()
        it.watcher.look()  # what is kept is of d, and what was told of c
        assert it.live.news(known, 20) != known
        asked = list[Tree]()
        asking = Thread(target=lambda: asked.append(fleet(it.get("/data/fleet.js")[2])))
        asking.start()
        it.watcher.observers = (it.live,)
        it.repo.commit({"clusters/e.yaml": cluster("e")})
        it.watcher.look()
        asking.join()
        assert [row[0] for row in asked[0]["clusters"]] == list("acde")


def test_what_was_pushed_is_shown_where_the_local_branch_stays_behind(tmp_path: Path) -> None:
    with serving(tmp_path, remote="origin") as it:
        hub = clone(it.repo, tmp_path / "hub.git", "--bare")
        it.repo.git("remote", "add", "origin", str(hub.path))
        it.watcher.look()
        it.repo.write("derived/managedclusters/a.yaml", "a person's edit\n")
        person = clone(hub, tmp_path / "person")
        person.commit({"clusters/a.yaml": cluster("a", accepts=False), "clusters/b.yaml": cluster("b")})
        person.git("push", "--quiet", "origin", "main")
        it.watcher.look()
        assert any("stays behind" in line for line in it.said), it.said
        assert fleet(it.get("/data/fleet.js")[2])["commit"] == hub.git("rev-parse", "main")


def test_a_fleet_whose_derived_files_have_a_branch_of_their_own_is_shown_whole(tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        it.repo.commit({"fleet.yaml": FLEET})
        for accepts in (True, False):
            it.repo.commit({"clusters/a.yaml": cluster("a", accepts=accepts)})
            it.watcher.look()
            assert it.live.news("", 20)
            found = fleet(it.get("/data/fleet.js")[2])
            assert found["clusters"][0][2] == ("yes" if accepts else "denied")
            assert it.repo.git("cat-file", "-t", f"{found['commit']}:derived") == "tree"
            it.live.news(found["commit"], 1)


def test_events_tell_which_commit_is_there(tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        it.watcher.look()
        line = http.client.HTTPConnection("127.0.0.1", it.server.server_port, timeout=10)
        line.request("GET", "/events")
        answer = line.getresponse()
        assert answer.getheader("Content-Type") == "text/event-stream"
        assert answer.readline() == b"event: revision\n"
        assert answer.readline().decode() == f"data: {it.repo.git('rev-parse', 'main')}\n"
        assert it.status("/events", "HEAD") == 200
    assert answer.read().strip() in (b"", b":"), "with the server the events end"
    line.close()


def test_metrics_are_those_of_the_looks(tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        it.watcher.look()
        _, headers, data = it.get("/metrics")
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
        found = {
            (one.name, *(value for label, value in one.labels.items() if label != "fleet")): one.value
            for family in text_string_to_metric_families(data.decode())
            for one in family.samples
        }
        assert found["muster_runs_total", "committed"] == found["muster_commits_total",] == 1
        assert found["muster_clusters", "ManagedCluster", "NotJoined"] == 1


def test_what_is_known_is_not_sent_again(tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        it.watcher.look()
        for path in ("/", "/site.js", "/data/fleet.js"):
            _, headers, body = it.get(path)
            again = it.get(path, If_None_Match=headers["ETag"])
            assert (again[0], again[2], bool(body)) == (304, b"", True)
            assert it.get(path, "HEAD")[1]["Content-Length"] == str(len(body))


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/data/../index.html",
        "/data/clusters/00.js",
        "/data/clusters/-1.js",
        "/data/clusters/7.js",
        "/data/clusters/9999999999.js",
        "/.git/config",
        "/data/",
    ],
)
def test_there_is_no_folder_behind_it(served_once: Served, path: str) -> None:
    assert served_once.status(path) == 404


def test_it_is_read_only_and_other_sites_cannot_read(served_once: Served) -> None:
    it = served_once
    assert {it.status("/", method) for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")} == {405}
    assert it.status("/data/fleet.js", Host="attacker.example") == it.status("/healthz", Host="127.0.0.1.evil:1") == 421
    assert it.status("/data/fleet.js", Host=f"127.0.0.1:{it.server.server_port}") == 200
    assert it.status("/data/fleet.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors") == 403
    assert it.status("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate") == 200, "a link is no harm"
    _, headers, _ = it.get("/data/fleet.js")
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert "Python" not in headers["Server"]


@pytest.fixture(scope="module")
def served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("live")) as it:
        it.watcher.look()
        yield it


def test_with_a_token_nobody_else_gets_in(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with serving(tmp_path, Access(ReloadedFile(file, token_of))) as it:
        it.watcher.look()
        in_a_browser = "Basic " + base64.b64encode(f"ada:{TOKEN}".encode()).decode()
        assert it.status("/data/fleet.js", Authorization=f"Bearer {TOKEN}", Host="fleet.example") == 200
        assert it.status("/data/fleet.js", Authorization=in_a_browser) == 200
        for wrong in ("", "Bearer", "Bearer another token, as long", "Basic !", "Basic YWJj", f"Basic {TOKEN}"):
            status, headers, _ = it.get("/data/fleet.js", Authorization=wrong)
            assert (status, headers["WWW-Authenticate"][:5]) == (401, "Basic")
        assert {it.status(path) for path in ("/", "/metrics", "/events")} == {401}
        assert {it.status(path) for path in ("/healthz", "/readyz")} == {200}, "a kubelet has no token"
        file.write_text("another token, as long")
        assert it.status("/", Authorization=f"Bearer {TOKEN}") == 401
        file.unlink()
        assert it.status("/", Authorization="Bearer another token, as long") == 401
    with pytest.raises(ValueError, match="16 characters"):
        token_of("short")


def test_with_certificates_nobody_else_gets_in(tmp_path: Path) -> None:
    certificate, key = server_certificate(tmp_path / "tls")
    ca, ca_key = new_authority(tmp_path / "ca")
    context = server_context(certificate, key, ca, optional=False)
    with serving(tmp_path, Access(), context) as it:
        it.watcher.look()
        mine = ssl.create_default_context(cafile=str(certificate))
        with pytest.raises(OSError, match="."):
            it.get("/", "GET", mine)
        mine.load_cert_chain(ca, ca_key)
        assert it.get("/data/fleet.js", "GET", mine)[0] == 200
