"""`plan -o diff`: what a reconcile would write, which git itself can apply."""

import shutil
from pathlib import Path

import pytest

from muster.cli import exits
from tests.support import in_process
from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, copy, new_repository
from tests.support.terminal import printed

DIFF = ("plan", "-o", "diff", "--exit-code")
NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:20:00Z"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """The example fleet, reconciled at noon."""
    repo = new_repository(tmp_path_factory.mktemp("diff") / "fleet")
    shutil.copytree(EXAMPLE, repo.path, dirs_exist_ok=True)
    repo.commit()
    in_process.muster("reconcile", "--now", NOON, environ={**repo.environ, "MUSTER_CACHE_DIR": ""}, cwd=repo.path)
    return repo


def test_git_applies_what_is_told_and_then_nothing_differs(tmp_path: Path, made: Repo, muster: Run) -> None:
    repo = copy(made.path, tmp_path / "fleet")
    assert muster(*DIFF, "--repo", repo.path, "--now", NOON) == (exits.FINE, "", "")
    code, out, err = muster(*DIFF, "--repo", repo.path, "--now", LATER)
    assert (code, err) == (exits.FINDINGS, "")
    assert "--- a/derived/managedclusters/prod-eu-1.yaml\n+++ b/derived/managedclusters/prod-eu-1.yaml\n@@ " in out
    assert "\n+    reason: ManagedClusterLeaseUpdateStopped\n" in out
    (repo.path / "the.diff").write_text(out)
    repo.git("apply", "the.diff")
    (repo.path / "the.diff").unlink()
    applied = repo.git("diff", "--stat")
    repo.git("checkout", "--quiet", ".")
    head = repo.tip()
    muster("reconcile", "--repo", repo.path, "--now", LATER)
    assert repo.git("diff", "--stat", head, "HEAD") == applied


def test_the_work_tree_and_what_comes_and_goes(tmp_path: Path, made: Repo, muster: Run) -> None:
    repo = copy(made.path, tmp_path / "fleet")
    shutil.rmtree(repo.path / "clusters/ap/retired-ap-1")
    cluster = (repo.path / "clusters/eu/prod-eu-1/cluster.yaml").read_text()
    (repo.path / "fresh.yaml").write_text(cluster.replace("prod-eu-1", "fresh"))
    assert muster(*DIFF, "--repo", repo.path, "--now", NOON)[0] == exits.FINE
    code, out, err = muster(*DIFF, "--worktree", "--repo", repo.path, "--now", NOON)
    assert code == exits.FINDINGS, err
    assert "--- /dev/null\n+++ b/derived/managedclusters/fresh.yaml\n@@ -0,0 +1," in out
    assert "--- a/derived/managedclusters/retired-ap-1.yaml\n+++ /dev/null\n" in out
    assert "\x1b" not in out


def test_a_finding_and_a_base(made: Repo, muster: Run) -> None:
    assert muster(*DIFF, "--rev", "nowhere", "--repo", made.path)[0] == exits.REPOSITORY
    assert muster(*DIFF, "--base", "main", "--repo", made.path)[0] == exits.USAGE


def test_a_terminal_shows_colours(made: Repo) -> None:
    assert "\x1b[32m+    reason: " in printed(made, 120, [" ".join(DIFF)])
