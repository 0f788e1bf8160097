"""`muster validate`: is what is here (or staged) something that muster can decide on?"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.commands import options
from muster.commands.outcome import report
from muster.commands.progress import working

if TYPE_CHECKING:
    from muster.gitio.changes import PathChange
    from muster.gitio.repository import Repository
    from muster.policy.ruled import Ruled


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@options.repo_option
@click.option("--rev", metavar="REV", help="Validate this revision.  [default: the files as they are]")
@click.option("--staged", is_flag=True, help="Validate what is staged: what the next commit would hold.")
@click.option("--touched", is_flag=True, help="With --staged: show only findings that the next commit answers for.")
@click.option("--base", metavar="REV",
              help="What admission policies compare with.  [default: HEAD, or the parent of --rev]")  # fmt: skip
@options.output_option("text", "json")
def command(
    files: tuple[str, ...], repo: Path, rev: str | None, staged: bool, touched: bool, base: str | None, output: str
) -> int:
    """Check syntax, schema, assembly, references, expressions and admission policies.

    With FILES, only findings in these files, in objects of which they hold a part, and in policies that they
    touch are shown. With --touched these are the files that the next commit writes, moves or deletes: what the
    pre-commit hook asks for.
    """
    if staged and rev:
        raise click.UsageError("--staged and --rev exclude each other.")
    if touched and not staged:
        raise click.UsageError("--touched goes with --staged.")
    names = set(relative(files, repo))
    with working("checking the fleet"):
        if touched:
            next_commit = NextCommit.of(repo)
            names |= next_commit.paths
            if not any(map(is_read, names)):
                return 0
        if touched and not base:
            fleet, count = next_commit.checked()
        else:
            fleet = revision(repo, rev, base, staged=staged)
            count = len(fleet.objects)
        if not fleet.partial:  # of a part it has been asked whether anything is gone
            from muster.decide.removals import removal_findings

            fleet = replace(fleet, findings=(*fleet.findings, *removal_findings(fleet, options.present())))
    findings = fleet.sorted_findings()
    if files or touched:
        from muster.answers.touched import touched_findings

        findings = touched_findings(fleet, names)
    if output == "json":
        from muster.output.documents import json_text
        from muster.output.findings import finding_tree

        sys.stdout.write(json_text([finding_tree(found) for found in findings]))
        return report(findings, quiet=True)
    code = report(findings)
    if not findings:
        click.echo(f"{count} object{'' if count == 1 else 's'}, no findings", err=True)
    return code


@dataclass(frozen=True, slots=True)
class NextCommit:
    """What is staged: what it changes of the commit on which it is built, which is None for the first."""

    repository: "Repository"
    head: str | None
    changes: "Sequence[PathChange]"

    @classmethod
    def of(cls, repo: Path) -> "NextCommit":
        """What is staged in the repository that `repo` lies in."""
        from muster.gitio.changes import staged_changes
        from muster.gitio.repository import open_repository

        repository = open_repository(repo, os.environ)
        head = repository.git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return cls(repository, head, staged_changes(repository, head))

    @property
    def paths(self) -> frozenset[str]:
        """The paths that it writes, moves or deletes."""
        return frozenset(change.path for change in self.changes)

    def checked(self) -> "tuple[Ruled, int]":
        """Check it as far as what it changes matters to, and return how many objects there are in all."""
        from muster.commands.disposable import STAGED, open_state_of, use_cache
        from muster.engine.staged import staged_fleet

        use_cache(os.environ)
        state = open_state_of(os.environ, self.repository, STAGED)
        return staged_fleet(self.repository, self.head, self.changes, state)


def revision(repo: Path, rev: str | None, base: str | None, *, staged: bool) -> "Ruled":
    """The whole fleet, checked, as `--rev` and `--staged` name it: the work tree without any."""
    from muster.commands.reading import base_of, snapshot_of
    from muster.engine.checking import check_snapshot

    snapshot = snapshot_of(repo, rev, worktree=not (rev or staged), staged=staged)
    return check_snapshot(snapshot, base_of(repo, base, default=f"{rev}~1" if rev else "HEAD"))


def is_read(path: str) -> bool:
    """Tell whether what a path holds, or held, matters to the fleet."""
    from muster.gitio.paths import IGNORE_FILE, SUFFIXES

    return path.endswith(SUFFIXES) or path == IGNORE_FILE


def relative(files: tuple[str, ...], repo: Path) -> list[str]:
    """Return the files as paths from the repository's root, which is how findings name them."""
    if not files:
        return []
    from muster.commands.reading import worktree_root

    root = worktree_root(repo).resolve()
    found = []
    for name in files:
        path = Path(name)
        # The file itself may be a symbolic link: only the folder that holds it is resolved.
        whole = (path if path.is_absolute() else Path.cwd() / path).parent.resolve() / path.name
        found.append(whole.relative_to(root).as_posix() if whole.is_relative_to(root) else name)
    return found
