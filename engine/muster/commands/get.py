"""`muster get`: the fleet now."""

import sys
from datetime import datetime
from pathlib import Path

import click

from muster.commands import options
from muster.commands.outcome import report, told_of
from muster.commands.reading import evaluated


@click.command()
@click.argument("target", metavar="[KIND[/NAME]]", default="clusters")
@options.repo_option
@options.snapshot_options
@options.offline_option
@options.now_option
@options.output_option("table", "yaml", "json")
def command(target: str, repo: Path, rev: str | None, worktree: bool, offline: bool, now: datetime, output: str) -> int:
    """Show objects as they are at this instant: inputs and what follows from them."""
    from muster.model.kinds import BY_NAME
    from muster.output.columns import rows
    from muster.output.documents import json_text, yaml_stream
    from muster.output.held import held_lines
    from muster.output.table import print_table

    needed = options.wanted(target)
    reading, run = evaluated(repo, rev, now, worktree=worktree, offline=offline, wanted=needed)
    objects = options.selected(run, target)
    if output == "json":
        sys.stdout.write(json_text(objects))
    elif output == "yaml":
        sys.stdout.write(yaml_stream(objects))
    else:
        for index, kind in enumerate(sorted({body["kind"] for body in objects}, key=lambda k: k != "ManagedCluster")):
            bodies = [body for body in objects if body["kind"] == kind]
            if index:
                sys.stdout.write("\n")
            print_table(*rows(kind, bodies, run.now, namespaced=BY_NAME[kind].namespaced))
        for line in held_lines(run.held, objects):
            click.echo(line)
        if not objects:
            click.echo(f"no {target} here", err=True)
    reading.tell_age(now, err=output != "table")
    return report(told_of(run))
