"""The snapshot that a path and a revision name, and that of a work tree.

Apart from `muster.git.snapshot`, because reconcile and the hook do not need it.
"""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from muster.data.snapshot import Snapshot
from muster.git.agents.listing import AgentRefs, local_agent_refs
from muster.git.agents.refs import AgentRef
from muster.git.changes import PathChange
from muster.git.derivedbranch import evaluated_commit
from muster.git.directory import DirectorySnapshot, WorkTreeListing
from muster.git.errors import RepositoryError
from muster.git.record.past import past_of, snapshot_then
from muster.git.repository import Repository, open_repository, resolve
from muster.git.snapshot import CommitSnapshot, WithAgents, with_derived


def open_snapshot(path: Path, rev: str | None = None) -> Snapshot:
    """Return the directory as it is now if `rev` is None, else the repository at that revision.

    A bare repository has no files of its own, so None means its HEAD there. RepositoryError if there is nothing to
    read.
    """
    if not path.is_dir():
        raise RepositoryError(f"{path} is not a directory", "Give the path of a fleet repository.")
    if rev is None and not ((path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()):
        return DirectorySnapshot(path, os.environ)
    return open_revision(open_repository(path, os.environ), rev)


def open_revision(repository: Repository, rev: str | None) -> CommitSnapshot:
    """Return the snapshot of a revision, of a past one with what was known of agents then; of HEAD if `rev` is None.
    Nothing is fetched."""
    if rev is not None:
        commit = resolve(repository, rev)
        past = past_of(repository, commit, None, ask=False)
        if past is not None:
            return snapshot_then(repository, commit, past)
    return open_commit(repository, rev or "HEAD")


def open_commit(repository: Repository, rev: str, heard: AgentRefs | None = None) -> CommitSnapshot:
    """Return the snapshot of a revision, with its derived files if they are on another branch, and with agents' refs:
    by default all that are in this clone. Nothing is fetched."""
    commit = evaluated_commit(repository, resolve(repository, rev))
    heard = heard or local_agent_refs(repository, commit)
    return CommitSnapshot(repository, commit, heard.refs, heard.agents)


def work_tree_snapshot(
    repository: Repository,
    heard: AgentRefs,
    changes: Collection[PathChange] = (),
    only: Collection[str] | None = None,
    refs: Collection[AgentRef] | None = None,
) -> WithAgents:
    """Return what a commit of the work tree would be evaluated with: its files, and agents' refs; `only` these paths
    and `refs`, if not all are looked at.

    `changes` are then all that the work tree changes of HEAD: a path that they remove is not looked at, even if a file
    that git ignores is there.
    """
    listing = None
    if only is not None:
        gone = {change.path for change in changes if change.new is None}
        listing = WorkTreeListing.of({*only} - gone, repository.object_format)
    files = DirectorySnapshot(repository.git.directory, repository.git.environ, listing, repository)
    heard = heard if refs is None else replace(heard, refs=tuple(refs))
    return WithAgents(with_derived(files, repository, files.head, only), repository, heard)
