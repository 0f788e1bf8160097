"""`muster forecast`: what happens next without new input."""

import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import click

from muster.cli import options
from muster.cli.progress import working
from muster.cli.reading import open_reading
from muster.data.times import format_time
from muster.data.wildcards import matches
from muster.features.whatif.options import Supposed, supposed_options

#: How far to look ahead unless a person says so: usually, and until all rollouts end.
_USUAL, _LONGEST = timedelta(hours=1), timedelta(days=30)


@click.command()
@click.option(
    "--for",
    "span",
    type=options.DurationType(),
    help="How far to look ahead.  [default: 1h; with --all-well until all rollouts end, at most 30d]",
)
@click.option(
    "--all-well",
    is_flag=True,
    help="Suppose that clusters succeed with what rollouts and sets of works give them, and agents keep renewing.",
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
@options.repo_option
@options.rev_option
@options.offline_option
@options.now_option
@options.state_option
def command(
    repo: Path,
    rev: str | None,
    offline: bool,
    now: datetime,
    state: Path | None,
    span: timedelta | None,
    all_well: bool,
    renew: tuple[str, ...],
    pulses: bool,
    supposed: Supposed,
    output: str,
) -> int:
    """Show what happens next without new input: transitions, effects and what budgets hold, each at its exact time.
    Nothing is written.

    With --lose, all other agents keep renewing. With --all-well, the output ends with the time at which each stage of
    each Rollout finishes: a cluster takes the median of its last times; what has failed, and silent clusters, stay so;
    approvals are given when asked for.

    \b
    Examples:
      muster forecast --for 24h
      muster forecast --lose region=eu
      muster forecast --all-well
    """
    from muster.cli.documents import json_text
    from muster.cli.listening import READER
    from muster.features.forecast.forecast import ForecastAgents, RenewingAgents, forecast, moment_document, moment_text
    from muster.features.forecast.success import all_well_document, all_well_text, suppose_success

    asked, now = options.asked_instant(now), options.instant_of_revision(repo, rev, now)
    with working("reading the fleet"):
        reading = open_reading(repo, rev, worktree=False, freshness=replace(READER, ask=not offline), now=asked)
    start, count, documents = reading.instant(now).now, 0, []
    until = start + (span if span is not None else _LONGEST if all_well else _USUAL)
    with supposed.tried(reading, state) as trial:
        lost = supposed.suppose(trial, start)
        patterns = renew or (("*",) if lost or all_well else ())
        renewing = RenewingAgents.of(trial, patterns, start, lost=lost) if patterns else None
        if renewing is not None and renew:
            names = [obj.id.name for obj in renewing.fleet.clusters()]
            if strange := next(
                (pattern for pattern in renew if not any(matches(pattern, name) for name in names)), None
            ):
                raise click.UsageError(f"--renew: no cluster is called {strange!r}.")
        success = suppose_success(trial, renewing, start, until) if all_well and renewing is not None else None
        agents: ForecastAgents | None = success or renewing
        ends = (lambda: success.forecasts.at_rest) if success is not None and span is None else (lambda: False)
        for moment in forecast(trial, start, until, agents, pulses=pulses, ends=ends):
            count += 1
            if output == "json":
                documents.append(moment_document(moment))
            else:
                sys.stdout.write(moment_text(moment, start))
    if output == "json":
        sys.stdout.write(json_text(documents if success is None else all_well_document(success, documents)))
        return 0
    if not count and (success is None or success.forecasts.shown):
        click.echo(f"Nothing happens until {format_time(until)}.")
    if success is not None:
        sys.stdout.write(("\n" if count else "") + all_well_text(success))
    return 0
