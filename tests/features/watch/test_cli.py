"""`muster watch` as a real process: it derives a change soon after a commit, and an expiry soon after its instant."""

import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.cli.options import present
from muster.data.times import format_time
from muster.features.watch.watch import SHORTEST_BURST_SECONDS, Watcher
from muster.git.repository import open_repository
from muster.run.memo.state import open_state
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.rules.pools.playing import HIVE, Play
from tests.support.forking import muster_command
from tests.support.git import Repo, new_repository

PATIENCE_SECONDS = 30.0  # how long a test waits before it gives up; not a measurement


@contextmanager
def watching(repo: Repo, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `muster watch` until the block ends; it must then end cleanly on SIGTERM."""
    process = subprocess.Popen(
        [*muster_command(repo.environ), "watch", "--repo", str(repo.path), *arguments],
        env={**repo.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, rest
    assert rest.rstrip().endswith(b"stopped")


def line_with(process: "subprocess.Popen[bytes]", text: str) -> tuple[str, datetime]:
    """Read output until a line has `text`; return it and when it came. Fails when patience ends."""
    assert process.stdout is not None
    deadline = time.monotonic() + PATIENCE_SECONDS
    seen: list[str] = []
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stdout], [], [], 0.1)
        if ready:
            line = process.stdout.readline().decode()  # unbuffered: `select` knows of every line that is left
            seen.append(line)
            if text in line:
                return line, datetime.now(UTC)
            if not line:
                break
    raise AssertionError(f"no line with {text!r} in {seen}")


def until(process: "subprocess.Popen[bytes]", text: str) -> list[str]:
    """Read output until a line has `text`, and what follows at once; return all of it."""
    line, _ = line_with(process, text)
    return [line, *lines_within(process, 0.5)]


def lines_within(process: "subprocess.Popen[bytes]", seconds: float) -> list[str]:
    """Read what is said in that time."""
    assert process.stdout is not None
    deadline, said = time.monotonic() + seconds, list[str]()
    while (left := deadline - time.monotonic()) > 0:
        if select.select([process.stdout], [], [], left)[0]:
            said.append(process.stdout.readline().decode())
    return said


def short_lived(name: str) -> str:
    """A cluster whose lease lasts one second, so that it runs out after five."""
    return cluster(name).replace("hubAcceptsClient: true", "hubAcceptsClient: true, leaseDurationSeconds: 1")


def test_a_commit_is_derived_and_an_expiry_too(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a/cluster.yaml": cluster("a")})
    with watching(repo) as process:
        line_with(process, "a accepted")
        renewed = datetime.now(UTC).replace(microsecond=0)
        repo.commit(
            {
                "clusters/b/cluster.yaml": short_lived("b"),
                "clusters/b/lease.yaml": lease("b", format_time(renewed)),
                "clusters/b/observed.yaml": observed("b"),
            }
        )
        line_with(process, "available")
        _, expired = line_with(process, "Unknown")
        assert expired >= renewed + timedelta(seconds=5)
    assert repo.status() == []
    assert "ManagedCluster/b" in repo.git("log", "-1", "--format=%B")


def test_a_warning_that_stands_is_told_once(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    long = cluster("a").replace("hubAcceptsClient: true", "hubAcceptsClient: true, leaseDurationSeconds: 999999999")
    repo.commit({"clusters/a/cluster.yaml": long})
    with watching(repo, "-v") as process:
        line_with(process, "MUS250")
        for name in "bc":
            repo.commit({f"clusters/{name}/cluster.yaml": cluster(name)})
            told = until(process, f"{name} accepted")
            assert not [line for line in told if "MUS250" in line]
        repo.commit({"clusters/a/cluster.yaml": cluster("a")})
        until(process, "lease duration")
        repo.commit({"clusters/a/cluster.yaml": long})
        line_with(process, "MUS250")


@pytest.mark.parametrize("writes", ["a person on the branch", "an agent on its ref"])
def test_what_comes_while_it_tells_of_a_run_is_looked_at_next(tmp_path: Path, writes: str) -> None:
    """It once took the state after a run for the state that the run had seen, and slept over a commit in between."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a/cluster.yaml": cluster("a")})
    to_write = [{"clusters/b/cluster.yaml": cluster("b")}]

    def say(_: str) -> None:
        while to_write:
            files = to_write.pop()
            if writes.startswith("a person"):
                repo.commit(files)
            else:
                repo.commit_to("refs/heads/agents/b", files)

    watcher = Watcher(open_repository(repo.path, repo.environ), "main", None, timedelta(seconds=30), say, clock=present)
    watcher.look()
    assert "derived/managedclusters/b.yaml" not in repo.paths()
    watcher.look()
    assert "derived/managedclusters/b.yaml" in repo.paths()
    assert watcher.pause() > 0


def test_with_a_remote_it_fetches_and_pushes(tmp_path: Path) -> None:
    origin = new_repository(tmp_path / "origin.git", bare=True)
    person = new_repository(tmp_path / "person")
    person.git("remote", "add", "origin", str(origin.path))
    person.commit({"clusters/a/cluster.yaml": cluster("a")})
    person.git("push", "--quiet", "origin", "main")
    origin.git("clone", "--quiet", str(origin.path), str(tmp_path / "engine"))
    engine = Repo(tmp_path / "engine", origin.environ)
    with watching(engine, "--push", "--interval", "0.2") as process:
        line_with(process, "a accepted")
        person.git("pull", "--quiet", "origin", "main")
        person.commit({"clusters/b/cluster.yaml": cluster("b")})
        person.git("push", "--quiet", "origin", "main")
        line_with(process, "b accepted")
    assert "derived/managedclusters/b.yaml" in origin.paths("main")
    assert engine.status() == []


def test_agents_that_push_at_one_time_are_looked_at_together(tmp_path: Path) -> None:
    names = [f"c{number:02}" for number in range(100)]
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"clusters/{name}/cluster.yaml": cluster(name) for name in names})
    renewed = format_time(datetime.now(UTC).replace(microsecond=0))
    tips = {name: repo.commit_to(f"refs/test/{name}", {"lease.yaml": lease(name, renewed)}) for name in names}
    with watching(repo, "--verbose", "--state", str(tmp_path / "kept/state")) as process:
        line_with(process, "100 clusters accepted")
        time.sleep(1)  # it hears of its own commit, and of nothing else
        started = time.monotonic()
        for name, tip in tips.items():
            repo.git("update-ref", f"refs/heads/agents/{name}", tip)
        took = time.monotonic() - started
        line_with(process, "looked at")
        again = lines_within(process, 3.0)
    assert sum("looked at" in line for line in again) <= took / SHORTEST_BURST_SECONDS, again


@contextmanager
def silent_remote(repo: Repo) -> Iterator[socket.socket]:
    """A remote `origin` that takes connections, and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        repo.git("remote", "add", "origin", f"git://127.0.0.1:{server.getsockname()[1]}/fleet")
        yield server


@pytest.mark.parametrize("verb", ["watch", "reconcile"])
def test_sigterm_ends_a_fetch_that_hangs(tmp_path: Path, verb: str) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a.yaml": cluster("a")})
    with (
        silent_remote(repo) as server,
        subprocess.Popen(
            [*muster_command(repo.environ), verb, "--repo", str(repo.path), "--push"],
            env=dict(repo.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        connection, _ = server.accept()
        with connection:
            connection.settimeout(PATIENCE_SECONDS)
            assert connection.recv(1 << 16)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=PATIENCE_SECONDS)
            assert time.monotonic() - began < 5
            while connection.recv(1 << 16):  # until git is gone, too: it may have asked in several parts
                pass
    assert process.returncode == (0 if verb == "watch" else 143)
    assert b"Traceback" not in said
    assert said.endswith(b"stopped\n") is (verb == "watch")


def test_nothing_is_decided_before_it_is_due(tmp_path: Path) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    repo, clock, told = new_repository(tmp_path / "fleet"), [noon], list[str]()
    files = {f"clusters/{name}/cluster.yaml": cluster(name) for name in "abcdefgh"}
    leases = {f"clusters/{name}/lease.yaml": lease(name, format_time(noon)) for name in "abcdefgh"}
    late = {"clusters/b/lease.yaml": lease("b", format_time(noon + timedelta(minutes=2)))}
    repo.commit({**files, **leases, **late})
    watcher = Watcher(
        open_repository(repo.path, repo.environ),
        "main",
        None,
        timedelta(seconds=30),
        told.append,
        verbose=True,
        clock=lambda: clock[0],
        state=open_state(tmp_path / "kept/state"),
    )

    def runs(at: timedelta) -> list[str]:
        told.clear()
        clock[0] = noon + at
        watcher.look()
        return [line.partition("looked at ")[2] for line in told if "looked at" in line]

    assert "the whole fleet" in runs(timedelta(0))[0]
    runs(timedelta(0))
    assert not any(runs(timedelta(seconds=seconds)) for seconds in (1, 60, 299))
    assert len(runs(timedelta(minutes=5))) == 1
    assert not runs(timedelta(minutes=5, seconds=1))
    repo.commit(message="nothing")  # what a run wrote, the next one reads
    assert len(runs(timedelta(minutes=5, seconds=2))) == 1
    assert runs(timedelta(minutes=7)) == ["1 neighbourhoods, wide"]


def test_it_sleeps_until_a_whole_second(tmp_path: Path) -> None:
    """A limit that ends at a fraction of a second is due at the next whole one; before that, looking is in vain."""
    now = datetime.now(UTC).replace(microsecond=0)
    conditions = [
        {"type": "Hibernating", "status": "False", "reason": "Resuming", "lastTransitionTime": f"{now:%FT%T}.25Z"}
    ]
    play = Play()
    play.fleet()
    play.pool(size=1, runningCount=1, powerstateTransitionToRunningTimeout="5m")
    play.settle("00:00")
    play.put(
        "reports/ci-1.yaml",
        {
            "apiVersion": HIVE,
            "kind": "ClusterDeployment",
            "metadata": {"name": "ci-1", "namespace": "ci-1"},
            "spec": {"installed": True},
            "status": {"powerState": "WaitingForNodes", "conditions": conditions},
        },
    )
    repo = new_repository(tmp_path / "fleet")
    repo.commit(dict(play.files))
    repository = open_repository(repo.path, repo.environ)
    watcher = Watcher(repository, "main", None, timedelta(seconds=30), lambda _: None, clock=present)
    watcher.look()
    before = datetime.now(UTC)
    wakes = timedelta(seconds=watcher.pause())
    after = datetime.now(UTC)
    due = now + timedelta(minutes=5, seconds=1)
    assert before + wakes - timedelta(milliseconds=1) <= due <= after + wakes + timedelta(milliseconds=1)
