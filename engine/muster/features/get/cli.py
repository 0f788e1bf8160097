"""`muster get`: the fleet now, by the habits of `kubectl get`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.outcome import report, told_of
from muster.data.tree import Tree, mapping_at

if TYPE_CHECKING:
    from muster.features.get.listing import ListingFormat
    from muster.run.run import Run


@click.command()
@click.argument("target", metavar="[KIND[/NAME]]", default="clusters", shell_complete=completion.targets)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.names)
@options.source_options
@click.option(
    "-n", "--namespace", metavar="NAME", shell_complete=completion.namespaces, help="Only what lies in this namespace."
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces, as without -n.")
@click.option("-l", "--selector", metavar="LABELS", help="Only what has these labels, as in 'region=eu,tier!=test'.")
@click.option("-w", "--watch", is_flag=True, help="Go on with what changes, until stopped.")
@click.option("--output-watch-events", "events", is_flag=True, help="With -w: say what came, changed and went.")
@click.option("--remote", metavar="NAME", help="With -w: follow the branch of this remote.")
@click.option("--interval", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True,
              metavar="SECONDS", help="With --remote: how often to ask it.")  # fmt: skip
@options.output_option("table", "wide", "name", "yaml", "json", templates=True)
def command(
    target: str, names: Sequence[str], source: options.Source, namespace: str | None, all_namespaces: bool,
    selector: str | None, watch: bool, events: bool, remote: str | None, interval: float, output: str,
) -> int:  # fmt: skip
    """Show objects as they are at this instant: inputs and what follows from them.

    On a terminal a table has the columns that there is room for, with -o wide all of them. A template is one of
    kubectl's: -o jsonpath='{.metadata.name}' of one object, '{.items[*].metadata.name}' of several.

    With -w what changes is printed as commits come to the branch, agents speak, and time alone changes something.
    """
    from muster.features.get.jsonpath.template import BadTemplate
    from muster.features.get.listing import held_lines

    if namespace and all_namespaces:
        raise click.UsageError("-n names one namespace, -A all of them.")
    if names and "/" in target:
        raise click.UsageError(f"{target} names an object already.")
    targets = [f"{target}/{name}" for name in names] or [target]
    asked = ObjectQuery(targets, namespace, _selector(selector))
    listing = _listing(output, single=len(targets) == 1 and "/" in targets[0])
    if watch:
        return _follow(asked, listing, source, remote, interval, events=events)
    reading, run = source.evaluated(options.wanted(*targets))
    objects = asked.of(run)
    try:
        listing.print(objects, run.now)
    except BadTemplate as error:
        raise click.UsageError(f"-o jsonpath: {error}") from error
    if listing.is_table:
        for line in held_lines(run.held, objects):
            click.echo(line)
        if not objects:
            click.echo(f"no {', '.join(targets)} here", err=True)
    reading.tell_age(source.now, err=not listing.is_table)
    return report(told_of(run))


def _follow(
    asked: "ObjectQuery",
    listing: "ListingFormat",
    source: options.Source,
    remote: str | None,
    interval: float,
    *,
    events: bool,
) -> int:
    from muster.features.get.following import Followed, follow
    from muster.features.get.jsonpath.template import BadTemplate
    from muster.features.get.listing import Following

    if source.rev or source.worktree:
        raise click.UsageError("-w follows the branch that is checked out: not with --rev or --worktree.")
    given = click.get_current_context().get_parameter_source("now")
    still = given is not click.core.ParameterSource.DEFAULT
    followed = Followed(source, options.wanted(*asked.targets), remote, timedelta(seconds=interval), still)
    shown = Following(listing, events=events)
    try:
        follow(followed, lambda run: shown.tell(asked.of(run, named=not shown.begun), run.now))
    except BadTemplate as error:
        raise click.UsageError(f"-o jsonpath: {error}") from error
    return 0


@dataclass(frozen=True, slots=True)
class ObjectQuery:
    """Which objects are asked for."""

    targets: Sequence[str]
    namespace: str | None
    matches: Callable[[Mapping[str, Tree]], bool]

    def of(self, run: "Run", *, named: bool = True) -> list[Tree]:
        """Those of a run. click.UsageError where one is named that there is not, unless that does not matter."""
        from muster.cli.select import select

        found = options.selected if named else select
        return [
            body for target in self.targets for body in found(run, target)
            if not self.namespace or mapping_at(body, "metadata").get("namespace") == self.namespace
            if self.matches(mapping_at(body, "metadata", "labels"))
        ]  # fmt: skip


def _listing(output: str, *, single: bool) -> "ListingFormat":
    """In which form objects are printed. click.UsageError for a template that is none."""
    from muster.features.get.jsonpath.template import BadTemplate, parse
    from muster.features.get.listing import ListingFormat

    if not output.startswith(options.JSONPATH):
        return ListingFormat(output)
    try:
        return ListingFormat("jsonpath", parse(output.removeprefix(options.JSONPATH)), single)
    except BadTemplate as error:
        raise click.UsageError(f"-o jsonpath: {error}") from error


def _selector(text: str | None) -> Callable[[Mapping[str, Tree]], bool]:
    """Return what tells by its labels whether an object is meant. click.UsageError for what is no selector."""
    from muster.rules.policies.selectors import LabelSelector

    try:
        selector = LabelSelector() if text is None else LabelSelector.written(text)
    except ValueError as error:
        raise click.UsageError(f"-l: {error}") from error
    return lambda labels: selector.matches({name: value for name, value in labels.items() if isinstance(value, str)})
