"""`muster history`: the transitions of an object."""

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

import click

from muster.cli import completion, options
from muster.cli.progress import working
from muster.data.printable import counted
from muster.data.times import format_time, later


@click.command()
@click.argument("target", metavar="KIND/[NAMESPACE/]NAME", shell_complete=completion.targets)
@click.option("--since", type=options.DurationType(), default="30d", show_default=True, help="How far to look back.")
@options.output_option("text", "json")
@options.repo_option
@options.rev_option
@options.now_option
def command(target: str, repo: Path, rev: str | None, now: datetime, since: timedelta, output: str) -> int:
    """Show the transitions of an object, with commit and time, and how long it was in each state.

    They are read from the git history of derived files. Nothing is evaluated, so a long history is fast, too. Where the
    record of a run is here, the agent's commit follows that the run had last heard of the cluster.

    \b
    Example:
      muster history cluster/prod-eu-1 --since 90d
    """
    from muster.cli.documents import json_text
    from muster.cli.select import object_ids
    from muster.data.kinds import UnknownKind
    from muster.features.history.history import history_document, history_of, history_text
    from muster.git.record.past import evaluated_revision
    from muster.git.repository import open_repository, resolve

    repository = open_repository(repo, os.environ)
    commit = evaluated_revision(repository, resolve(repository, rev or "HEAD"))
    now = options.instant_of_revision(repo, rev, now)
    target = completion.with_namespace(*completion.with_kinds(target))
    with options.usage_errors(UnknownKind):
        ids = object_ids(target)
    start = later(now, -since) or datetime.min.replace(tzinfo=now.tzinfo)
    with working("reading the history"):
        history = history_of(repository, commit, ids, start, now)
    if history is None:
        raise completion.unknown_object(target, f"no commit until {format_time(now)} derives")
    if rev and history.unrecorded:
        click.echo(f"note: what {counted(history.unrecorded, 'run')} heard from agents is not in this clone", err=True)
    if output == "json":
        sys.stdout.write(json_text(history_document(history)))
    else:
        sys.stdout.write(history_text(history))
    return 0
