"""What commands read: a revision of the repository, or the files as they are."""

import os
from pathlib import Path

import click

from muster.commands.cache import use_cache
from muster.gitio.beside import BesideAgents
from muster.gitio.directory import DirectorySnapshot
from muster.gitio.errors import RepositoryError
from muster.gitio.index import IndexSnapshot
from muster.gitio.open import open_commit
from muster.gitio.repository import open_repository
from muster.model.snapshot import Snapshot


def snapshot_of(repo: Path, rev: str | None, *, worktree: bool, staged: bool = False) -> Snapshot:
    """Return the snapshot that `--rev`, `--worktree` and `--staged` name: HEAD without any.

    A directory that is in no repository is read as it is, unless a revision is asked for.
    """
    use_cache(os.environ)
    if worktree and rev:
        raise click.UsageError("--rev and --worktree exclude each other.")
    if not repo.is_dir():
        raise RepositoryError(f"{repo} is not a directory", "Give the fleet repository with --repo.")
    if staged:
        return IndexSnapshot(open_repository(repo, os.environ))
    if worktree:
        return _as_it_stands(repo)
    return open_commit(open_repository(repo, os.environ), rev or "HEAD")


def _as_it_stands(repo: Path) -> Snapshot:
    """The files of the work tree, with what agents say on their refs; a plain directory has no agents."""
    root = worktree_root(repo)
    below = DirectorySnapshot(root, os.environ)
    try:
        repository = open_repository(root, os.environ)
    except RepositoryError:
        return below
    if repository.worktree is None or repository.worktree.resolve() != root.resolve():
        return below  # a fleet in a folder of another repository, such as an example
    return BesideAgents(below, repository)


def base_of(repo: Path, rev: str | None, *, default: str) -> Snapshot | None:
    """Return the revision that changes are told from; None where none is named and there is no default one.

    RepositoryError where a revision is named that does not exist.
    """
    try:
        repository = open_repository(repo, os.environ)
        if not rev and repository.worktree and repository.worktree.resolve() != worktree_root(repo).resolve():
            return None  # a fleet in a folder of another repository has no commits of its own
        return open_commit(repository, rev or default)
    except RepositoryError:
        if rev:
            raise
        return None  # the first commit, or a plain directory: everything is new


def worktree_root(repo: Path) -> Path:
    """The root of the work tree that `repo` lies in; `repo` itself where there is no git, or where it holds a fleet."""
    if (repo / "fleet.yaml").is_file():
        return repo
    try:
        return open_repository(repo, os.environ).worktree or repo
    except RepositoryError:
        return repo
