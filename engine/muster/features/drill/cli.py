"""`muster drill`: rehearse the Drills of a fleet."""

import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.outcome import report
from muster.cli.progress import working
from muster.cli.reading import FleetReading
from muster.data.codes import Severity
from muster.data.kinds import DRILL, of_kinds
from muster.data.names import did_you_mean
from muster.data.times import format_time

if TYPE_CHECKING:
    from muster.data.finding import Finding
    from muster.features.drill.drill import DrillResult
    from muster.run.shards.workers import Workers


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@options.output_option("text", "json")
@options.source_options
@options.workers_option
def command(names: tuple[str, ...], source: options.Source, workers: "Workers", output: str) -> int:
    """Rehearse the loss of failure domains, as Drills describe it: agents of these clusters stop, all others keep
    renewing, and nothing else is reported. Show as a matrix which states that a Drill forbids come about, for which
    object, from when and for how long. Nothing is written.

    Each cell is what real runs at these instants decide, with budgets, tolerations, freezes and rollouts in flight.
    Without names, all Drills. The exit code is 1 if a Drill fails. A rehearsal that was stopped goes on with the
    --now of the first one.

    \b
    Examples:
      muster drill
      muster drill regions --worktree
    """
    from muster.cli.documents import json_text
    from muster.features.drill.text import print_result, result_document

    now = source.now
    try:
        with working("reading the fleet"):
            results, unsound = drilled(source.reading(), now, names, workers.count)
    except KeyboardInterrupt:
        click.echo(f"stopped; muster drill --now {format_time(now)} goes on", err=True)
        raise
    if output == "json":
        sys.stdout.write(json_text([result_document(result) for result in results]))
    else:
        for number, result in enumerate(results):
            sys.stdout.write("\n" if number else "")
            print_result(result)
    return report([*unsound, *(finding for result in results for finding in result.findings)])


def drilled(
    reading: FleetReading, now: datetime, names: tuple[str, ...], workers: int | None = None
) -> "tuple[list[DrillResult], list[Finding]]":
    """Rehearse the named Drills of what is read; all without names. Return the results, and what is wrong with those
    that cannot be rehearsed. `workers`: None for one per core. click.UsageError for an unknown name. RepositoryError if
    agents are missing here: they would never fall silent."""
    from muster.cli.cache import usable_cache
    from muster.features.drill.drill import run_drills
    from muster.features.drill.rehearsing import rehearsed
    from muster.rules.drills.policy import Drill
    from muster.run.checking import check_snapshot
    from muster.run.shards.workers import cores

    with rehearsed(reading) as trial:
        fleet = check_snapshot(trial.snapshot)
        declared = sorted(of_kinds({*fleet.objects, *fleet.broken}, DRILL))
        present = [id_.name for id_ in declared]
        if strange := next((name for name in names if name not in present), None):
            raise click.UsageError(f"no Drill is called {strange!r}; {did_you_mean(strange, present)}".rstrip("; "))
        wanted = {id_ for id_ in declared if not names or id_.name in names}
        errors = (finding for finding in fleet.findings if finding.severity is Severity.ERROR)
        unsound = [finding for finding in errors if finding.object in wanted]
        chosen = [drill for drill in fleet.compiled.of(Drill) if drill.id in wanted]
        start = reading.instant(now).now
        cache, count = usable_cache(os.environ), workers or cores()
        return run_drills(trial, fleet, chosen, start, cache=cache, workers=count), unsound
