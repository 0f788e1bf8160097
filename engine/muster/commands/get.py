"""`muster get`: the fleet now, by the habits of `kubectl get`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from muster.commands import options
from muster.commands.outcome import report, told_of
from muster.model.tree import Tree, mapping_at

if TYPE_CHECKING:
    from muster.engine.run import Run


@click.command()
@click.argument("target", metavar="[KIND[/NAME]]", default="clusters")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@options.source_options
@click.option("-n", "--namespace", metavar="NAME", help="Only what lies in this namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces, as without -n.")
@click.option("-l", "--selector", metavar="LABELS", help="Only what has these labels, as in 'region=eu,tier!=test'.")
@options.output_option("table", "wide", "name", "yaml", "json")
def command(
    target: str, names: Sequence[str], source: options.Source, namespace: str | None, all_namespaces: bool,
    selector: str | None, output: str,
) -> int:  # fmt: skip
    """Show objects as they are at this instant: inputs and what follows from them.

    On a terminal a table has the columns that there is room for, with -o wide all of them.
    """
    from muster.output.documents import json_text, yaml_stream

    if namespace and all_namespaces:
        raise click.UsageError("-n names one namespace, -A all of them.")
    if names and "/" in target:
        raise click.UsageError(f"{target} names an object already.")
    targets = [f"{target}/{name}" for name in names] or [target]
    reading, run = source.evaluated(options.wanted(*targets))
    matches = _selector(selector)
    objects = [
        body for one in targets for body in options.selected(run, one)
        if not namespace or mapping_at(body, "metadata").get("namespace") == namespace
        if matches(mapping_at(body, "metadata", "labels"))
    ]  # fmt: skip
    if output == "json":
        sys.stdout.write(json_text(objects))
    elif output == "yaml":
        sys.stdout.write(yaml_stream(objects))
    elif output == "name":
        sys.stdout.writelines(f"{_name(body)}\n" for body in objects)
    else:
        _print_tables(run, objects, wide=output == "wide")
        if not objects:
            click.echo(f"no {', '.join(targets)} here", err=True)
    reading.tell_age(source.now, err=output not in ("table", "wide"))
    return report(told_of(run))


def _print_tables(run: "Run", objects: Sequence[Tree], *, wide: bool) -> None:
    """A table for each kind, clusters first, and what is held on any of it."""
    from muster.model.kinds import BY_NAME
    from muster.output.columns import rows
    from muster.output.held import held_lines
    from muster.output.table import print_table

    for index, kind in enumerate(sorted({body["kind"] for body in objects}, key=lambda k: k != "ManagedCluster")):
        bodies = [body for body in objects if body["kind"] == kind]
        if index:
            sys.stdout.write("\n")
        print_table(*rows(kind, bodies, run.now, namespaced=BY_NAME[kind].namespaced), wide=wide)
    for line in held_lines(run.held, objects):
        click.echo(line)


def _selector(text: str | None) -> Callable[[Mapping[str, Tree]], bool]:
    """Return what tells by its labels whether an object is meant. click.UsageError for what is no selector."""
    from muster.policy.selectors import LabelSelector

    try:
        selector = LabelSelector() if text is None else LabelSelector.written(text)
    except ValueError as error:
        raise click.UsageError(f"-l: {error}") from error
    return lambda labels: selector.matches({name: value for name, value in labels.items() if isinstance(value, str)})


def _name(body: Tree) -> str:
    """`managedcluster/prod-eu-1`, which every verb takes; with its namespace where it has one."""
    metadata = body["metadata"]
    return "/".join(filter(None, (body["kind"].casefold(), metadata.get("namespace"), metadata["name"])))
