"""The whole of muster in repositories of either object format: a hub, a checkout, agents, edits, a watch."""

from pathlib import Path

import pytest

from tests.agents.heartbeat.test_heartbeat import Server, server
from tests.features.pulses.test_walkthrough import cluster
from tests.features.watch.test_cli import line_with, watching
from tests.support.commandline import Run, muster
from tests.support.git import Repo, clone, new_repository

__all__ = ["muster", "server"]  # fixtures


@pytest.fixture(params=["sha1", "sha256"])
def hub(request: pytest.FixtureRequest, tmp_path: Path, muster: Run) -> Repo:
    """A bare repository with what `muster init` lays down."""
    hub = new_repository(tmp_path / "hub.git", bare=True, object_format=request.param)
    seed = new_repository(tmp_path / "seed", object_format=request.param)
    assert muster("init", seed.path)[0] == 0
    seed.commit()
    seed.git("push", "--quiet", str(hub.path), "main")
    return hub


def committed(muster: Run, repo: Repo, now: str) -> int:
    """How many commits three reconciles make."""
    before = int(repo.git("rev-list", "--count", "main"))
    for _ in range(3):
        code, _, err = muster("reconcile", "--repo", repo.path, "--branch", "main", "--now", now)
        assert (code, err) == (0, "")
    return int(repo.git("rev-list", "--count", "main")) - before


def test_a_fleet_comes_to_rest_in_a_bare_repository_and_in_a_checkout(hub: Repo, tmp_path: Path, muster: Run) -> None:
    assert committed(muster, hub, "2026-01-01T00:00:00Z") == 1
    checkout = clone(hub, tmp_path / "checkout")
    assert committed(muster, checkout, "2026-01-01T00:00:00Z") == 0
    checkout.commit({"clusters/b/cluster.yaml": cluster("b")})
    for arguments in (("plan",), ("plan", "--worktree")):
        assert muster(*arguments, "--repo", checkout.path, "--exit-code", "--now", "2026-01-01T00:00:00Z")[0] == 1
    code, out, err = muster("reconcile", "--push", "--repo", checkout.path, "--now", "2026-01-01T00:00:00Z")
    assert (code, out.splitlines()[-1], err) == (0, "pushed to origin", "")
    assert hub.tip("main") == checkout.tip()
    assert checkout.status() == []
    for arguments in (("plan",), ("plan", "--worktree")):
        assert muster(*arguments, "--repo", checkout.path, "--exit-code", "--now", "2026-01-01T00:00:00Z")[0] == 0
    checkout.write("clusters/b/cluster.yaml", cluster("b", accepts=False))
    checkout.git("add", "--all")
    assert muster("validate", "--staged", "--repo", checkout.path)[0] == 0


def test_agents_speak_on_refs_of_their_own(hub: Repo, server: Server, muster: Run) -> None:
    beat = ("heartbeat", "--cluster", "edge", "--remote", hub.path, "--api-server", server.url)
    assert muster(*beat)[0] == 0
    assert muster("accept", "--repo", hub.path, "--branch", "main", "--clusters", "edge")[0] == 0
    assert committed(muster, hub, "now") == 1
    assert muster(*beat)[0] == 0
    report = muster(
        "report",
        "--repo",
        hub.path.parent,
        "--remote",
        hub.path,
        "--cluster",
        "edge",
        "--adapter",
        "dns",
        "--observed-generation",
        "1",
        "--condition",
        "Available=True",
    )
    assert report[0] == 0, report
    assert committed(muster, hub, "now") >= 1
    assert committed(muster, hub, "now") == 0
    status = hub.show("derived/managedclusters/edge.yaml", "main")
    assert "reason: ManagedClusterAvailable" in status
    assert "accepted:" in hub.show("derived/adapterreports/edge/dns.yaml", "main")


def test_a_watch_comes_to_rest(hub: Repo, tmp_path: Path, muster: Run) -> None:
    checkout = clone(hub, tmp_path / "checkout")
    with watching(checkout) as process:
        line_with(process, "watching main")
        checkout.commit({"clusters/b/cluster.yaml": cluster("b")})
        line_with(process, "b accepted")
    assert muster("reconcile", "--repo", checkout.path)[1] == "nothing to do\n"
    assert checkout.status() == []
