"""A plan that is carried out exactly or not at all, by the command line and a real repository."""

import json
from pathlib import Path

import pytest

from muster.cli import exits
from muster.data.tree import Tree
from tests.features.pulses.test_walkthrough import Muster, cluster, fleet, lease
from tests.features.pulses.test_walkthrough import muster as muster
from tests.support.git import Repo

NOW = ("--now", "2026-01-01T00:10:00Z")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z", b="2026-01-01T00:09:50Z")


@pytest.fixture
def plan(repo: Repo, tmp_path: Path, muster: Muster) -> Path:
    path = tmp_path / "plan.json"
    assert muster(repo, "plan", *NOW, "--out", str(path))[0] == exits.FINE
    return path


def test_what_was_planned_is_what_is_committed(repo: Repo, plan: Path, muster: Muster) -> None:
    files = json.loads(plan.read_text())["files"]
    assert muster(repo, "reconcile", "--plan", str(plan))[0] == exits.FINE
    assert {path: repo.show(path) + "\n" for path in files} == files
    assert "Muster-Now: 2026-01-01T00:10:00Z" in repo.git("log", "-1", "--format=%B"), "as of then"
    assert repo.git("diff", "--name-only", "HEAD~1").splitlines() == sorted(files)


def test_plan_still_applies_after_unrelated_commits(repo: Repo, plan: Path, muster: Muster) -> None:
    repo.commit({"README.md": "words", "clusters/b/lease.yaml": lease("b", "2026-01-01T00:09:58Z")})
    assert muster(repo, "reconcile", "--plan", str(plan))[0] == exits.FINE


def test_what_moved_is_shown_and_nothing_written(repo: Repo, plan: Path, muster: Muster) -> None:
    planned = repo.tip()[:12]
    repo.commit({"clusters/a/lease.yaml": lease("a", "2026-01-01T00:09:58Z"), "clusters/c.yaml": cluster("c")})
    before = repo.tip()
    code, out, err = muster(repo, "reconcile", "--plan", str(plan))
    assert (code, out, repo.tip(), repo.status()) == (exits.FINDINGS, "", before, [])
    available = "condition ManagedClusterConditionAvailable"
    for line in (
        f"the branch is at {before[:12]}, the plan is of {planned}",
        "differs between the two: clusters/a/lease.yaml",
        f"planned, and no longer a result: ManagedCluster/a: {available} - -> Unknown",
        f"not planned, and a result now: ManagedCluster/a: {available} - -> True",
        "file differs from the plan: derived/managedclusters/c.yaml",
    ):
        assert f"  {line}\n" in err
    assert err.endswith("hint: make a new one with muster plan --out\n")


def test_agents_that_spoke_since_are_named(repo: Repo, plan: Path, muster: Muster) -> None:
    repo.commit_to("refs/heads/agents/a", {"clusters/a/lease.yaml": lease("a", "2026-01-01T00:09:58Z")})
    repo.commit({"clusters/a/lease.yaml": None})
    code, _, err = muster(repo, "reconcile", "--plan", str(plan))
    assert code == exits.FINDINGS
    assert "has moved since the plan: refs/heads/agents/a" in err


def test_a_run_that_came_in_between(repo: Repo, plan: Path, muster: Muster) -> None:
    muster(repo, "reconcile", "--now", "2026-01-01T00:11:00Z")
    before = repo.tip()
    code, _, err = muster(repo, "reconcile", "--plan", str(plan))
    assert (code, repo.tip()) == (exits.FINDINGS, before)
    assert "the plan is as of 2026-01-01T00:10:00Z, and a run has decided since" in err


def test_it_is_carried_out_once(repo: Repo, plan: Path, muster: Muster) -> None:
    muster(repo, "reconcile", "--plan", str(plan))
    before = repo.tip()
    assert muster(repo, "reconcile", "--plan", str(plan))[0] == exits.FINDINGS
    assert repo.tip() == before


def test_a_plan_from_the_future_is_not_carried_out(repo: Repo, tmp_path: Path, muster: Muster) -> None:
    plan, before = tmp_path / "future.json", repo.tip()
    assert muster(repo, "plan", "--out", str(plan), "--now", "2099-01-01T00:00:00Z")[0] == exits.FINE
    code, _, err = muster(repo, "reconcile", "--plan", str(plan))
    assert (code, repo.tip()) == (exits.USAGE, before)
    assert "is a plan as of 2099-01-01T00:00:00Z, which lies ahead of the clock" in err


@pytest.mark.parametrize("options", [NOW, ("--back-in-time",)])
def test_the_plan_says_as_of_when(repo: Repo, plan: Path, muster: Muster, options: tuple[str, ...]) -> None:
    code, _, err = muster(repo, "reconcile", "--plan", str(plan), *options)
    assert (code, "--plan has its own instant" in err) == (exits.USAGE, True)


@pytest.mark.parametrize("options", [("--base", "HEAD"), ("--worktree",)])
def test_only_what_a_reconcile_would_do_is_a_plan_to_keep(
    repo: Repo, tmp_path: Path, muster: Muster, options: tuple[str, ...]
) -> None:
    assert muster(repo, "plan", "--out", str(tmp_path / "p"), *options)[0] == exits.USAGE
    assert muster(repo, "plan", "--out", str(tmp_path / "no" / "p"))[0] == exits.USAGE


def test_a_plan_that_somebody_edited_is_not_carried_out(repo: Repo, plan: Path, muster: Muster) -> None:
    document: Tree = json.loads(plan.read_text())
    document["files"]["derived/managedclusters/a.yaml"] += "# more\n"
    plan.write_text(json.dumps(document))
    before = repo.tip()
    code, _, err = muster(repo, "reconcile", "--plan", str(plan))
    assert (code, repo.tip()) == (exits.FINDINGS, before)
    assert "file differs from the plan: derived/managedclusters/a.yaml" in err
