"""`muster import`: a live hub moves in."""

import os
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.outcome import report
from muster.cli.progress import working
from muster.cli.reading import snapshot_of, worktree_root
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.printable import counted, printable
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.git.errors import RepositoryError

if TYPE_CHECKING:
    from muster.features.importing.importing import Import

_MOST_NAMED = 5
_MOST_STRANGERS = 12
_SECRETS = ("Secret", "v1")


@click.command()
@click.argument(
    "dumps", metavar="DIR|FILE|-...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True)
)
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@click.option(
    "--replace", is_flag=True, help="Write objects anew that an earlier import wrote. Edits to them are lost."
)
@click.option(
    "--without-reports",
    is_flag=True,
    help="Leave out what agents report, for a hub that muster relay --from-hub reads.",
)
@click.option("-v", "--verbose", is_flag=True, help="Name every file that is written.")
@options.output_option("text", "json")
@options.repo_option
def command(
    dumps: tuple[str, ...], repo: Path, dry_run: bool, replace: bool, without_reports: bool, verbose: bool, output: str
) -> int:
    """Import the objects of a live hub from what kubectl get -o yaml (or json) printed.

    A dump is a file, a folder of files, or - for standard input, with any number of documents and lists. What people
    want is written to input files, what agents report beside it, and what the hub decided below derived/, so that no
    clock restarts and no cluster moves. Existing objects stay as they are. Kinds that muster does not read are counted.
    Secrets are never written. Objects that give orders to muster (a Fleet, an Approval, a Waiver) go to a file that
    muster does not read, as a proposal. Nothing is committed.

    \b
    Examples:
      kubectl get managedclusters,placements -A -o yaml | muster import -
      muster import dump/ --dry-run
    """
    from muster.cli.documents import json_text
    from muster.features.importing.importing import dump_files, plan_import, write_import

    if not repo.is_dir():
        raise RepositoryError(f"{repo} is not a directory", "Give the fleet repository with --repo.")
    root = worktree_root(repo)
    if not (root / ".git").exists() and not (root / "fleet.yaml").is_file():
        raise RepositoryError(
            f"there is no work tree of a fleet at {root}, into which files could be written",
            "Make one with muster init, or give it with --repo.",
        )
    with working("reading the dump"):
        findings: list[Finding] = []
        files = list(dump_files(dumps, sys.stdin.buffer, findings))
        done = plan_import(
            root,
            snapshot_of(repo, None, worktree=True),
            files,
            os.environ,
            replacing=replace,
            without_reports=without_reports,
            present=options.present(),
        )
        if not dry_run:
            done = write_import(root, done)
    findings += done.findings
    if output == "json":
        sys.stdout.write(json_text(_tree(done)))
        return report(findings)
    if verbose or dry_run:
        for path in done.paths:
            click.echo(path)
    for line in _lines(done, dry_run=dry_run, relayed=without_reports):
        click.echo(line)
    return report(findings)


def _lines(done: "Import", *, dry_run: bool, relayed: bool) -> list[str]:
    """What happened, in the user's terms, and what comes next."""
    moved = done.moved
    imported, here, proposed, reports = (
        grouped((id_.kind, id_) for id_ in ids) for ids in (moved.imported, moved.here, moved.proposed, moved.reports)
    )
    lines = [f"{kind}: {_names(ids)} {'would be ' if dry_run else ''}imported" for kind, ids in imported.items()]
    lines += [
        f"{kind}: {_names(ids)} here already, left as {'it is' if len(ids) == 1 else 'they are'}"
        for kind, ids in here.items()
    ]
    lines += [f"{kind}: {_names(ids)} left to a relay" for kind, ids in reports.items()]
    lines += [f"{kind}: {number} of no cluster, passed over" for kind, number in sorted(done.dump.unassigned.items())]
    lines += [f"{kind}: {_names(ids)} proposed, see the warning" for kind, ids in proposed.items()]
    if no_times := sorted(done.dump.no_times):
        lines.append(f"not times at which a dump is taken, so they do not count for that: {_times(no_times)}")
    strangers = Counter(done.dump.strangers)
    if secrets := strangers.pop(_SECRETS, 0):
        lines.append(f"Secret: {secrets} passed over: credentials do not belong into a repository")
    if strangers:
        lines.append(f"of kinds that muster does not read, passed over: {_strangers(strangers)}")
    number = len(done.paths)
    if not number:
        return [*lines, "nothing to do"]
    lines.append(f"{counted(number, 'file')} {'would be ' if dry_run else ''}written")
    if not dry_run:
        now = "" if relayed else format_newest(done) or "TIME, the time at which the dump was taken"
        then = f"muster reconcile --now {now}, which decides as of the dump: no clock restarts."
        if relayed:
            then = "muster reconcile, once muster relay --from-hub has reported: no clock restarts."
        lines += ["", "Next: muster validate; git add --all && git commit -m 'Move in'", f"then: {then}"]
    return lines


def format_newest(done: "Import") -> str:
    """The latest moment of the dump, as `--now` takes it."""
    return format_time(done.newest) if done.newest else ""


def _times(moments: list[datetime]) -> str:
    more = len(moments) - _MOST_NAMED
    return ", ".join(map(format_time, moments[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _names(ids: list[ObjectId]) -> str:
    """How many, and which where they are few."""
    if len(ids) > _MOST_NAMED:
        return str(len(ids))
    return ", ".join(f"{id_.namespace}/{id_.name}" if id_.namespace else id_.name for id_ in ids)


def _strangers(counted: Counter[tuple[str, str]]) -> str:
    """The kinds by number, the most frequent first."""
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{number} {printable(kind)} ({printable(version)})" for (kind, version), number in ordered]
    more = len(shown) - _MOST_STRANGERS
    return ", ".join(shown[:_MOST_STRANGERS]) + (f" and {more} more kinds" if more > 0 else "")


def _tree(done: "Import") -> Tree:
    """The same for programs."""
    moved = done.moved
    return {
        "created": sorted(moved.created),
        "replaced": sorted(moved.replaced),
        "imported": [id_._asdict() for id_ in moved.imported],
        "here": [id_._asdict() for id_ in moved.here],
        "proposed": [id_._asdict() for id_ in moved.proposed],
        "leftToRelay": [id_._asdict() for id_ in moved.reports],
        "ofNoCluster": dict(sorted(done.dump.unassigned.items())),
        "passedOver": [
            {"kind": kind, "apiVersion": version, "number": number}
            for (kind, version), number in sorted(done.dump.strangers.items())
        ],
        "newest": format_newest(done) or None,
    }
