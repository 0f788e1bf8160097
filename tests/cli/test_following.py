"""`muster get -w` as a real process: what changes is printed soon after, and nothing is done while nothing changes."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import Repo, clone, new_repository
from tests.support.patience import PATIENCE_SECONDS, wait_until

NOW = "2026-01-01T00:00:00Z"
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s, labels: {region: eu}}
spec: {hubAcceptsClient: %s}
"""


class Following:
    """A running `get -w` and what it has printed."""

    def __init__(self, process: "subprocess.Popen[str]", out: Path) -> None:
        self.process, self._out = process, out

    @property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self._out.read_text().splitlines()]

    def wait_for(self, *words: str) -> None:
        wait_until(
            lambda: any(line[: len(words)] == list(words) for line in self.lines), lambda: f"{words}: {self.lines}"
        )


@contextmanager
def following(repo: Repo, out: Path, *arguments: str, end: signal.Signals = signal.SIGTERM) -> Iterator[Following]:
    """Run `muster get -w` until the block ends, which a signal must do cleanly: 130 after Ctrl-C, 0 after SIGTERM."""
    main = "from muster.__main__ import main; main()"
    with out.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", main, "get", "-w", "--repo", str(repo.path), *arguments],
            env={**repo.environ, "PYTHONUNBUFFERED": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield Following(process, out)
    finally:
        process.send_signal(end)
        code = process.wait(PATIENCE_SECONDS)
    assert code == (130 if end == signal.SIGINT else 0), out.read_text()
    assert "Traceback" not in out.read_text()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({f"{name}.yaml": CLUSTER % (name, "true") for name in ("a", "b")})
    return made


def cpu_seconds(pid: int) -> float:
    """What a process has cost so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_rows_that_change_come_and_go(repo: Repo, tmp_path: Path) -> None:
    with following(repo, tmp_path / "out", "--now", NOW, "--output-watch-events", end=signal.SIGINT) as seen:
        seen.wait_for("ADDED", "b", "yes")
        assert seen.lines[0][:3] == ["EVENT", "NAME", "ACCEPTED"]
        repo.commit({"b.yaml": CLUSTER % ("b", "false")})
        seen.wait_for("MODIFIED", "b")
        repo.commit({"c.yaml": CLUSTER % ("c", "true"), "README.md": "x"})
        seen.wait_for("ADDED", "c")
        repo.commit({"a.yaml": None})
        seen.wait_for("DELETED", "a")
        assert [line[:2] for line in seen.lines] == [
            ["EVENT", "NAME"],
            ["ADDED", "a"],
            ["ADDED", "b"],
            ["MODIFIED", "b"],
            ["ADDED", "c"],
            ["DELETED", "a"],
        ]


def test_a_remote_is_followed_and_nothing_is_done_while_nothing_changes(repo: Repo, tmp_path: Path) -> None:
    other = clone(repo, tmp_path / "clone")
    asked = ("cluster", "a", "-o", "jsonpath={.metadata.name}={.spec.hubAcceptsClient}{'\\n'}", "--now", NOW)
    with following(repo, tmp_path / "near", *asked) as near:
        near.wait_for("a=true")
        with following(other, tmp_path / "far", *asked, "--remote", "origin", "--interval", "0.5") as far:
            far.wait_for("a=true")
            before = cpu_seconds(near.process.pid)
            repo.commit({"a.yaml": CLUSTER % ("a", "false")})
            far.wait_for("a=false")
            near.wait_for("a=false")
            repo.commit({"a.yaml": None})
            repo.commit({"a.yaml": CLUSTER % ("a", "true")})
            wait_until(lambda: near.lines[-1] == ["a=true"] == far.lines[-1], lambda: f"{near.lines} {far.lines}")
        looked = cpu_seconds(near.process.pid)
        assert looked > before
        with pytest.raises(subprocess.TimeoutExpired):
            near.process.wait(2)
        assert cpu_seconds(near.process.pid) - looked < 0.2


def test_what_cannot_be_followed(repo: Repo, muster: Run) -> None:
    for wrong, code in (
        (("--rev", "HEAD"), 2),
        (("--worktree",), 2),
        (("cluster/nobody",), 1),
        (("--remote", "no"), 4),
    ):
        assert (
            muster("get", *(["clusters"] if wrong[0].startswith("-") else []), *wrong, "-w", "--repo", repo.path)[0]
            == code
        )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupted_wait_did_not_time_out(repo: Repo, number: signal.Signals, code: int) -> None:
    arguments = ("cluster/a", "--for", "condition=Never", "--timeout", "1h", "--repo", str(repo.path))
    main = """
import muster.cli.following as following
from muster.__main__ import main
ready = following.follow_refs
def follow_refs(*given):
    print("waiting", flush=True)
    ready(*given)
following.follow_refs = follow_refs
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", main, "wait", *arguments],
        env=dict(repo.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, said.strip()) == (code, "")  # click ends the line of ^C
