"""`muster explain` and `muster describe`: why an object is as it is, and everything known about it."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.exits import FINDINGS
from muster.cli.outcome import report, reported_findings
from muster.cli.progress import working
from muster.cli.query import QueryScope, scope_options
from muster.data.ids import ObjectId
from muster.data.times import later
from muster.features.whatif.options import Supposed, supposed_options

if TYPE_CHECKING:
    from muster.cli.reading import FleetReading
    from muster.features.history.history import ObjectHistory

#: How far back `describe` looks for transitions.
_RECENT = timedelta(days=30)


@click.command()
@click.argument("target", metavar="KIND/NAME|KIND.FIELD|CODE", shell_complete=completion.targets)
@click.argument("field", required=False, default="")
@click.option("--cause", metavar="A..B", help="Find the fewest changes of these commits that bring its value about.")
@click.option("--how", is_flag=True, help="Show what has to change, or how long to wait, until FIELD comes about.")
@supposed_options
@options.output_option("text", "json", "yaml")
@options.source_options
@options.state_option
def explain(
    target: str,
    field: str,
    source: options.Source,
    state: Path | None,
    supposed: Supposed,
    output: str,
    cause: str | None,
    how: bool,
) -> int:
    """Explain why an object is as it is: the rule that decided each field, its expression with the value of each part,
    the inputs with file, line, commit and author, how each deadline is computed, and how long the result holds.

    \b
    FIELD is one of these:
      status.conditions[Available]       a path
      Available, taints, remedyActions   a part of one
      prod-eu-1                          for a Placement: why it chooses this
                                         cluster, or does not
    For a Rollout, the explanation says why each cluster has its revision.

    KIND.FIELD prints the description of a field, and CODE the meaning of a finding.

    With --cause, sets of the changes from commit A to B are applied to A, and evaluated as of one instant, until a set
    of files and lines is found that suffices for the value after all changes, and of which no proper subset does.

    With --how, FIELD is what is to come about: a cluster that a Placement chooses, a condition (Ready, Ready=False or
    Ready!=False), or a held effect (remedy TrafficControl; without FIELD the only one). A Rollout goes on without
    FIELD, or gives its revision to a cluster. Changes are tried in rehearsals, at most 200, and waiting for 31 days;
    what suffices alone is shown. -o json and yaml have the object, field and goal, whether it is so already and since
    when, ways with their changes, wait, waitWhileRenewing and waitedUntil, how many were tried, and whether these are
    complete.

    \b
    Examples:
      muster explain cluster/prod-eu-1 Available
      muster explain placement/default/web prod-eu-1
      muster explain placement/default/web --cause v1..main
      muster explain cluster/prod-eu-1 Available --how
      muster explain remedy.spec.actions
      muster explain MUS302
    """
    from muster.data.kinds import UnknownKind
    from muster.features.explain.pages import page_of

    with options.usage_errors(UnknownKind):
        page = page_of(target)
    if page is not None:
        if output != "text" or cause is not None or how:
            raise click.UsageError(f"{target} is a description, as text alone: KIND/NAME is an object.")
        sys.stdout.write(page)
        return 0
    (target,) = completion.with_kinds(target)
    is_named = options.object_matcher(target)
    if cause is not None:
        if supposed or source.worktree or source.rev or how:
            raise click.UsageError(
                "--cause is about a range of commits: not with --how, --rev, --worktree or a supposition."
            )
        return _cause(source, cause, target, field, output)
    if how:
        if supposed or source.worktree:
            raise click.UsageError("--how reads a commit: not with --worktree or a supposition.")
        return _how(source, target, field, output)
    with supposed.over(replace(source.reading(), state=state), state, source.now) as reading:
        return _explain(reading, is_named, target, field, source.now, output)


def _explain(
    reading: "FleetReading", is_named: Callable[[ObjectId], bool], target: str, field: str, now: datetime, output: str
) -> int:
    from muster.cli.documents import document_text
    from muster.cli.reading import evaluate_reading
    from muster.features.explain.blame import blame_in
    from muster.features.explain.explain import NothingDecided, explain
    from muster.features.explain.text import explanation_document, explanation_text
    from muster.rules.policies.lazy import Witness

    witness = Witness(is_named)
    with working("evaluating the fleet"):
        run = evaluate_reading(reading, now, options.wanted(target), witness)
    id_ = options.find_one(run, target, is_named)
    with options.usage_errors(NothingDecided):
        explanation = explain(run, witness, id_, field)
    blame = blame_in(reading, now)
    sys.stdout.write(
        explanation_text(explanation, blame)
        if output == "text"
        else document_text(explanation_document(explanation, blame), output)
    )
    return report([finding for finding in reported_findings(run) if finding.object == id_])


def _how(source: options.Source, target: str, field: str, output: str) -> int:
    """Show the ways for an object to reach what FIELD names."""
    from muster.cli.documents import document_text
    from muster.features.explain.how.goals import NoGoal
    from muster.features.explain.how.search import find_ways
    from muster.features.explain.how.text import ways_document, ways_text
    from muster.fleet.assemble import assemble
    from muster.run.incremental import NOTHING_WANTED

    with working("evaluating the fleet"), Supposed.tried(source.reading(), None) as trial:
        trial.step(source.now)
        fleet = assemble(trial.snapshot)
        id_ = options.one_of({*fleet.objects, *fleet.previous}, target, options.object_matcher(target))
        with options.usage_errors(NoGoal):
            ways = find_ways(trial, fleet, id_, field, source.now, options.wanted(target) or NOTHING_WANTED)
    sys.stdout.write(ways_text(ways) if output == "text" else document_text(ways_document(ways), output))
    return 0


def _cause(source: options.Source, range_: str, target: str, field: str, output: str) -> int:
    """Find the changes of a range that bring about what a field is at its end."""
    from muster.cli.documents import document_text
    from muster.features.explain.cause import cause_document, cause_text, find_cause
    from muster.features.explain.explain import NothingDecided
    from muster.features.whatif.rehearsal import rehearsal
    from muster.fleet.assemble import assemble
    from muster.git.derivedbranch import evaluated_commit
    from muster.git.errors import RepositoryError
    from muster.git.repository import resolve
    from muster.git.snapshot import CommitSnapshot
    from muster.run.incremental import NOTHING_WANTED

    before, dots, after = range_.partition("..")
    if not dots or not before or not after or after.startswith("."):
        raise click.UsageError(f"--cause: {range_!r} is no range of commits such as v1..main.")
    with working("evaluating the fleet"):
        reading = source.reading()
        repository, heard = reading.repository, reading.heard
        if repository is None or heard is None:
            raise RepositoryError("there are no commits here", "run it in a fleet repository with commits")
        start, end = (evaluated_commit(repository, resolve(repository, name)) for name in (before, after))
        with rehearsal(repository, start, heard) as trial:
            is_named = options.object_matcher(target)
            fleets = (assemble(CommitSnapshot(repository, commit, heard.refs, heard.agents)) for commit in (start, end))
            ids = {id_ for fleet in fleets for id_ in (*fleet.objects, *fleet.previous)}
            id_ = options.one_of(ids, target, is_named)
            with options.usage_errors(NothingDecided):
                cause = find_cause(trial, end, id_, field, source.now, options.wanted(target) or NOTHING_WANTED)
    sys.stdout.write(cause_text(cause, id_) if output == "text" else document_text(cause_document(cause, id_), output))
    return 0


@click.command()
@click.argument("target", metavar="KIND[/NAME]", shell_complete=completion.targets)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.names)
@scope_options
@options.output_option("text", "yaml")
@options.source_options
def describe(target: str, names: Sequence[str], source: options.Source, scope: QueryScope, output: str) -> int:
    """Show everything known about objects: spec, conditions with their age, taints, leases, held effects, each decision
    with its rule and how long it holds, and the transitions of the last 30 days.

    With -o yaml, print the whole object; a comment beside each decided field names its rule.

    \b
    Examples:
      muster describe prod-eu-1
      muster describe placement default/web
      muster describe placements -n default
    """
    from muster.data.kinds import id_of_body
    from muster.features.explain.description import described_yaml, description

    targets = completion.with_kinds(target, names)
    query = scope.query(targets)
    reading, run = source.evaluated(options.wanted(*targets))
    selection = query.of(run)
    ids = list(filter(None, map(id_of_body, selection.objects)))
    for number, id_ in enumerate(ids):
        if output == "yaml":
            sys.stdout.write(("---\n" if number else "") + described_yaml(run, id_))
        else:
            sys.stdout.write(("\n" if number else "") + description(run, id_, _past(reading, id_, source)))
    if not ids and not selection.missing:
        click.echo(scope.nothing(targets), err=True)
    code = report([finding for finding in reported_findings(run) if finding.object in ids])
    return max(code, FINDINGS) if selection.say_missing() else code


def _past(reading: "FleetReading", id_: ObjectId, source: options.Source) -> "ObjectHistory | None":
    """The recent transitions of an object; None without git history."""
    from muster.features.history.history import history

    if reading.repository is None or reading.base is None:
        return None
    since = later(source.now, -_RECENT)
    return None if since is None else history(reading.repository, reading.base, id_, since, source.now)
