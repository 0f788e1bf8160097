"""Agents that push to repositories of their own, each given its clusters; one of them does not answer."""

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.cli import exits
from muster.git.agents import fetch as agentfetch
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.commandline import Run
from tests.support.git import Repo, clone, new_repository
from tests.support.gitservers import git_daemon

BEAT, NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:10:00Z"
CLUSTERS = ("eu-1", "eu-2", "us-1", "local")


def settings(eu: str, us: str) -> str:
    return f"""\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {{name: f}}
spec:
  agents:
    remotes:
    - {{name: eu, url: "{eu}", clusters: ["eu-*"]}}
    - {{name: us, url: "{us}", clusters: [us-1]}}
"""


def beat(repo: Repo, name: str, at: str) -> None:
    files = {"lease.yaml": lease(name, at), "observed.yaml": observed(name)}
    repo.commit_to(f"refs/heads/agents/{name}", files, date=at)


@dataclass
class World:
    person: Repo
    hub: Repo
    eu: Repo
    us: Repo
    url: str

    def point(self, eu: str) -> None:
        """Say that the repository of the European agents is somewhere else."""
        self.person.commit({"fleet.yaml": settings(eu, f"{self.url}/us.git")})
        self.person.git("push", "--quiet", "origin", "main")

    def subject(self) -> str:
        return self.hub.git("log", "-1", "--format=%s", "main")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    served = tmp_path / "served"
    served.mkdir()
    hub, eu, us = (new_repository(served / f"{name}.git", bare=True) for name in ("hub", "eu", "us"))
    person = clone(hub, tmp_path / "person")
    with git_daemon(served) as url:
        person.commit({f"clusters/{name}/cluster.yaml": cluster(name) for name in CLUSTERS})
        made = World(person, hub, eu, us, url)
        made.point(f"{url}/eu.git")
        beat(hub, "local", BEAT)
        beat(us, "us-1", BEAT)
        for name in ("eu-1", "eu-2"):
            beat(eu, name, BEAT)
        yield made


@pytest.fixture
def silent() -> Iterator[str]:
    """A repository whose server takes the call and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"git://127.0.0.1:{server.getsockname()[1]}/eu.git"


def test_each_repository_speaks_for_its_clusters(world: World, muster: Run) -> None:
    beat(world.us, "eu-2", LATER)  # newer than the own word, and not the US agents' to say
    world.us.commit_to("refs/heads/agents/local", {"lease.yaml": lease("local", LATER)}, date=LATER)
    code, _, err = muster("reconcile", "--repo", world.person.path, "--push", "--now", NOW)
    assert code == exits.FINE
    assert world.subject().startswith("4 clusters available")
    told = [line for line in err.splitlines() if "MUS132" in line]
    assert ["eu-2" in told[0], "local" in told[1]] == [True, True]
    assert len(told) == 2
    assert sorted(name for name in world.person.refs() if "muster/from" in name) == [
        "refs/muster/from/eu/agents/eu-1",
        "refs/muster/from/eu/agents/eu-2",
        "refs/muster/from/us/agents/us-1",
    ]
    assert muster("plan", "--repo", world.person.path, "--now", NOW)[1].startswith("Nothing to do.")


def test_one_that_does_not_answer_delays_nothing_and_is_told(
    world: World, silent: str, muster: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agentfetch, "_ANSWER_SECONDS", 0.5)
    assert muster("reconcile", "--repo", world.person.path, "--push", "--now", NOW)[0] == exits.FINE
    world.point(silent)
    beat(world.us, "us-1", LATER)  # and the local one has fallen silent
    began = time.monotonic()
    code, _, err = muster("reconcile", "--repo", world.person.path, "--push", "--now", LATER)
    assert time.monotonic() - began < 30
    assert code == exits.FINDINGS
    assert "MUS512" in err
    assert "'eu' of spec.agents.remotes could not be asked" in err
    assert "nothing is decided about its clusters: eu-1, eu-2" in err
    assert world.subject().startswith("local Unknown")
    for fresh in (False, True):  # also in a clone that has never heard of them
        checkout = clone(world.hub, world.person.path.parent / "fresh") if fresh else world.person
        code, out, err = muster("plan", "--repo", checkout.path, "--now", LATER)
        assert "Nothing to do." in out
        assert "eu-1, eu-2" in err
    # When it is back it is heard, and its agents' silence counts.
    world.point(f"{world.url}/eu.git")
    assert muster("reconcile", "--repo", world.person.path, "--push", "--now", LATER)[0] == exits.FINE
    assert world.subject().startswith("eu-1 and eu-2 Unknown")


def test_an_agent_that_leaves_its_repository_is_gone(world: World, muster: Run) -> None:
    assert muster("reconcile", "--repo", world.person.path, "--push", "--now", NOW)[0] == exits.FINE
    world.eu.git("update-ref", "-d", "refs/heads/agents/eu-1")
    code, out, err = muster("plan", "--repo", clone(world.hub, world.person.path.parent / "fresh").path, "--now", NOW)
    assert code == exits.FINE
    assert "ManagedCluster/eu-1 spoke through agents/eu-1 at the last run, and that ref is gone" in err
    assert "Unknown" not in out
    assert "Lease/eu-1/managed-cluster-lease" in out  # which its silence is measured by from now on
