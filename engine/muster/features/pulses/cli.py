"""`muster pulses`: show the pulses that are due, or stream them to adapters that pull."""

import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event

import click

from muster.cli import options
from muster.cli.outcome import report, reported_findings
from muster.cli.stopping import until_stopped
from muster.data.tree import Tree, dig


@click.command()
@options.source_options
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only pulses for objects of this kind.")
@click.option("--follow", is_flag=True, help="Print pulses as they become due, until stopped.")
@click.option("--remote", metavar="NAME", help="With --follow: fetch from this remote at an interval.")
@click.option("--interval", type=float, default=30.0, show_default=True, metavar="SECONDS",
              help="With --follow: the longest time between two checks.")  # fmt: skip
@options.output_option("table", "json", "lines")
def command(
    source: options.Source, kinds: tuple[str, ...], follow: bool, remote: str | None, interval: float, output: str
) -> int:
    """Show the CloudEvents that are due at this instant; --follow prints each as a line of JSON when it becomes due.

    A pulse that was published to the fleet's sinks is not due again. With --follow every pulse is printed once,
    whether or not it was published, beginning with those that generations and the age of reports require.
    """
    if interval <= 0:
        raise click.UsageError("--interval must be positive.")
    if follow:
        return _follow(source.repo, remote, timedelta(seconds=interval), kinds)
    from muster.git.pulse_memory import memory_of
    from muster.run.evaluate import evaluate_snapshot

    reading = source.reading()
    run = evaluate_snapshot(reading.snapshot, source.now, memory_of(source.repo, os.environ))
    reading.require_heard(run)
    _show(_of_kinds(run.pulses, kinds), output)
    if output == "table" and run.horizon is not None:
        click.echo(f"next change by time alone: {run.horizon.isoformat().replace('+00:00', 'Z')}", err=True)
    reading.print_age(source.now, err=True)
    return report(reported_findings(run))


def _follow(repo: Path, remote: str | None, interval: timedelta, kinds: tuple[str, ...]) -> int:
    from muster.features.pulses.follow import follow
    from muster.features.pulses.lines import line
    from muster.git.repository import open_repository

    stop = Event()

    def say(event: Tree) -> None:
        if _of_kinds([event], kinds):
            sys.stdout.write(line(event))
            sys.stdout.flush()

    with until_stopped(stop):
        follow(open_repository(repo, os.environ), remote, interval, stop, options.present, say)
    return 0


def _of_kinds(events: Sequence[Tree], kinds: tuple[str, ...]) -> list[Tree]:
    """The events whose subject has one of the kinds; all without kinds."""
    wanted = {kind.casefold() for kind in kinds}
    return [event for event in events if not wanted or event["subject"].partition("/")[0].casefold() in wanted]


def _show(events: list[Tree], output: str) -> None:
    from muster.cli.table import print_table
    from muster.features.pulses.lines import line

    if output == "json":
        from muster.cli.documents import json_text

        sys.stdout.write(json_text(events))
    elif output == "lines":
        sys.stdout.write("".join(line(event) for event in events))
    elif events:
        rows = [
            [event["subject"], _text(event, "generation"), _text(event, "reason"), event["type"]] for event in events
        ]
        print_table(["OBJECT", "GENERATION", "REASON", "TYPE"], rows)
    else:
        click.echo("no pulse is due", err=True)


def _text(event: Tree, name: str) -> str:
    value = dig(event, "data", name)
    return "-" if value is None else str(value)
