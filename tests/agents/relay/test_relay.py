"""A relay: what agents push to it, or send it over HTTP, arrives at the hub as one commit, and is heard there."""

import hashlib
import socket
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.agents.heartbeat.facts import ClusterFacts
from muster.agents.heartbeat.heartbeat import Heartbeat
from muster.agents.hub.local import LocalHub
from muster.agents.hub.relayed_ref import Credentials, RelayedRef
from muster.agents.relay import branch as branch_module
from muster.agents.relay.authentication import Authentication, TokenFile
from muster.agents.relay.relay import Relay
from muster.agents.relay.server import RelayServer
from muster.cli import exits
from muster.data.snapshot import AgentLimits
from muster.data.times import format_time, parse_time
from muster.git.agents.listing import local_agent_refs
from muster.git.agents.relays import COMMIT, cluster_folder
from muster.git.errors import Moved, RepositoryError
from muster.git.memory.rootref import NO_CONTENTS, RefContents
from muster.git.repository import open_repository
from muster.net.serving.server import served
from tests.agents.heartbeat.test_heartbeat import view_once
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.commandline import (
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
        refs = local_agent_refs(open_repository(self.hub.path, self.hub.environ)).refs
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
    content = site.hub.git_bytes("show", f"relays/edge:{cluster_folder('edge-a')}/{COMMIT}")
    assert hashlib.sha1(b"commit %d\0%b" % (len(content), content)).hexdigest() == first
    site.beat("edge-a", 2)
    site.beat("edge-c", 1)
    site.repo.git("update-ref", "-d", "refs/heads/agents/edge-b")
    assert site.relay.step() == 3
    assert site.heard() == {"edge-a": "edge-a: 2", "edge-c": "edge-c: 1"}
    assert site.hub.git("fsck", "--no-dangling") == ""


def test_the_branch_has_a_short_history(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any, each push would send everything; with a whole one all heartbeats would stay."""
    monkeypatch.setattr(branch_module, "_LONGEST", 3)
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
    assert site.relay.new_exclusions() == ["agents/edge-b is left out: more than 2 files and directories"]
    assert (site.relay.step(), site.relay.new_exclusions()) == (0, [])
    with pytest.raises(ValueError, match="2 files"):
        site.relay.post("edge-h", None, {f"{n}.yaml": b"x\n" for n in range(3)})


@contextmanager
def serving(
    site: Site, tokens: Path | None, doors: Authentication | None = None, copy: LocalHub | None = None
) -> Iterator[str]:
    site.relay.fetch_hub()
    doors = doors or Authentication(TokenFile(tokens) if tokens else None)
    server = RelayServer(("127.0.0.1", 0), site.relay, doors, copy or LocalHub(site.relay.repository, "main"))
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
        assert ref.look() == NO_CONTENTS
        first = ref.replace(NO_CONTENTS, {"lease.yaml": b"edge-h: 1\n"}, "Renew")
        assert isinstance(first, RefContents)
        assert ref.look() == first
        assert ref.replace(NO_CONTENTS, {"lease.yaml": b"late\n"}, "Renew") == Moved(None)
        second = ref.replace(first, {"lease.yaml": b"edge-h: 2\n", "reports/dns.yaml": b"r\n"}, "Renew")
        assert isinstance(second, RefContents)
        assert site.relay.step() == 1
        assert site.heard() == {"edge-h": "edge-h: 2"}
        assert (site.relay.step(), ref.look(second)) == (0, second)


@pytest.mark.parametrize("token", ["edge-i", "wrong", "edge-h2"])
def test_a_token_is_one_cluster_s(site: Site, tokens: Path, tmp_path: Path, token: str) -> None:
    with serving(site, tokens) as url:
        ref = own(url, "edge-h", tmp_path, token)
        for asked in (ref.look, ref.view, lambda: ref.replace(NO_CONTENTS, {}, "")):
            with pytest.raises(RepositoryError, match="does not accept the token in"):
                asked()
        with tokens.open("a") as file:  # read again when it changes
            file.write(f"edge-h {hashlib.sha256(token.encode()).hexdigest()}\n")
        assert ref.look() == NO_CONTENTS
    assert site.relay.step() == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"files": {"../x": "a"}}', 400),
        (b'{"files": {"a": 1}}', 400),
        (b'{"files": {}, "expected": 1}', 400),
        (b'{"files": {"a": "' + b"x" * 5000 + b'"}}', 400),
        (b"[" * 20_000, 400),
        (b" " * 100_000, 413),
    ],
)
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
        heart = Heartbeat(
            ref, "host", lambda: None, ClusterFacts, ref.view, lambda: present, lambda: 0.0, lambda _: False
        )
        assert heart.beat() == "asked to join"
        site.relay.step()
        assert muster("accept", "--repo", person.path, "--push", "--clusters", "edge-h")[0] == exits.FINE
        assert muster("reconcile", "--repo", person.path, "--push", "--now", format_time(present))[0] == exits.FINE
        site.relay.fetch_hub()
        assert view_once(str(site.repo.path), "main", "edge-h", site.repo.environ).accepted, "an agent that has git"
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
    assert "edge-a available" in site.hub.git("log", "-1", "--format=%s", "main")
    assert muster("relay", *options[:4], "--name", "No!", "--once")[0] == exits.USAGE
    assert muster("relay", *options, "--listen", "127.0.0.1:0")[0] == exits.USAGE


def plant(site: Site, name: str, entries: Sequence[tuple[str, str]]) -> None:
    """Point an agent's branch at a tree that git itself would never make: as a hostile agent pushes it."""
    blob = site.repo.git("hash-object", "-w", "--stdin", stdin=b"x\n")
    below = site.repo.git("mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    tree = b"".join(
        b"%b %b\0%b" % (mode.encode(), path.encode(), bytes.fromhex(below if mode == "40000" else blob))
        for mode, path in entries
    )
    made = site.repo.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=tree)
    site.repo.git("update-ref", f"refs/heads/agents/{name}", site.repo.git("commit-tree", made, "-m", "Renew"))


ODD = {
    "git~1": [("40000", "git~1")],
    "space": [("40000", ".git ")],
    "dot": [("40000", ".git.")],
    "zero width": [("40000", ".g\u200cit")],
    "stream": [("40000", ".git::$INDEX_ALLOCATION")],
    "backslash": [("100644", "a\\.git\\config")],
    "gitmodules": [("100644", ".gitmodules")],
    "gitmodules as NTFS has it": [("120000", "gitmod~1")],
    "gitmodules as HFS+ has it": [("120000", ".gitmod\u200cules")],
    "gitattributes": [("120000", ".gitattributes")],
    "gitignore": [("120000", ".gitignore")],
    "mailmap": [("120000", ".mailmap")],
    "dotdot": [("40000", "..")],
    "unsorted": [("100644", "b"), ("100644", "a")],
    "twice": [("100644", "a"), ("100644", "a")],
    "mode": [("100664", "a")],
    "padded": [("0100644", "a")],
    "link": [("120000", "a")],
    "module": [("160000", "a")],
    "no name": [("100644", "")],
    "slash": [("100644", "a/b")],
    "a folder as a file": [("100644", "a"), ("40000", "a")],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("entries", ODD.values(), ids=ODD)
def test_one_agent_cannot_silence_a_relay(site: Site, entries: Sequence[tuple[str, str]]) -> None:
    """The hub checks what is pushed as strictly as git can, and would refuse the whole branch."""
    site.hub.git("config", "receive.fsckObjects", "true")
    site.beat("edge-a", 1)
    plant(site, "edge-bad", entries)
    assert site.relay.step() == 1
    assert site.heard() == {"edge-a": "edge-a: 1"}
    (line,) = site.relay.new_exclusions()
    assert line.startswith("agents/edge-bad is left out: ")
    site.beat("edge-bad", 2)  # it mends its ways
    assert site.relay.step() == 1
    assert site.heard() == {"edge-a": "edge-a: 1", "edge-bad": "edge-bad: 2"}


def test_an_agent_whose_blob_is_lost_is_left_out(site: Site) -> None:
    lost = site.repo.git("hash-object", "-w", "--stdin", stdin=b"lost\n")
    tree = site.repo.git("mktree", stdin=f"100644 blob {lost}\tlease.yaml\n".encode())
    site.repo.git("update-ref", "refs/heads/agents/edge-bad", site.repo.git("commit-tree", tree, "-m", "x"))
    (site.repo.path / "objects" / lost[:2] / lost[2:]).unlink()
    site.beat("edge-a", 1)
    assert site.relay.step() == 1
    assert site.heard() == {"edge-a": "edge-a: 1"}
    assert site.relay.new_exclusions() == [f"agents/edge-bad is left out: lease.yaml: object {lost}"]


HOOK = """\
#!/bin/sh
while read -r old new ref; do
    git grep -q evil "$new" && echo 'no evil here' >&2 && exit 1
done
exit 0
"""


def test_whose_words_the_hub_refuses_is_found_and_named(site: Site) -> None:
    """For reasons of its own, of which a relay knows nothing."""
    hook = site.hub.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    names = [f"edge-{number}" for number in range(9)]
    for name in names:
        site.beat(name, 1)
    site.repo.commit_to("refs/heads/agents/edge-4", {"lease.yaml": "evil\n"})
    site.relay.post("edge-h", None, {"lease.yaml": b"evil\n"})
    assert site.relay.step() == 8
    assert set(site.heard()) == set(names) - {"edge-4"}
    why = "the hub refuses it (pre-receive hook declined)"
    assert site.relay.new_exclusions() == [f"agents/edge-4 is left out: {why}", f"agents/edge-h is left out: {why}"]
    assert (site.relay.step(), site.relay.new_exclusions()) == (0, [])
    # It goes on, and costs the others one push at most: it has its own until its words are taken.
    site.repo.commit_to("refs/heads/agents/edge-4", {"lease.yaml": "evil again\n"})
    site.beat("edge-1", 2)
    assert site.relay.step() == 1
    assert site.heard()["edge-1"] == "edge-1: 2"
    site.beat("edge-4", 3)
    assert site.relay.step() == 1
    assert site.heard()["edge-4"] == "edge-4: 3"


def test_a_hub_that_refuses_everything_is_no_agents_fault(site: Site) -> None:
    hook = site.hub.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    site.beat("edge-a", 1)
    site.beat("edge-b", 1)
    with pytest.raises(RepositoryError, match="the hub refuses refs/heads/relays/edge"):
        site.relay.step()
    assert site.relay.new_exclusions() == []
    hook.unlink()
    assert site.relay.step() == 2


@pytest.mark.parametrize(
    "path",
    [
        "git~1/config",
        ".git /x",
        ".git./x",
        ".g\u200cit/x",
        ".gitmodules",
        ".gitattributes",
        "a\\.git\\x",
        "a:b",
        "a./b",
        "reports/.mailmap",
        "/a",
        "a//b",
        "",
        "..",
        "a/../b",
    ],
)
def test_an_odd_path_is_refused_at_the_door(site: Site, tokens: Path, tmp_path: Path, path: str) -> None:
    with serving(site, tokens) as url:
        ref = own(url, "edge-h", tmp_path)
        with pytest.raises(RepositoryError, match="refuses \\(400\\)"):
            ref.replace(NO_CONTENTS, {path: b"x\n"}, "Renew")
    assert site.relay.step() == 0


def test_a_path_cannot_be_a_file_and_a_folder(site: Site, tokens: Path, tmp_path: Path) -> None:
    with serving(site, tokens) as url, pytest.raises(RepositoryError, match="is below a file"):
        own(url, "edge-h", tmp_path).replace(NO_CONTENTS, {"a": b"x\n", "a/b": b"x\n"}, "Renew")


def test_a_name_that_means_dot_git_counts_nowhere(site: Site, tmp_path: Path, muster: Run) -> None:  # noqa: F811
    """At the hub itself: on the branch, below `derived/` and on an agent's ref. It is told, and nothing ends by it."""
    person = Repo(tmp_path / "person", site.hub.environ)
    person.git("config", "core.protectNTFS", "false")
    person.commit(
        {"clusters/edge-a.yaml": cluster("edge-a"), "derived/git~1/x.yaml": "a: 1\n", "git~1/x.yaml": "a: 1\n"}
    )
    person.git("push", "--quiet", "origin", "main")
    files = {"git~1/x.yaml": "a: 1\n", **_files("edge-a", "2026-01-01T00:00:00Z")}
    site.hub.commit_to("refs/heads/agents/edge-a", files)
    now = ("--now", format_time(NOW))
    code, _, err = muster("reconcile", "--repo", person.path, "--push", *now)
    assert (code, err.count("MUS021")) == (exits.FINDINGS, 3)
    assert "edge-a available" in site.hub.git("log", "-1", "--format=%s", "main")
    assert muster("forecast", "--repo", person.path, *now)[0] == exits.FINE
