"""Check a revision, the staged files or the work tree: as little of it as the changes affect."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from muster.cli.options import present
from muster.cli.progress import working
from muster.dataclass import dataclass
from muster.features.validate.paths import is_read, named_paths
from muster.git.errors import RepositoryError

if TYPE_CHECKING:
    from muster.data.finding import Finding
    from muster.git.agents.listing import AgentRefs
    from muster.git.changes import PathChange
    from muster.git.repository import Repository
    from muster.run.uncommitted import UncommittedCheck


def check(
    files: tuple[str, ...], repo: Path, rev: str | None, base: str | None, *, staged: bool, touched: bool
) -> "tuple[Sequence[Finding], int] | None":
    """Return the findings of the fleet, or those about `files`, or those that the next commit brings about (`touched`),
    and the number of its objects; None if the next commit touches no file of the fleet."""
    names = named_paths(files, repo, rev, anything=bool(rev) or staged)
    now, uncommitted = present(), None
    with working("checking the fleet"):
        if touched:
            uncommitted = next_commit(repo)
            names.update(change.path for change in uncommitted.changes)
            if not any(map(is_read, names)):
                return None
        elif not (base or rev or staged):
            uncommitted = work_tree(repo)
        if uncommitted is None:
            checked = revision(repo, rev, base, now, staged=staged)
        else:
            checked = uncommitted.checked(names, now, compare=touched)
        fleet = checked.fleet
        if base:
            from muster.features.validate.derivededits import derived_edits
            from muster.git.repository import open_repository

            edits = derived_edits(open_repository(repo, os.environ), base, rev or "HEAD")
            fleet = replace(fleet, findings=(*fleet.findings, *edits))
    findings = checked.brought_about if touched else fleet.sorted_findings()
    if not touched and files and "." not in names:
        from muster.features.validate.touched import touched_findings

        findings = touched_findings(fleet, names)
    from muster.rules.checks.waivers import shown

    of_base = _base_findings(repo, base) if base and any(finding.code.of_change for finding in findings) else None
    return shown(findings, now, fleet.findings, of_base), checked.count


def _base_findings(repo: Path, base: str) -> "Sequence[Finding]":
    """The findings of the base, with its Waivers: a change does not waive what it does itself."""
    from muster.cli.reading import snapshot_of
    from muster.run.checking import check_snapshot

    return check_snapshot(snapshot_of(repo, base, worktree=False)).findings


@dataclass(frozen=True, slots=True)
class UncommittedFiles:
    """The staged files or, with agent refs in `heard`, the work tree, as changes of the commit `head` (None: there is
    no commit)."""

    repository: "Repository"
    head: str | None
    changes: "Sequence[PathChange]"
    heard: "AgentRefs | None" = None

    def checked(self, files: Collection[str], now: datetime, *, compare: bool) -> "UncommittedCheck":
        """Check what the changes and some files affect, as of an instant; `compare` that with the commit."""
        from muster.cli.cache import STAGED, WORK_TREE, open_state_of, use_cache
        from muster.run.uncommitted import check_question, check_uncommitted

        use_cache(os.environ)
        if self.head is None:
            return revision(self.repository.git.directory, None, None, now, staged=True)
        state = open_state_of(os.environ, self.repository, STAGED if self.heard is None else WORK_TREE)
        question = check_question(self.repository, self.head, self.changes, self.heard)
        return check_uncommitted(question, state, files, now=now, compare=compare)


def next_commit(repo: Path) -> UncommittedFiles:
    """The staged files of a repository."""
    from muster.git.changes import staged_changes
    from muster.git.derivedbranch import evaluated_commit
    from muster.git.repository import open_repository, ref_tip

    repository = open_repository(repo, os.environ)
    head = ref_tip(repository, "HEAD^{commit}")
    return UncommittedFiles(repository, head and evaluated_commit(repository, head), staged_changes(repository, head))


def work_tree(repo: Path) -> UncommittedFiles | None:
    """The work tree as changes; None if git cannot tell them, so that all files must be read."""
    from muster.cli.reading import own_repository
    from muster.git.agents.listing import local_agent_refs
    from muster.git.derivedbranch import evaluated_commit
    from muster.git.repository import ref_tip
    from muster.git.status import UnknownChangesError, work_tree_changes

    repository = own_repository(repo) if repo.is_dir() else None
    head = repository and ref_tip(repository, "HEAD^{commit}")
    if repository is None or not head:
        return None
    try:
        changes = work_tree_changes(repository, head)
        return UncommittedFiles(
            repository, evaluated_commit(repository, head), changes, local_agent_refs(repository, head)
        )
    except (UnknownChangesError, RepositoryError):
        return None


def revision(repo: Path, rev: str | None, base: str | None, now: datetime, *, staged: bool) -> "UncommittedCheck":
    """Check the whole fleet at `rev`, staged, or in the work tree, as of `now`. Everything counts as brought about."""
    from muster.cli.reading import base_snapshot, snapshot_of
    from muster.run.checking import check_snapshot, with_references, with_removals
    from muster.run.uncommitted import UncommittedCheck

    snapshot = snapshot_of(repo, rev, worktree=not (rev or staged), staged=staged)
    fleet = check_snapshot(snapshot, base_snapshot(repo, base, default=f"{rev}~1" if rev else "HEAD"))
    fleet = with_removals(with_references(fleet, heard=not staged), now)
    return UncommittedCheck(fleet, len(fleet.objects), fleet.sorted_findings())
