"""A relay: what agents push to it, or send it over HTTP, arrives at the hub as one commit, and is heard there."""

import hashlib
import socket
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.agent import relay as relay_module
from muster.agent.heartbeat import Heart
from muster.agent.hub import view
from muster.agent.hub_copy import HubCopy
from muster.agent.relay import Relay
from muster.agent.relay_access import Tokens
from muster.agent.relay_http import Doors, RelayServer
from muster.agent.relayed_ref import Credentials, RelayedRef
from muster.commands import exits
from muster.gitio.errors import RepositoryError
from muster.gitio.hearing import here
from muster.gitio.outcomes import Moved
from muster.gitio.relayed import COMMIT, folder_of
from muster.gitio.repository import open_repository
from muster.gitio.rootref import NOTHING, Standing
from muster.model.snapshot import AgentLimits
from muster.model.times import format_time, parse_time
from muster.serving.server import served
from tests.acts.test_walkthrough import cluster, lease, observed
from tests.commands.conftest import (
    Run,
    muster,  # noqa: F401 - a fixture
)
from tests.support.git import Repo, clone, new_repository

NOW = parse_time("2026-01-01T00:00:30Z")
SETTINGS = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {agents: {relays: [{name: edge, clusters: ["edge-*"]}]}}
"""


@dataclass
class Site:
    """A hub, and a relay's repository to which agents push."""

    hub: Repo
    repo: Repo
    relay: Relay

    def beat(self, name: str, number: int) -> str:
        return self.repo.commit_to(f"refs/heads/agents/{name}", {"lease.yaml": f"{name}: {number}\n"})

    def heard(self) -> dict[str, str]:
        """What the hub has of each cluster."""
        refs = here(open_repository(self.hub.path, self.hub.environ)).refs
        return {ref.cluster: self.hub.git("show", f"{ref.commit}:lease.yaml") for ref in refs if not ref.refused}

    def again(self) -> Relay:
        """The relay as it is after a restart."""
        return Relay(self.relay.repository, "edge", str(self.hub.path), "main", lambda: NOW)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    hub = new_repository(tmp_path / "hub.git", bare=True)
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS})
    person.git("push", "--quiet", "origin", "main")
    repo = new_repository(tmp_path / "relay.git", bare=True)
    relay = Relay(open_repository(repo.path, repo.environ), "edge", str(hub.path), "main", lambda: NOW)
    return Site(hub, repo, relay)


def test_what_is_new_goes_out_as_one_commit(site: Site) -> None:
    first = site.beat("edge-a", 1)
    site.beat("edge-b", 1)
    assert (site.relay.step(), site.relay.step()) == (2, 0)
    assert site.heard() == {"edge-a": "edge-a: 1", "edge-b": "edge-b: 1"}
    # The agent's commit is there, byte for byte.
    content = site.hub.git_bytes("show", f"relays/edge:{folder_of('edge-a')}/{COMMIT}")
    assert hashlib.sha1(b"commit %d\0%b" % (len(content), content)).hexdigest() == first
    site.beat("edge-a", 2)
    site.beat("edge-c", 1)
    site.repo.git("update-ref", "-d", "refs/heads/agents/edge-b")
    assert site.relay.step() == 3
    assert site.heard() == {"edge-a": "edge-a: 2", "edge-c": "edge-c: 1"}
    assert site.hub.git("fsck", "--no-dangling") == ""


def test_the_branch_has_a_short_history(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any, each push would send everything; with a whole one all heartbeats would stay."""
    monkeypatch.setattr(relay_module, "_LONGEST", 3)
    lengths = []
    for number in range(6):
        site.beat("edge-a", number)
        relay = site.relay if number < 5 else site.again()
        relay.step()
        lengths.append(int(site.hub.git("rev-list", "--count", "relays/edge")))
        assert site.heard() == {"edge-a": f"edge-a: {number}"}
    assert lengths == [1, 2, 3, 1, 2, 3]


def test_it_remembers_nothing_but_its_own_commit(site: Site) -> None:
    site.beat("edge-a", 1)
    site.relay.post("edge-h", None, {"lease.yaml": b"edge-h: 1\n"})
    site.relay.step()
    again = site.again()
    assert again.step() == 0
    assert again.look("edge-h").files == {"lease.yaml": b"edge-h: 1\n"}
    site.beat("edge-a", 2)
    assert again.step() == 1
    assert site.heard() == {"edge-a": "edge-a: 2", "edge-h": "edge-h: 1"}


def test_a_relay_that_lost_its_repository_takes_nobody_for_gone(site: Site, tmp_path: Path) -> None:
    site.beat("edge-a", 1)
    site.beat("edge-b", 1)
    site.relay.step()
    fresh = new_repository(tmp_path / "fresh.git", bare=True)
    relay = Relay(open_repository(fresh.path, fresh.environ), "edge", str(site.hub.path), "main", lambda: NOW)
    assert relay.step() == 0
    fresh.commit_to("refs/heads/agents/edge-a", {"lease.yaml": "edge-a: 2\n"})
    assert relay.step() == 1
    assert site.heard() == {"edge-a": "edge-a: 2", "edge-b": "edge-b: 1"}


def test_a_hub_that_is_away_gets_all_of_it_later(site: Site, tmp_path: Path) -> None:
    site.beat("edge-a", 1)
    site.relay.step()
    site.hub.path.rename(tmp_path / "away")
    site.beat("edge-a", 2)
    site.relay.post("edge-h", None, {"lease.yaml": b"edge-h: 1\n"})
    with pytest.raises(RepositoryError):
        site.relay.step()
    (tmp_path / "away").rename(site.hub.path)
    assert site.relay.step() == 2
    assert site.heard() == {"edge-a": "edge-a: 2", "edge-h": "edge-h: 1"}


def test_whoever_says_too_much_is_left_out_and_named(site: Site) -> None:
    site.relay.limits = AgentLimits(max_files=2)
    site.beat("edge-a", 1)
    site.repo.commit_to("refs/heads/agents/edge-b", {f"{n}.yaml": "x\n" for n in range(3)})
    assert site.relay.step() == 1
    assert site.relay.news() == ["agents/edge-b is left out: more than 2 files and directories"]
    assert (site.relay.step(), site.relay.news()) == (0, [])
    with pytest.raises(ValueError, match="2 files"):
        site.relay.post("edge-h", None, {f"{n}.yaml": b"x\n" for n in range(3)})


@contextmanager
def serving(site: Site, tokens: Path | None, doors: Doors | None = None, copy: HubCopy | None = None) -> Iterator[str]:
    site.relay.follow()
    doors = doors or Doors(Tokens(tokens) if tokens else None)
    server = RelayServer(("127.0.0.1", 0), site.relay, doors, copy or HubCopy(site.relay.repository, "main"))
    with served(server, "relay"):
        yield server.url


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text("".join(f"{name} {hashlib.sha256(name.encode()).hexdigest()}\n" for name in ("edge-h", "edge-i")))
    return path


def own(url: str, name: str, folder: Path, token: str = "") -> RelayedRef:
    file = folder / f"{name}.token"
    file.write_text(f"{token or name}\n")
    return RelayedRef(url, name, 30.0, Credentials(file), lambda: NOW)


def test_agents_speak_over_http(site: Site, tokens: Path, tmp_path: Path) -> None:
    with serving(site, tokens) as url:
        ref = own(url, "edge-h", tmp_path)
        assert ref.look() == NOTHING
        first = ref.replace(NOTHING, {"lease.yaml": b"edge-h: 1\n"}, "Renew")
        assert isinstance(first, Standing)
        assert ref.look() == first
        assert ref.replace(NOTHING, {"lease.yaml": b"late\n"}, "Renew") == Moved(None)
        second = ref.replace(first, {"lease.yaml": b"edge-h: 2\n", "reports/dns.yaml": b"r\n"}, "Renew")
        assert isinstance(second, Standing)
        assert site.relay.step() == 1
        assert site.heard() == {"edge-h": "edge-h: 2"}
        assert (site.relay.step(), ref.look(second)) == (0, second)


@pytest.mark.parametrize("token", ["edge-i", "wrong", "edge-h2"])
def test_a_token_is_one_cluster_s(site: Site, tokens: Path, tmp_path: Path, token: str) -> None:
    with serving(site, tokens) as url:
        ref = own(url, "edge-h", tmp_path, token)
        for asked in (ref.look, ref.view, lambda: ref.replace(NOTHING, {}, "")):
            with pytest.raises(RepositoryError, match="lets nobody in as edge-h by the token in"):
                asked()
        with tokens.open("a") as file:  # read again when it changes
            file.write(f"edge-h {hashlib.sha256(token.encode()).hexdigest()}\n")
        assert ref.look() == NOTHING
    assert site.relay.step() == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400), (b"[]", 400), (b'{"files": {"../x": "a"}}', 400), (b'{"files": {"a": 1}}', 400),
        (b'{"files": {}, "expected": 1}', 400), (b'{"files": {"a": "' + b"x" * 5000 + b'"}}', 400),
        (b"[" * 20_000, 400), (b" " * 100_000, 413),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(site: Site, tokens: Path, body: bytes, status: int) -> None:
    site.relay.limits = AgentLimits(max_bytes=4096)
    with serving(site, tokens) as url:
        request = urllib.request.Request(
            f"{url}/v1/agents/edge-h", body, {"Authorization": "Bearer edge-h"}, method="PUT"
        )
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=30)
        caught.value.close()
        assert caught.value.code == status
    assert site.relay.step() == 0


def test_of_a_stranger_nothing_is_read(site: Site, tokens: Path) -> None:
    """He says that a large body comes, sends none of it, and is answered at once."""
    with serving(site, tokens) as url, socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 30) as line:
        head = (
            "PUT /v1/agents/edge-h HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\nContent-Length: 1000000\r\n\r\n"
        )
        line.sendall(head.encode())
        line.settimeout(30)
        assert line.recv(100).startswith(b"HTTP/1.1 401 ")
        while line.recv(1000):
            pass  # and is hung up on


def test_an_agent_that_hangs_up_is_not_worth_a_word(
    site: Site, tokens: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(site, tokens) as url:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 30) as line:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                line.sendall(b"GET /v1/agents/edge-h HTTP/1.1\r\n")  # and a reset instead of the rest
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 30) as line:
            line.sendall(b"\x16\x03\x01\x02\x00\x01")  # speaks TLS, where there is none
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("apart", [False, True])
def test_an_agent_hears_through_the_relay_that_it_is_accepted(
    apart: bool,
    site: Site,
    tokens: Path,
    tmp_path: Path,
    muster: Run,  # noqa: F811
) -> None:
    """The whole way: it asks, a person accepts, it beats, the hub hears it."""
    person = Repo(tmp_path / "person", site.hub.environ)
    if apart:
        person.commit({"fleet.yaml": SETTINGS.replace("spec: {", "spec: {derived: {branch: muster/state}, ")})
        person.git("push", "--quiet", "origin", "main")
    present = datetime.now(UTC).replace(microsecond=0)
    with serving(site, tokens) as url:
        ref = own(url, "edge-h", tmp_path)
        heart = Heart(ref, "host", lambda: None, dict, ref.view, lambda: present, lambda: 0.0, lambda _: False)
        assert heart.beat() == "asked to be let in"
        site.relay.step()
        assert muster("accept", "--repo", person.path, "--push", "--clusters", "edge-h")[0] == exits.FINE
        assert muster("reconcile", "--repo", person.path, "--push", "--now", format_time(present))[0] == exits.FINE
        site.relay.follow()
        assert view(str(site.repo.path), "main", "edge-h", site.repo.environ).accepted, "an agent that has git"
        until = time.monotonic() + 60
        while not ref.view().accepted:  # the server looks at the branch now and then
            assert time.monotonic() < until
            time.sleep(0.05)


def _files(name: str, at: str) -> Mapping[str, str]:
    return {"lease.yaml": lease(name, at), "observed.yaml": observed(name)}


def test_the_verb_relays_once_and_the_hub_decides(site: Site, tmp_path: Path, muster: Run) -> None:  # noqa: F811
    person = Repo(tmp_path / "person", site.hub.environ)
    person.commit({f"clusters/{name}/cluster.yaml": cluster(name) for name in ("edge-a", "prod")})
    person.git("push", "--quiet", "origin", "main")
    for name in ("edge-a", "prod"):
        site.repo.commit_to(f"refs/heads/agents/{name}", _files(name, "2026-01-01T00:00:00Z"))
    options = ("--repo", site.repo.path, "--remote", site.hub.path, "--name", "edge")
    assert muster("relay", *options, "--once")[:2] == (exits.FINE, "2 agents\n")
    assert muster("relay", *options, "--once")[:2] == (exits.FINE, "")
    assert site.repo.tip("refs/heads/main") == site.hub.tip("refs/heads/main")
    code, _, err = muster("reconcile", "--repo", person.path, "--push", "--now", format_time(NOW))
    assert code == exits.FINE
    assert "MUS132" in err  # prod is not the relay's to speak for
    assert "1 cluster available" in site.hub.git("log", "-1", "--format=%s", "main")
    assert muster("relay", *options[:4], "--name", "No!", "--once")[0] == exits.USAGE
    assert muster("relay", *options, "--listen", "127.0.0.1:0")[0] == exits.USAGE
