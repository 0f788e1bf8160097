"""Killed at any instant, a commit leaves the branch where it was or where it should be, and the next run works."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from muster.git.errors import Committed
from muster.git.recovery import recover
from muster.git.repository import open_repository
from tests.support.committing import commit_files
from tests.support.git import Repo, clone, new_repository

_COMMIT = """
import os, sys
from pathlib import Path
from muster.git.landing.commit import advance
from muster.git.fastimport import build_commit
from muster.git.repository import open_repository
repository = open_repository(Path(sys.argv[1]), os.environ)
files = {"derived/a.yaml": "new\\n", "derived/b.yaml": "new\\n"}
commit = build_commit(repository, files, "Reconcile", sys.argv[2])
print(advance(repository, branch="main", expected=sys.argv[2], commit=commit))
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"derived/a.yaml": "old\n", "mine.yaml": "mine\n"})
    return made


def _killing_git(repo: Repo, directory: Path, verb: str, moment: str) -> Repo:
    """Return `repo` with a git on its PATH that kills whoever asks it for `verb`, before or after doing it."""
    directory.mkdir()
    wrapper = directory / "git"
    does = 'git "$@"\n' if moment == "after" else ""
    wrapper.write_text(
        "#!/bin/sh\nPATH=${PATH#*:}; export PATH\n"
        f'case " $* " in *" {verb} "*)\n{does}kill -9 $PPID\nexit 1\n;; esac\nexec git "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return repo.with_environ(PATH=f"{directory}{os.pathsep}{repo.environ['PATH']}")


def _run(repo: Repo) -> subprocess.CompletedProcess[str]:
    """Commit in a process of its own."""
    command = [sys.executable, "-c", _COMMIT, str(repo.path), repo.tip("main")]
    return subprocess.run(command, env=repo.environ, capture_output=True, text=True, check=False)


def _check_next_run(repo: Repo) -> None:
    """The repository is sound, and the next commit goes through."""
    assert repo.git("fsck", "--full", "--no-dangling") == ""
    assert not [ref for ref in repo.refs() if ref.startswith("refs/muster")]
    outcome = commit_files(
        open_repository(repo.path, repo.environ),
        branch="main",
        expected=repo.tip("main"),
        files={"derived/a.yaml": "newer\n"},
        message="Next",
    )
    assert outcome == Committed(repo.tip("main"))
    assert repo.show("derived/a.yaml", "main") == "newer"


def test_the_commit_that_is_to_be_killed_works_when_it_is_not(repo: Repo) -> None:
    done = _run(repo)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{Committed(repo.tip())}\n"


@pytest.mark.parametrize(
    ("verb", "moment", "moved"),
    [
        ("fast-import", "before", False),
        ("fast-import", "after", False),
        ("update-ref", "before", False),
        ("update-ref", "after", True),
    ],
)
def test_killed_in_a_bare_repository(repo: Repo, tmp_path: Path, verb: str, moment: str, moved: bool) -> None:
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    before = bare.tip("main")
    assert _run(_killing_git(bare, tmp_path / "bin", verb, moment)).returncode == -9
    assert (bare.tip("main") != before) is moved
    assert bare.paths("main") == ["derived/a.yaml", *(["derived/b.yaml"] if moved else []), "mine.yaml"]
    _check_next_run(bare)


@pytest.mark.parametrize(
    ("verb", "moment", "moved"),
    [
        ("fast-import", "before", False),
        ("fast-import", "after", False),
        ("update-index", "after", False),
        ("read-tree", "before", False),
        ("update-ref", "before", False),
        ("update-ref", "after", True),
    ],
)
def test_killed_where_the_branch_is_checked_out(
    repo: Repo, tmp_path: Path, verb: str, moment: str, moved: bool
) -> None:
    repo.write("mine.yaml", "edited\n")
    before = repo.tip()
    assert _run(_killing_git(repo, tmp_path / "bin", verb, moment)).returncode == -9
    assert (repo.tip() != before) is moved
    recover(open_repository(repo.path, repo.environ))
    assert repo.status() == [" M mine.yaml"]
    assert (repo.path / "derived/a.yaml").read_text() == ("new\n" if moved else "old\n")
    _check_next_run(repo)
    assert repo.status() == [" M mine.yaml"]


def test_fast_import_killed_in_the_middle(repo: Repo, tmp_path: Path) -> None:
    """The stream ends early: nothing is committed, and what happened is said without a report left behind."""
    directory = tmp_path / "bin"
    directory.mkdir()
    wrapper = directory / "git"
    wrapper.write_text(
        "#!/bin/sh\nPATH=${PATH#*:}; export PATH\n"
        'case " $* " in *" fast-import "*) head -c 150 | git "$@"; exit $? ;; esac\nexec git "$@"\n'
    )
    wrapper.chmod(0o755)
    before = repo.tip()
    done = _run(repo.with_environ(PATH=f"{directory}{os.pathsep}{repo.environ['PATH']}"))
    assert "RepositoryError: git fast-import: " in done.stderr
    assert repo.tip() == before
    assert not list((repo.path / ".git").glob("fast_import_crash_*"))
    _check_next_run(repo)
