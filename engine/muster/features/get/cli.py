"""`muster get`: objects as they are now, with the options of `kubectl get`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.outcome import report, reported_findings
from muster.cli.table import print_table
from muster.data.kinds import PLACEMENT_DECISION, UnknownKind
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass

if TYPE_CHECKING:
    from muster.features.get.listing import ListingFormat
    from muster.run.run import Run

#: Instead of a kind: who waits to be let in, and the kinds that this is read from.
WAITING, WAITING_KINDS = "waiting", ("managedclusters", "certificatesigningrequests")
#: Instead of a kind: the events that are due.
PULSES = "pulses"


@click.command()
@click.argument("target", metavar="[KIND[/NAME]]", default="clusters", shell_complete=completion.targets)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.names)
@click.option(
    "-n", "--namespace", metavar="NAME", shell_complete=completion.namespaces, help="Only objects in this namespace."
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Objects in all namespaces; the default.")
@click.option("-l", "--selector", metavar="LABELS", help="Only objects with these labels: 'region=eu,tier!=test'.")
@click.option("-w", "--watch", is_flag=True, help="Then print what changes, until stopped.")
@click.option("--output-watch-events", "events", is_flag=True, help="With -w: print ADDED, MODIFIED or DELETED.")
@click.option("--remote", metavar="NAME", help="With -w: follow the branch of this remote.")
@options.follow_interval_option
@click.option("--sort-by", "order", metavar="PATH", help="Sort by a field: .metadata.creationTimestamp.")
@click.option("--show-labels", "labels", is_flag=True, help="Show labels as the last column.")
@options.output_option("table", "wide", "name", "yaml", "json", templates=True)
@options.source_options
def get(
    target: str, names: Sequence[str], source: options.Source, namespace: str | None, all_namespaces: bool,
    selector: str | None, watch: bool, events: bool, remote: str | None, interval: float, order: str | None,
    labels: bool, output: str,
) -> int:  # fmt: skip
    """Show objects as they are at this instant: what files and agents say, and what is derived from it.

    \b
    KIND is a kind of `muster api-resources`, or one of these:
      clusters  ManagedClusters and Clusters; the default
      all       objects of every kind
      waiting   clusters and certificate requests that wait for you, with their
                keys and the commands to run
      pulses    events that are due; NAME is KIND[/NAME] of their objects

    On a terminal, a table has the columns that fit; -o wide shows all of them, and further ones of clusters. Templates
    are those of kubectl. With -w, objects are printed again when they change: after commits, after agents' pushes, and
    as time passes; of pulses, -w prints each once, and -w -o json as a line of JSON.

    \b
    Examples:
      muster get clusters -l region=eu
      muster get cluster prod-eu-1 -o yaml
      muster get placements -o wide
      muster get -o jsonpath='{.items[*].metadata.name}'
      muster get -o custom-columns=NAME:.metadata.name,ENV:.metadata.labels.env
      muster get pulses ManagedCluster -w -o json
    """
    from muster.data.jsonpath.template import BadTemplate
    from muster.features.get.listing import chosen_clusters, held_lines

    if namespace and all_namespaces:
        raise click.UsageError("-n names one namespace, -A all of them.")
    if target.casefold() == PULSES:
        if namespace or selector or labels or events:
            raise click.UsageError("pulses are events: without -n, -l, --show-labels and --output-watch-events.")
        return _pulses(names, source, _listing(output, order, single=False, labels=False),
                       (remote, timedelta(seconds=interval)) if watch else None)  # fmt: skip
    who_waits = target.casefold() == WAITING
    if who_waits and (names or watch):
        raise click.UsageError("waiting is a list of its own: without names and -w.")
    targets = list(WAITING_KINDS) if who_waits else completion.with_kinds(target, names)
    query = ObjectQuery(targets, namespace, _selector(selector))
    listing = _listing(output, order, single=len(targets) == 1 and "/" in targets[0], labels=labels)
    if watch:
        return _follow(query, listing, source, remote, interval, events=events)
    wide = output == "wide"
    wanted = options.wanted(*targets, *([PLACEMENT_DECISION.plural] if wide else ()))
    reading, run = source.evaluated(wanted, rested=True)
    objects = query.of(run)
    if wide:
        listing = replace(listing, chosen=chosen_clusters(run))
    try:
        if who_waits:
            from muster.cli.waiting import COLUMNS, waiting, waiting_rows

            objects = waiting(objects, run.fleet.objects)
        if who_waits and objects and output in ("table", "wide"):
            # Never cut: people compare the keys, and copy the commands.
            print_table(COLUMNS, waiting_rows(objects, run.now), wide=True)
        elif objects or not who_waits or not listing.is_table:
            listing.print(objects, run.now)
    except BadTemplate as error:
        raise click.UsageError(f"-o {listing.form}: {error}") from error
    if listing.is_table:
        for line in held_lines(run.held, objects):
            click.echo(line)
        if not objects:
            click.echo("nothing waits for you" if who_waits else _missing(query, selector), err=True)
    reading.print_age(source.now, err=not listing.is_table)
    return report(reported_findings(run))


def _missing(query: "ObjectQuery", selector: str | None) -> str:
    """Say that there are no such objects."""
    where = f" in namespace {query.namespace}" if query.namespace else "" if selector else " in this fleet"
    return f"no {', '.join(query.targets)}{where}{f' with labels {selector}' if selector else ''}"


def _follow(
    query: "ObjectQuery", listing: "ListingFormat", source: options.Source, remote: str | None, interval: float, *,
    events: bool,
) -> int:  # fmt: skip
    from muster.cli.following import FollowedFleet, follow
    from muster.data.jsonpath.template import BadTemplate
    from muster.features.get.listing import ChangeListing

    fixed = _is_now_fixed(source)
    fleet = FollowedFleet(source, options.wanted(*query.targets), remote, timedelta(seconds=interval), fixed)
    changes = ChangeListing(listing, events=events)
    try:
        follow(fleet, lambda run: changes.print(query.of(run, must_exist=not changes.started), run.now))
    except BadTemplate as error:
        raise click.UsageError(f"-o jsonpath: {error}") from error
    return 0


def _is_now_fixed(source: options.Source) -> bool:
    """With -w: was --now given, so that time does not pass? click.UsageError if there is nothing to follow."""
    if source.rev or source.worktree:
        raise click.UsageError("-w follows the branch that is checked out: not with --rev or --worktree.")
    given = click.get_current_context().get_parameter_source("now")
    return given is not click.core.ParameterSource.DEFAULT


def _pulses(
    targets: Sequence[str], source: options.Source, listing: "ListingFormat",
    followed: tuple[str | None, timedelta] | None,
) -> int:  # fmt: skip
    """Print the pulses that are due; or follow them, with a remote or None, and an interval."""
    from muster.data.jsonpath.template import BadTemplate
    from muster.features.pulses.due import matcher, print_due, print_followed

    with options.usage_errors(UnknownKind, BadTemplate):
        matches = matcher(targets)
        if followed is None:
            if listing.form == "name":
                raise click.UsageError("pulses have no names: use -o table, json, yaml or a template.")
            return print_due(source, matches, None if listing.form in ("table", "wide") else listing.print)
    if listing.form not in ("table", "wide", "json") or listing.template is not None:
        raise click.UsageError("pulses -w prints rows, or lines of JSON with -o json.")
    now = (lambda: source.now) if _is_now_fixed(source) else options.present
    return print_followed(source.repo, *followed, matches, now, lines=listing.form == "json")


@dataclass(frozen=True, slots=True)
class ObjectQuery:
    """The objects to show."""

    targets: Sequence[str]
    namespace: str | None
    matches: Callable[[Mapping[str, Tree]], bool]

    def of(self, run: "Run", *, must_exist: bool = True) -> list[Tree]:
        """The objects in a run. click.UsageError if a named one is missing and `must_exist`."""
        from muster.cli.select import select

        found = options.selected if must_exist else select
        bodies = [
            body for target in self.targets for body in self._in_namespace(target, found(run, target), must_exist)
        ]
        return [body for body in bodies if self.matches(mapping_at(body, "metadata", "labels"))]

    def _in_namespace(self, target: str, bodies: list[Tree], must_exist: bool) -> list[Tree]:
        """Those in the namespace; as in kubectl, objects of kinds without namespaces are, too."""
        if not self.namespace:
            return bodies
        inside = [
            body for body in bodies if mapping_at(body, "metadata").get("namespace", self.namespace) == self.namespace
        ]
        if must_exist and "/" in target and not inside:
            raise click.UsageError(f"there is no {target} in namespace {self.namespace}")
        return inside


def _listing(output: str, order: str | None, *, single: bool, labels: bool) -> "ListingFormat":
    """Parse the output format. click.UsageError for a malformed template or path."""
    from muster.data.jsonpath.template import BadTemplate, parse, parse_path
    from muster.features.get.listing import ListingFormat

    option = "--sort-by"
    if order is not None and not order.strip():
        raise click.UsageError(f"{option}: a path is missing: write one, as in .metadata.name.")
    try:
        by = None if order is None else parse_path(order)
        option = "-o jsonpath"
        if output.startswith((options.JSONPATH, options.JSONPATH_AS_JSON)):
            form, _, template = output.partition("=")
            return ListingFormat(form, parse(template), single, order=by)
        option = "-o custom-columns"
        if output.startswith(options.COLUMNS):
            columns = [one.partition(":") for one in output.removeprefix(options.COLUMNS).split(",")]
            if not all(header and path for header, _, path in columns):
                raise click.UsageError(f"{option}: write HEADER:PATH for each column, as in NAME:.metadata.name.")
            paths = {header: parse_path(path) for header, _, path in columns}
            return ListingFormat("columns", columns=paths, order=by)
    except BadTemplate as error:
        raise click.UsageError(f"{option}: {error}") from error
    return ListingFormat(output, single=single, order=by, labels=labels)


def _selector(text: str | None) -> Callable[[Mapping[str, Tree]], bool]:
    """Return a predicate on labels. click.UsageError for a malformed selector."""
    from muster.rules.policies.selectors import LabelSelector

    try:
        selector = LabelSelector() if text is None else LabelSelector.written(text)
    except ValueError as error:
        raise click.UsageError(f"-l: {error}") from error
    return lambda labels: selector.matches({name: value for name, value in labels.items() if isinstance(value, str)})
