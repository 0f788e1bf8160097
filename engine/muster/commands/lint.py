"""`muster lint`: what is sound, and decides something else than its author is likely to think."""

import sys
from pathlib import Path

import click

from muster.commands import options
from muster.commands.progress import working
from muster.commands.reading import snapshot_of


@click.command()
@options.repo_option
@click.option("--rev", metavar="REV", help="Look at this revision.  [default: the files as they are]")
@options.report_option
def command(repo: Path, rev: str | None, output: str) -> int:
    """Look for policies that speak of nothing, rules that are never asked, Remedies that wait for what nobody says, and
    budgets that hold nothing.

    What is wrong is for `muster validate` to say. Exit code 1: something was found.
    """
    from muster.check.advice import advice
    from muster.engine.checking import check_snapshot
    from muster.model.finding import Finding
    from muster.output.findings import findings_text, tally
    from muster.output.reports import REPORTS

    with working("looking at the fleet"):
        found = sorted(set(advice(check_snapshot(snapshot_of(repo, rev, worktree=rev is None)))), key=Finding.sort_key)
    if output != "text":
        sys.stdout.write(REPORTS[output](found))
    elif found:
        sys.stdout.write(f"{findings_text(found)}\n{tally(found)}\n")
    else:
        click.echo("nothing to say")
    return int(bool(found))
