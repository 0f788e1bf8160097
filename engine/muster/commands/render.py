"""`muster render`: the objects as they would be derived, written nowhere."""

import sys
from datetime import datetime
from pathlib import Path

import click

from muster.commands import options
from muster.commands.outcome import report, told_of
from muster.commands.reading import evaluated


@click.command()
@click.argument("target", metavar="[KIND[/NAME]]", required=False)
@options.repo_option
@options.snapshot_options
@options.offline_option
@options.now_option
@options.output_option("yaml", "json")
def command(
    target: str | None, repo: Path, rev: str | None, worktree: bool, offline: bool, now: datetime, output: str
) -> int:
    """Print objects as assembled, with what would be derived laid over them.

    `-o json` prints everything that the evaluation gave: objects, files, pulses, held, findings and horizon.
    """
    from muster.answers.document import run_document
    from muster.output.documents import json_text, yaml_stream

    reading, run = evaluated(repo, rev, now, worktree=worktree, offline=offline)
    reading.tell_age(now, err=True)
    selected = options.selected(run, target)
    if output == "json":
        sys.stdout.write(json_text(run_document(run, selected)))
        return report(told_of(run), quiet=True)
    sys.stdout.write(yaml_stream(selected))
    return report(told_of(run))
