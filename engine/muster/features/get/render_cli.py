"""`muster render`: the objects as they would be derived, written nowhere."""

import sys

import click

from muster.cli import completion, options
from muster.cli.findings import finding_tree
from muster.cli.outcome import report, told_of
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.rules.checks.waivers import told
from muster.run.run import Run


def run_document(run: Run, objects: list[Tree] | None = None) -> Tree:
    """Return the run's attributes as JSON data; `objects` in place of all of them where given."""
    return {
        "now": format_time(run.now),
        "commit": run.commit,
        "objects": run.objects if objects is None else objects,
        "files": run.files,
        "pulses": run.pulses,
        "held": run.held,
        "findings": [finding_tree(found) for found in told(run.findings, run.now)],
        "horizon": None if run.horizon is None else format_time(run.horizon),
    }


@click.command()
@click.argument("target", metavar="[KIND[/NAME]]", required=False, shell_complete=completion.targets)
@options.source_options
@options.output_option("yaml", "json")
def command(target: str | None, source: options.Source, output: str) -> int:
    """Print objects as assembled, with what would be derived laid over them.

    `-o json` prints everything that the evaluation gave: objects, files, pulses, held, findings and horizon.
    """
    from muster.cli.documents import json_text, yaml_stream

    reading, run = source.evaluated()
    reading.tell_age(source.now, err=True)
    selected = options.selected(run, target)
    if output == "json":
        sys.stdout.write(json_text(run_document(run, selected)))
        return report(told_of(run), quiet=True)
    sys.stdout.write(yaml_stream(selected))
    return report(told_of(run))
