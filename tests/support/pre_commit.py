"""The real pre-commit as a repository's commit hook."""

import subprocess

from tests.support.git import Repo


def install(repo: Repo) -> None:
    """Make pre-commit the hook of a repository that has its configuration."""
    done = subprocess.run(
        ["pre-commit", "install"], cwd=repo.path, env=repo.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def commit(repo: Repo) -> subprocess.CompletedProcess[str]:
    """Commit all changes, as a person does: the hook may refuse."""
    repo.git("add", "--all")
    return subprocess.run(
        ["git", "commit", "-m", "change"], cwd=repo.path, env=repo.environ, capture_output=True, text=True, check=False
    )
