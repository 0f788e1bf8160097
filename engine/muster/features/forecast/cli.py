"""`muster forecast`: what happens next without new input."""

import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import click

from muster.cli import options
from muster.cli.progress import working
from muster.cli.reading import open_reading
from muster.features.whatif.options import Supposed, supposed_options


@click.command()
@options.repo_option
@options.rev_option
@options.offline_option
@options.now_option
@options.state_option
@click.option(
    "--for", "span", type=options.DurationType(), default="1h", show_default=True, help="How far to look ahead."
)
@click.option(
    "--renew",
    multiple=True,
    metavar="PATTERN",
    help="Agents of clusters whose names match keep renewing their leases; silent ones stay silent. Repeatable.",
)
@click.option("--pulses", is_flag=True, help="Show pulses too; no adapter answers them.")
@supposed_options
@options.output_option("text", "json")
def command(
    repo: Path, rev: str | None, offline: bool, now: datetime, state: Path | None, span: timedelta,
    renew: tuple[str, ...], pulses: bool, supposed: Supposed, output: str,
) -> int:  # fmt: skip
    """Show what happens next without new input: transitions, effects and what budgets hold, each at its exact instant.
    Nothing is written.

    With --lose all other agents keep renewing.
    """
    from muster.cli.documents import json_text
    from muster.cli.listening import READER
    from muster.features.forecast.forecast import RenewingAgents, forecast, moment_document, moment_text

    with working("reading the fleet"):
        reading = open_reading(repo, rev, worktree=False, freshness=replace(READER, ask=not offline))
    start, count, documents = reading.instant(now).now, 0, []
    with supposed.tried(reading, state) as trial:
        lost = supposed.suppose(trial, start)
        patterns = renew or (("*",) if lost else ())
        agents = RenewingAgents.of(trial, patterns, start, lost=lost) if patterns else None
        for moment in forecast(trial, start, start + span, agents, pulses=pulses):
            count += 1
            if output == "json":
                documents.append(moment_document(moment))
            else:
                sys.stdout.write(moment_text(moment, start))
    if output == "json":
        sys.stdout.write(json_text(documents))
    elif not count:
        click.echo("Nothing happens.")
    return 0
