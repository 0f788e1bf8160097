"""`muster describe`: an object for people, or as YAML with why beside what muster decided."""

import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.outcome import report, told_of
from muster.data.times import later

if TYPE_CHECKING:
    from muster.cli.reading import FleetReading
    from muster.data.ids import ObjectId
    from muster.features.history.history import ObjectHistory

#: How far back events are looked for.
_RECENT = timedelta(days=30)


@click.command()
@click.argument("target", metavar="KIND[/NAME]", shell_complete=completion.targets)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.names)
@options.source_options
@options.output_option("text", "yaml")
def command(target: str, names: Sequence[str], source: options.Source, output: str) -> int:
    """Show everything known about an object: its spec, conditions with their age, taints, leases, what is held, what is
    decided by which rule and until when, and what became of it in the last 30 days.

    -o yaml prints the whole object; beside each field that was decided stands the rule that did it.
    """
    from muster.features.explain.description import described, description

    if names and "/" in target:
        raise click.UsageError(f"{target} names an object already.")
    targets = [f"{target}/{name}" for name in names] or [target]
    named = [(one, options.one_object(one)) for one in targets]
    reading, run = source.evaluated(options.wanted(*targets))
    ids = [options.the_one(run, one, is_named) for one, is_named in named]
    with closing(reading.snapshot):  # why a Placement chooses keeps the run alive, and what it reads through
        for number, id_ in enumerate(ids):
            if output == "yaml":
                sys.stdout.write(("---\n" if number else "") + described(run, id_))
            else:
                sys.stdout.write(("\n" if number else "") + description(run, id_, _past(reading, id_, source)))
    return report([one for one in told_of(run) if one.object in ids])


def _past(reading: "FleetReading", id_: "ObjectId", source: options.Source) -> "ObjectHistory | None":
    """What became of it; None where there is no history."""
    from muster.features.history.history import history

    if reading.repository is None or reading.base is None:
        return None
    since = later(source.now, -_RECENT)
    return None if since is None else history(reading.repository, reading.base, id_, since, source.now)
