"""`muster validate`: check the files, staged or not, that muster would evaluate."""

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.outcome import report
from muster.cli.progress import working
from muster.git.errors import RepositoryError

if TYPE_CHECKING:
    from muster.git.agentrefs import AgentRefs
    from muster.git.changes import PathChange
    from muster.git.repository import Repository
    from muster.rules.policies.in_force import FleetWithPolicies


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@options.repo_option
@click.option("--rev", metavar="REV", help="Validate this revision.  [default: the files as they are]")
@click.option("--staged", is_flag=True, help="Validate the staged files: the content of the next commit.")
@click.option("--touched", is_flag=True, help="With --staged: show only findings that the next commit causes.")
@click.option("--base", metavar="REV",
              help="The revision to compare with.  [default: HEAD, or the parent of --rev]")  # fmt: skip
@options.report_option
def command(
    files: tuple[str, ...], repo: Path, rev: str | None, staged: bool, touched: bool, base: str | None, output: str
) -> int:
    """Check syntax, schema, assembly, references, expressions and admission policies.

    With FILES, only findings in these files or folders, about objects that have a part in them, and about policies that
    they change are shown. With --touched these are the files that the next commit writes, moves or deletes, as in the
    pre-commit hook.
    """
    if staged and rev:
        raise click.UsageError("--staged and --rev exclude each other.")
    if touched and not staged:
        raise click.UsageError("--touched goes with --staged.")
    names = named_paths(files, repo, rev, anything=bool(rev) or staged)
    with working("checking the fleet"):
        looked_at = next_commit(repo) if touched else None
        if looked_at is not None:
            names.update(change.path for change in looked_at.changes)
            if not any(map(is_read, names)):
                return 0
        if base or rev or (staged and not touched):
            looked_at = None
        elif not touched:
            looked_at = work_tree(repo)
        fleet, count = revision(repo, rev, base, staged=staged) if looked_at is None else looked_at.checked(names)
        if not fleet.partial:  # a partial check has already looked for removed objects
            from muster.rules.registration.removals import removal_findings

            fleet = replace(fleet, findings=(*fleet.findings, *removal_findings(fleet, options.present())))
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

    findings = shown(findings, options.present(), fleet.findings)
    if output != "text":
        from muster.cli.reports import REPORTS

        sys.stdout.write(REPORTS[output](findings))
        return report(findings, quiet=True)
    if not findings:
        click.echo(f"{count} object{'' if count == 1 else 's'}, no findings")
    return report(findings, err=False)


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
        asked = uncommitted.check_question(self.repository, self.head, self.changes, self.heard)
        return uncommitted.check_uncommitted(asked, state, files)


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


def is_read(path: str) -> bool:
    """Can the content of a path matter to the fleet?"""
    from muster.git.paths import IGNORE_FILE, is_data

    return is_data(os.fsencode(path)) or path == IGNORE_FILE


def named_paths(files: tuple[str, ...], repo: Path, rev: str | None, *, anything: bool) -> set[str]:
    """Return the named files as paths from the repository's root; for a folder all present and committed files below
    it; `.` for the root. UsageError for a path that exists neither in the work tree nor in the commit, unless
    `anything`: CI names deleted files."""
    names = set(relative(files, repo))
    if not names or "." in names:
        return names
    from muster.cli.reading import worktree_root

    root = worktree_root(repo)
    folders = {name for name in names if anything or not (root / name).is_file()}
    committed = _committed(repo, rev) if folders else ()
    for folder in sorted(folders):
        inside = root / folder
        found = {path for path in committed if path.startswith(f"{folder}/")}
        if inside.is_dir() and not inside.is_symlink():
            found.update(path.relative_to(root).as_posix() for path in inside.rglob("*") if is_read(path.name))
        names.update(found)
        if not (anything or found or folder in committed or os.path.lexists(inside)):
            from muster.data.names import did_you_mean

            beside = [path.name for path in inside.parent.glob("*")]
            raise click.UsageError(f"there is no {folder!r}. {did_you_mean(inside.name, beside)}".strip())
    return names


def _committed(repo: Path, rev: str | None) -> Collection[str]:
    """The paths in a revision, by default HEAD; none without a repository or commit."""
    from muster.cli.reading import own_repository
    from muster.git.paths import decode
    from muster.git.repository import open_repository, resolve
    from muster.git.trees import list_tree

    try:
        repository = open_repository(repo, os.environ) if rev else own_repository(repo)
        if repository is None:
            return ()
        return {decode(entry.path)[0] for entry in list_tree(repository, resolve(repository, rev or "HEAD"))}
    except RepositoryError:
        return ()  # reading the fleet reports the error


def relative(files: tuple[str, ...], repo: Path) -> list[str]:
    """Return the files as paths from the repository's root; `.` for the root itself."""
    if not files:
        return []
    from muster.cli.reading import worktree_root

    root = worktree_root(repo).resolve()
    found = []
    for name in files:
        path = Path(os.path.abspath(name))  # noqa: PTH100 - `..` is resolved, and links are not
        # The file itself may be a symbolic link: only the folder that holds it is resolved.
        whole = path.resolve() if path.is_dir() and not path.is_symlink() else path.parent.resolve() / path.name
        found.append(whole.relative_to(root).as_posix() if whole.is_relative_to(root) else Path(name).as_posix())
    return found
