"""What commits are tried with: a fleet, a change of it, and what there is afterwards."""

from pathlib import Path

from muster.git.errors import Committed, Moved, Refused
from muster.git.fastimport import Files
from muster.git.repository import open_repository
from tests.support.committing import commit_files
from tests.support.git import Repo

BASE = {"clusters/a/cluster.yaml": "a: 1\n", "derived/a.yaml": "old: 1\n", "derived/gone.yaml": "x: 1\n"}
CHANGE: Files = {"derived/a.yaml": "new: 1\n", "derived/b/c.yaml": "c: 1\n", "derived/gone.yaml": None}
AFTER = ["clusters/a/cluster.yaml", "derived/a.yaml", "derived/b/c.yaml"]


def commit(
    repo: Repo, files: Files = CHANGE, *, branch: str = "main", expected: str | None = None, message: str = "Reconcile"
) -> Committed | Moved | Refused:
    """Commit `files` on `branch`, expected to be where it is unless told otherwise."""
    repository = open_repository(repo.path, repo.environ)
    at = expected or repo.tip(f"refs/heads/{branch}")
    return commit_files(repository, branch=branch, expected=at, files=files, message=message)


def check_sound(repo: Repo) -> None:
    """Nothing is left behind: no private ref, no report of a crash, nothing that fsck complains about."""
    assert not [ref for ref in repo.refs() if ref.startswith("refs/muster")]
    git_dir = Path(repo.git("rev-parse", "--absolute-git-dir"))
    assert not list(git_dir.glob("fast_import_crash_*"))
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
