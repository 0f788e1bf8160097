"""A revision under review decides nothing about the machine that reads it: whom it asks, and what it fetches."""

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from muster.cli import exits
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.commandline import Run
from tests.support.git import Repo, clone, new_repository

BEAT, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z"
READING = (
    "plan --rev feature --base origin/main",
    "plan --rev feature --base origin/main -o json",
    "plan --rev feature",
    "plan --rev feature --report ManagedCluster/a Ready=True",
    "get managedclusters --rev feature",
    "get managedclusters -o yaml --rev feature",
    "describe ManagedCluster/a --rev feature",
    "explain ManagedCluster/a --rev feature",
    "forecast --rev feature",
    "export objects --rev feature",
    "validate --rev feature",
    "validate --rev feature --base origin/main",
    "lint --rev feature",
    "test --rev feature",
)
CHECKED_OUT = (
    "plan --base origin/main",
    "plan --base origin/main -o markdown",
    "plan --worktree --base origin/main",
    "validate --base origin/main",
)


def settings(*remotes: tuple[str, str], more: str = "") -> str:
    entries = ", ".join(f'{{name: {name}, url: "{url}", clusters: ["*"]}}' for name, url in remotes)
    return f"""\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {{name: f}}
spec:
  agents: {{remotes: [{entries}]}}
{more}"""


@pytest.fixture
def calls() -> Iterator[tuple[int, list[str]]]:
    """The port of a server that hangs up, and its callers."""
    callers = list[str]()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                callers.append("called")
                connection.close()

        thread = Thread(target=take, daemon=True)
        thread.start()
        yield server.getsockname()[1], callers
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    """A person's clone of a hub, and a repository of agents beside it that main names."""
    hub, side = (new_repository(tmp_path / f"{name}.git", bare=True) for name in ("hub", "side"))
    side.commit_to("refs/heads/agents/s", {"lease.yaml": lease("s", BEAT), "observed.yaml": observed("s")})
    person = clone(hub, tmp_path / "person")
    files = {f"clusters/{name}/cluster.yaml": cluster(name) for name in ("a", "s")}
    person.commit(
        {**files, "clusters/a/lease.yaml": lease("a", BEAT), "fleet.yaml": settings(("side", str(side.path)))}
    )
    person.git("push", "--quiet", "origin", "main")
    return person


def propose(fleet: Repo, fleet_yaml: str, *, checkout: bool) -> None:
    fleet.git("switch", "--quiet", "--create", "feature")
    fleet.commit({"fleet.yaml": fleet_yaml})
    if not checkout:
        fleet.git("switch", "--quiet", "main")


def urls(port: int, spy: Path) -> list[tuple[str, str]]:
    """Addresses of every transport of git."""
    return [
        ("http", f"http://127.0.0.1:{port}/x.git"),
        ("git", f"git://127.0.0.1:{port}/x.git"),
        ("ssh", f"ssh://127.0.0.1:{port}/x.git"),
        ("scp", "someone@127.0.0.1:x.git"),
        ("file", f"file://{spy}"),
        ("path", str(spy)),
        ("ext", f"ext::touch {spy}/ran"),
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arguments", (*READING, *CHECKED_OUT))
def test_the_repositories_of_the_base_are_asked_and_no_others(
    fleet: Repo,
    muster: Run,
    calls: tuple[int, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
) -> None:
    port, callers = calls
    spy = new_repository(tmp_path / "spy.git", bare=True)
    spy.commit_to("refs/heads/agents/a", {"lease.yaml": lease("a", NOW)})
    ran = tmp_path / "ran"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {ran}; false")
    propose(fleet, settings(*urls(port, spy.path)), checkout=arguments in CHECKED_OUT)
    code, out, err = muster(*arguments.split(), "--repo", str(fleet.path), *_now(arguments))
    assert code in (exits.FINE, exits.FINDINGS), err
    assert callers == []
    assert not ran.exists()
    assert not (spy.path / "ran").exists()
    fetched = {ref.split("/")[3] for ref in fleet.refs() if ref.startswith("refs/muster/from/")}
    assert fetched <= {"side"}
    if arguments.split()[0] not in ("validate", "lint", "test"):
        assert fetched == {"side"}
        assert "'http'" in out + err  # it says that it was not asked
        assert "was not asked" in out + err


def test_the_same_address_at_another_place_is_asked_where_the_base_says(
    fleet: Repo, muster: Run, calls: tuple[int, list[str]]
) -> None:
    port, callers = calls
    propose(fleet, settings(("side", f"http://127.0.0.1:{port}/x.git")), checkout=False)
    code, out, _ = muster(
        "plan", "--repo", str(fleet.path), "--now", NOW, "--rev", "feature", "--base", "main", "-o", "json"
    )
    assert (code, callers) == (exits.FINE, [])
    assert "MUS514" in out
    assert "refs/muster/from/side/agents/s" in fleet.refs()


def test_a_branch_of_derived_files_that_the_base_does_not_name_is_not_fetched(fleet: Repo, muster: Run) -> None:
    fleet.git("push", "--quiet", "origin", "main:refs/heads/other")
    fleet.git("update-ref", "-d", "refs/remotes/origin/other")
    propose(fleet, settings(more="  derived: {branch: other}\n"), checkout=False)
    code, _, err = muster("get", "managedclusters", "--repo", str(fleet.path), "--now", NOW, "--rev", "feature")
    assert code == exits.FINE, err
    assert "refs/remotes/origin/other" not in fleet.refs()


def test_what_is_merged_is_asked(fleet: Repo, muster: Run, calls: tuple[int, list[str]]) -> None:
    port, callers = calls
    propose(fleet, settings(("x", f"http://127.0.0.1:{port}/x.git")), checkout=False)
    fleet.git("merge", "--quiet", "feature")
    muster("plan", "--repo", str(fleet.path), "--now", NOW)
    assert callers


def _now(arguments: str) -> tuple[str, ...]:
    return () if arguments.split()[0] in ("validate", "lint", "test") else ("--now", NOW)
