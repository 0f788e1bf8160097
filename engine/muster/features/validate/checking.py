"""Check a revision, the staged files or the work tree: as little of it as the changes affect."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from muster.cli.options import present
from muster.cli.progress import working
from muster.dataclass import dataclass
from muster.features.validate.paths import is_read, named_paths
from muster.git.errors import RepositoryError

if TYPE_CHECKING:
    from muster.data.finding import Finding
    from muster.git.agentrefs import AgentRefs
    from muster.git.changes import PathChange
    from muster.git.repository import Repository
    from muster.rules.policies.in_force import FleetWithPolicies


def check(
    files: tuple[str, ...], repo: Path, rev: str | None, base: str | None, *, staged: bool, touched: bool
) -> "tuple[Sequence[Finding], int] | None":
    """Return the findings of the fleet, or those about `files` or touched files, and the number of its objects; None if
    the next commit touches no file of the fleet."""
    names = named_paths(files, repo, rev, anything=bool(rev) or staged)
    with working("checking the fleet"):
        looked_at = next_commit(repo) if touched else None
        if looked_at is not None:
            names.update(change.path for change in looked_at.changes)
            if not any(map(is_read, names)):
                return None
        if base or rev or (staged and not touched):
            looked_at = None
        elif not touched:
            looked_at = work_tree(repo)
        fleet, count = revision(repo, rev, base, staged=staged) if looked_at is None else looked_at.checked(names)
        if not fleet.partial:  # a partial check has already looked for removed objects
            from muster.rules.registration.removals import removal_findings

            fleet = replace(fleet, findings=(*fleet.findings, *removal_findings(fleet, present())))
        if looked_at is None:  # a partial check of the work tree has done so for its changes
            from muster.rules.checks.references import reference_findings

            fleet = replace(fleet, findings=(*fleet.findings, *reference_findings(fleet)))
        if base:
            from muster.features.validate.derivededits import derived_edits
            from muster.git.repository import open_repository

            edits = derived_edits(open_repository(repo, os.environ), base, rev or "HEAD")
            fleet = replace(fleet, findings=(*fleet.findings, *edits))
    findings = fleet.sorted_findings()
    if touched or (files and "." not in names):
        from muster.features.validate.touched import touched_findings

        findings = touched_findings(fleet, names)
    from muster.rules.checks.waivers import shown

    of_base = _base_findings(repo, base) if base and any(one.code.of_change for one in findings) else None
    return shown(findings, present(), fleet.findings, of_base), count


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

    def checked(self, files: Collection[str]) -> "tuple[FleetWithPolicies, int]":
        """Check what the changes and some files affect; return the fleet, and the number of all objects."""
        from muster.cli.cache import STAGED, WORK_TREE, open_state_of, use_cache
        from muster.run import uncommitted

        use_cache(os.environ)
        if self.head is None:
            return revision(self.repository.git.directory, None, None, staged=True)
        state = open_state_of(os.environ, self.repository, STAGED if self.heard is None else WORK_TREE)
        question = uncommitted.check_question(self.repository, self.head, self.changes, self.heard)
        return uncommitted.check_uncommitted(question, state, files)


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
    from muster.git.agentrefs import local_agent_refs
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


def revision(repo: Path, rev: str | None, base: str | None, *, staged: bool) -> "tuple[FleetWithPolicies, int]":
    """Check the whole fleet at `rev`, staged, or in the work tree; return it and the number of objects."""
    from muster.cli.reading import base_snapshot, snapshot_of
    from muster.run.checking import check_snapshot

    snapshot = snapshot_of(repo, rev, worktree=not (rev or staged), staged=staged)
    fleet = check_snapshot(snapshot, base_snapshot(repo, base, default=f"{rev}~1" if rev else "HEAD"))
    return fleet, len(fleet.objects)
