"""Which snapshot a path and a revision mean."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from muster.data.snapshot import Snapshot
from muster.git.apart import seen
from muster.git.directory import DirectorySnapshot
from muster.git.errors import RepositoryError
from muster.git.hearing import Heard, here
from muster.git.repository import Repository, open_repository, resolve
from muster.git.snapshot import CommitSnapshot

if TYPE_CHECKING:
    pass


def open_snapshot(path: Path, rev: str | None = None) -> Snapshot:
    """Return the directory as it stands where `rev` is None, else the repository at that revision.

    A bare repository has no files of its own, so None means its HEAD there. RepositoryError where there is
    nothing to read.
    """
    if not path.is_dir():
        raise RepositoryError(f"{path} is not a directory", "Give the path of a fleet repository.")
    if rev is None and not _is_bare(path):
        return DirectorySnapshot(path, os.environ)
    return open_commit(open_repository(path, os.environ), rev or "HEAD")


def open_commit(repository: Repository, rev: str, heard: Heard | None = None) -> CommitSnapshot:
    """Return the snapshot of a revision, with the agents' refs beside it: those `heard`, else all that are here; and
    with what is derived of it, where that lies on another branch.

    Nothing is fetched.
    """
    commit = seen(repository, resolve(repository, rev))
    heard = heard or here(repository, commit)
    return CommitSnapshot(repository, commit, heard.refs, heard.agents)


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
