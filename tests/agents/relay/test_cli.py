"""`muster relay` and an agent that speaks to it, as real processes."""

import hashlib
import http.client
import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.git.memory.rootref import RefContents
from tests.agents.heartbeat.test_heartbeat import Server
from tests.agents.relay.test_relay import SETTINGS, own
from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run, muster
from tests.support.flooding import flood
from tests.support.forking import muster_command
from tests.support.git import Repo, clone, new_repository
from tests.support.patience import wait_until
from tests.support.processes import running

__all__ = ["muster"]  # a fixture


def test_a_relay_takes_heartbeats_from_pushes_and_over_http(tmp_path: Path) -> None:
    hub = new_repository(tmp_path / "hub.git", bare=True)
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS, "clusters/edge-h.yaml": cluster("edge-h")})
    person.git("push", "--quiet", "origin", "main")
    repo, server = new_repository(tmp_path / "relay.git", bare=True), Server()
    tokens, token = tmp_path / "tokens", tmp_path / "token"
    tokens.write_text(f"edge-h {hashlib.sha256(b'secret').hexdigest()}\n")
    token.write_text("secret\n")
    environ = {**hub.environ, "PYTHONUNBUFFERED": "1"}
    with running(
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
        str(tokens),
        environ=environ,
    ) as relay:
        relay.wait_for("listening on")
        url = next(found[0] for line in relay.lines if (found := re.search(r"http://\S+", line)))
        for own in (
            ("--cluster", "edge-h", "--relay", url, "--token-file", str(token)),
            ("--cluster", "edge-p", "--remote", str(repo.path)),
        ):
            beat = [*muster_command(environ), "heartbeat", "--api-server", server.url, *own]
            done = subprocess.run(beat, env=environ, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (0, f"{own[1]}: asked to join\n"), done.stderr
        wait_until(lambda: said(hub) == {"edge-h", "edge-p"}, lambda: str(relay.lines))
        detect = (
            "detect",
            "--cluster",
            "edge-h",
            "--kind",
            "ManagedCluster",
            "--relay",
            url,
            "--token-file",
            str(token),
            "--detect-period",
            "0.05",
            "--lease-duration",
            "1",
            "--tcp",
            url.partition("//")[2],
            "--instance",
        )
        with running(*detect, "a", environ=environ) as detector:
            detector.wait_for("reported True")
            with running(*detect, "b", environ=environ) as other:
                other.wait_for("a reports")
        held = ("ls-tree", "-r", "--name-only", "relays/edge")
        wait_until(lambda: "edge-h/detectors/" in hub.git(*held), lambda: hub.git(*held))
        assert "edge-h/cluster.yaml" in hub.git(*held), "the agent's files stay"
    server.close()


def said(hub: Repo) -> set[str]:
    """The clusters of which the hub has a relay's word."""
    listing = hub.git("ls-tree", "-r", "--name-only", "relays/edge", check=False)
    return {path.split("/")[1] for path in listing.splitlines()}


@contextmanager
def descriptors(number: int) -> Iterator[None]:
    """So many of them for processes that are started."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_strangers_can_neither_silence_a_relay_nor_have_it_restarted(tmp_path: Path) -> None:
    """1,100 connections that never end their request, where the system gives 1,024 descriptors: agents beat on, git has
    what it needs, and probes are answered."""
    hub = new_repository(tmp_path / "hub.git", bare=True)
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS, "clusters/edge-h.yaml": cluster("edge-h")})
    person.git("push", "--quiet", "origin", "main")
    repo, tokens = new_repository(tmp_path / "relay.git", bare=True), tmp_path / "tokens"
    tokens.write_text(f"edge-h {hashlib.sha256(b'edge-h').hexdigest()}\n")
    arguments = (
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
        str(tokens),
    )
    environ = {**hub.environ, "PYTHONUNBUFFERED": "1"}
    with descriptors(1024), running(*arguments, environ=environ) as relay:
        relay.wait_for("listening on")
        url = next(found[0] for line in relay.lines if (found := re.search(r"http://\S+", line)))
        port = int(url.rpartition(":")[2])
        with descriptors(min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])), flood(port, 1100):
            ref = own(url, "edge-h", tmp_path)
            standing = ref.look()
            for number in range(5):
                done = ref.replace(standing, {"lease.yaml": f"edge-h: {number}\n".encode()}, "Renew")
                assert isinstance(done, RefContents)
                standing = done
                assert [probe(port, path) for path in ("/livez", "/healthz", "/readyz")] == [200] * 3
            wait_until(
                lambda: "edge-h: 4" in hub.git("grep", "-h", "edge-h", "relays/edge", check=False),
                lambda: str(relay.lines),
            )
        assert not [line for line in relay.lines if "git" in line or "Error" in line]


def probe(port: int, path: str) -> int:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        line.request("GET", path)
        return line.getresponse().status
    finally:
        line.close()


def test_a_relay_that_the_fleet_does_not_name_says_so(tmp_path: Path, muster: Run) -> None:
    hub = new_repository(tmp_path / "hub.git", bare=True)
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS})
    person.git("push", "--quiet", "origin", "main")
    repo = new_repository(tmp_path / "relay.git", bare=True)
    for name, said in (
        ("edge", ""),
        ("egde", "the Fleet does not hear egde: spec.agents.relays does not name it; did you mean 'edge'?\n"),
    ):
        assert muster("relay", "--repo", repo.path, "--remote", hub.path, "--name", name, "--once") == (0, "", said)
