"""A fleet in which something does not come to rest, through the command line: the rest is committed, once."""

from pathlib import Path

from tests.features.pulses.test_walkthrough import cluster
from tests.features.watch.test_cli import line_with, watching
from tests.run.test_unrest import TURNCOAT, files
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository


def unrestful(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit(files(**{"policies/turncoat.yaml": TURNCOAT}))
    return repo


def test_reconcile_commits_the_rest_once_and_fails(tmp_path: Path, muster: Run) -> None:
    repo = unrestful(tmp_path)
    now = ("--repo", str(repo.path), "--now", "2026-01-01T00:00:00Z")
    code, out, err = muster("reconcile", *now)
    assert code == 1
    assert "MUS262" in err and "ManagedCluster/a does not come to rest" in err
    assert "ManagedCluster/b" in out
    tip = repo.tip()
    code, out, _ = muster("reconcile", *now)
    assert (code, out, repo.tip()) == (1, "nothing to do\n", tip)
    code, _, err = muster("plan", *now)
    assert code == 1
    assert "MUS262" in err


def test_watch_does_not_run_hot(tmp_path: Path) -> None:
    repo = unrestful(tmp_path)
    with watching(repo) as process:
        line_with(process, "ManagedCluster/a does not come to rest")
        commits = repo.git("rev-list", "--count", "HEAD")
        repo.commit({"clusters/c/cluster.yaml": cluster("c")})
        line_with(process, "c accepted")
    assert int(repo.git("rev-list", "--count", "HEAD")) == int(commits) + 2, "one of a person's, one of muster's"
