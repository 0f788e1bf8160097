"""`muster render`: the objects as they would be derived, written nowhere."""

import sys

import click

from muster.cli import completion, options
from muster.cli.outcome import report, told_of


@click.command()
@click.argument("target", metavar="[KIND[/NAME]]", required=False, shell_complete=completion.targets)
@options.source_options
@options.output_option("yaml", "json")
def command(target: str | None, source: options.Source, output: str) -> int:
    """Print objects as assembled, with what would be derived laid over them.

    `-o json` prints everything that the evaluation gave: objects, files, pulses, held, findings and horizon.
    """
    from muster.cli.documents import json_text, yaml_stream
    from muster.features.get.document import run_document

    reading, run = source.evaluated()
    reading.tell_age(source.now, err=True)
    selected = options.selected(run, target)
    if output == "json":
        sys.stdout.write(json_text(run_document(run, selected)))
        return report(told_of(run), quiet=True)
    sys.stdout.write(yaml_stream(selected))
    return report(told_of(run))
