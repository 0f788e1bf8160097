"""`muster describe`: an object, with why beside what muster decided."""

import sys

import click

from muster.commands import options
from muster.commands.outcome import report, told_of


@click.command()
@click.argument("target", metavar="KIND/NAME")
@options.source_options
def command(target: str, source: options.Source) -> int:
    """Print an object as YAML; beside each field that was decided the rule that did it, and until when it holds."""
    from muster.answers.described import described

    is_named = options.one_object(target)
    _, run = source.evaluated(options.wanted(target))
    id_ = options.the_one(run, target, is_named)
    sys.stdout.write(described(run, id_))
    return report([one for one in told_of(run) if one.object == id_])
