"""`muster validate`: is what is here (or staged) something that muster can decide on?"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.commands import options
from muster.commands.outcome import report
from muster.commands.progress import working
from muster.commands.reading import base_of, snapshot_of

if TYPE_CHECKING:
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
    from muster.answers.touched import touched_findings
    from muster.decide.removals import removal_findings
    from muster.engine.evaluate import check_snapshot
    from muster.output.documents import json_text
    from muster.output.findings import finding_tree

    if staged and rev:
        raise click.UsageError("--staged and --rev exclude each other.")
    if touched and not staged:
        raise click.UsageError("--touched goes with --staged.")
    names = {*relative(files, repo), *(staged_files(repo) if touched else ())}
    if touched and not any(map(is_read, names)):
        return 0
    with working("checking the fleet"):
        if touched and not base:
            fleet, count = next_commit(repo)
        else:
            snapshot = snapshot_of(repo, rev, worktree=not (rev or staged), staged=staged)
            fleet = check_snapshot(snapshot, base_of(repo, base, default=f"{rev}~1" if rev else "HEAD"))
            count = len(fleet.objects)
        if not fleet.partial:  # of a part it has been asked whether anything is gone
            fleet = replace(fleet, findings=(*fleet.findings, *removal_findings(fleet, options.present())))
    findings = touched_findings(fleet, names) if files or touched else fleet.sorted_findings()
    if output == "json":
        sys.stdout.write(json_text([finding_tree(found) for found in findings]))
        return report(findings, quiet=True)
    code = report(findings)
    if not findings:
        click.echo(f"{count} object{'' if count == 1 else 's'}, no findings", err=True)
    return code


def next_commit(repo: Path) -> "tuple[Ruled, int]":
    """What the next commit holds, checked as far as what it touches matters to; and how many objects that are."""
    from muster.commands.disposable import STAGED, open_state_of, use_cache
    from muster.engine.staged import staged_fleet
    from muster.gitio.repository import open_repository

    use_cache(os.environ)
    repository = open_repository(repo, os.environ)
    return staged_fleet(repository, open_state_of(os.environ, repository, STAGED))


def staged_files(repo: Path) -> tuple[str, ...]:
    """Return the paths that the next commit changes."""
    from muster.gitio.index import staged_paths
    from muster.gitio.repository import open_repository

    return staged_paths(open_repository(repo, os.environ))


def is_read(path: str) -> bool:
    """Tell whether what a path holds, or held, matters to the fleet."""
    from muster.gitio.paths import IGNORE_FILE, SUFFIXES

    return path.endswith(SUFFIXES) or path == IGNORE_FILE


def relative(files: tuple[str, ...], repo: Path) -> list[str]:
    """Return the files as paths from the repository's root, which is how findings name them."""
    from muster.commands.reading import worktree_root

    root = worktree_root(repo).resolve()
    found = []
    for name in files:
        path = Path(name)
        # The file itself may be a symbolic link: only the folder that holds it is resolved.
        whole = (path if path.is_absolute() else Path.cwd() / path).parent.resolve() / path.name
        found.append(whole.relative_to(root).as_posix() if whole.is_relative_to(root) else name)
    return found
