"""`muster get`: objects as they are now, with the options of `kubectl get`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.exits import FINDINGS
from muster.cli.outcome import report, reported_findings
from muster.cli.query import ObjectQuery, QueryScope, scope_options
from muster.cli.table import print_table
from muster.data.kinds import PLACEMENT_DECISION, UnknownKind
from muster.data.tree import Tree
from muster.features.get.formats import FormatOptions, format_options

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
@scope_options
@click.option("--ignore-not-found", is_flag=True, help="Print nothing for what is missing, and exit with 0.")
@click.option("-w", "--watch", is_flag=True, help="Then print what changes, until stopped.")
@click.option("--output-watch-events", "events", is_flag=True, help="With -w: print ADDED, MODIFIED or DELETED.")
@click.option("--remote", metavar="NAME", help="With -w: follow the branch of this remote.")
@options.follow_interval_option
@format_options
@options.source_options
def get(
    target: str,
    names: Sequence[str],
    source: options.Source,
    scope: QueryScope,
    form: FormatOptions,
    ignore_not_found: bool,
    watch: bool,
    events: bool,
    remote: str | None,
    interval: float,
) -> int:
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
      muster get clusters -l region=eu -L env,tier
      muster get cluster prod-eu-1 -o yaml
      muster get placements -o wide
      muster get -o jsonpath='{.items[*].metadata.name}'
      muster get -o custom-columns=NAME:.metadata.name,ENV:.metadata.labels.env
      muster get pulses ManagedCluster -w -o json
    """
    if target.casefold() == PULSES:
        if not scope.is_everything or form.shows_labels or events or ignore_not_found:
            raise click.UsageError(
                "pulses are events: without -n, -l, -L, --field-selector, --show-labels, --ignore-not-found and "
                "--output-watch-events."
            )
        followed = (remote, timedelta(seconds=interval)) if watch else None
        return _pulses(names, source, form.listing(single=False), followed)
    who_waits = target.casefold() == WAITING
    if who_waits and (names or watch):
        raise click.UsageError("waiting is a list of its own: without names and -w.")
    targets = list(WAITING_KINDS) if who_waits else completion.with_kinds(target, names)
    query = scope.query(targets)
    listing = form.listing(single=query.names_one)
    if watch:
        return _follow(query, listing, source, timedelta(seconds=interval), remote, events, ignore_not_found)
    wide = (PLACEMENT_DECISION.plural,) if listing.form == "wide" else ()
    reading, run = source.evaluated(options.wanted(*targets, *wide), rested=True)
    selection = query.of(run)
    if wide:
        from muster.features.get.listing import chosen_clusters

        listing = replace(listing, chosen=chosen_clusters(run))
    objects = _waiting(selection.objects, run) if who_waits else selection.objects
    if objects or not (ignore_not_found or selection.missing):
        _print(objects, run, listing, waiting=who_waits)
        if listing.is_table and not objects:
            click.echo("nothing waits for you" if who_waits else scope.nothing(targets), err=True)
    reading.print_age(source.now, err=not listing.is_table)
    code = report(reported_findings(run))
    return code if ignore_not_found or not selection.say_missing() else max(code, FINDINGS)


def _waiting(objects: Sequence[Tree], run: "Run") -> Sequence[Tree]:
    from muster.cli.waiting import waiting

    return waiting(objects, run.fleet.objects)


def _print(objects: Sequence[Tree], run: "Run", listing: "ListingFormat", *, waiting: bool) -> None:
    """Print objects, and below a table why effects on them are held."""
    from muster.data.jsonpath.template import BadTemplate
    from muster.features.get.listing import held_lines

    if waiting and listing.form in ("table", "wide"):
        if objects:
            from muster.cli.waiting import COLUMNS, waiting_rows

            # Never cut: people compare the keys, and copy the commands.
            print_table(COLUMNS, waiting_rows(objects, run.now), wide=True, headers=listing.headers)
        return
    try:
        listing.print(objects, run.now)
    except BadTemplate as error:
        raise click.UsageError(f"-o {listing.form}: {error}") from error
    if listing.is_table:
        for line in held_lines(run.held, objects):
            click.echo(line)


def _follow(
    query: ObjectQuery,
    listing: "ListingFormat",
    source: options.Source,
    interval: timedelta,
    remote: str | None,
    events: bool,
    ignore_not_found: bool,
) -> int:
    """Print objects now and when they change. A name without an object ends it at once, unless that is ignored."""
    from muster.cli.following import FollowedFleet, follow
    from muster.data.jsonpath.template import BadTemplate
    from muster.features.get.listing import ChangeListing

    _require_followable(source)
    fleet = FollowedFleet(source, options.wanted(*query.targets), remote, interval)
    changes = ChangeListing(listing, events=events)

    def show(run: "Run") -> None:
        selection = query.of(run)
        ends = bool(selection.missing) and not (changes.started or ignore_not_found)
        changes.print(selection.objects, run.now)
        if ends:
            selection.say_missing()
            raise click.exceptions.Exit(FINDINGS)

    try:
        follow(fleet, show)
    except BadTemplate as error:
        raise click.UsageError(f"-o jsonpath: {error}") from error
    return 0


def _require_followable(source: options.Source) -> None:
    """With -w: click.UsageError if there is nothing to follow."""
    if source.rev or source.worktree:
        raise click.UsageError("-w follows the branch that is checked out: not with --rev or --worktree.")


def _pulses(
    targets: Sequence[str],
    source: options.Source,
    listing: "ListingFormat",
    followed: tuple[str | None, timedelta] | None,
) -> int:
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
    _require_followable(source)
    now = options.present if source.asked is None else (lambda: source.now)
    return print_followed(source.repo, *followed, matches, now, lines=listing.form == "json")
