"""`muster wait`: end when an object says what is waited for, as `kubectl wait` does."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.exits import FINDINGS
from muster.cli.outcome import say
from muster.data.tree import Tree, dig, mapping_at, mappings_at

if TYPE_CHECKING:
    from muster.run.run import Run


class _MetError(Exception):
    """The condition is met."""


def _expected(text: str) -> Callable[[Tree], bool]:
    """Return a predicate on an object for a text such as `condition=Ready` or `decision=prod-eu-1`."""
    sort, _, rest = text.partition("=")
    name, _, status = rest.partition("=")
    if name and sort == "condition":
        wanted = status or "True"
        if wanted.casefold() not in ("true", "false", "unknown"):
            raise ValueError(f"a condition cannot be {wanted!r}; it is True, False or Unknown")
        return lambda body: any(
            one.get("type") == name and str(one.get("status")).casefold() == wanted.casefold()
            for one in mappings_at(body, "status", "conditions")
        )
    if name and sort == "decision" and not status:
        return lambda body: any(
            name in (one.get("clusterName"), dig(one, "clusterProfileRef", "name"))
            for one in (*mappings_at(body, "status", "decisions"), *mappings_at(body, "decisions"))
        )
    if rest and sort == "revision":
        return lambda body: _has_revision(body, rest)
    raise ValueError(f"{text!r} is not condition=TYPE[=STATUS], decision=CLUSTER or revision=REVISION")


def _has_revision(body: Tree, revision: str) -> bool:
    """Has a Rollout brought the revision everywhere, or does a cluster have it in good health?"""
    if body.get("kind") == "Rollout":
        return bool(dig(body, "status", "completed") == revision == dig(body, "status", "revision"))
    entries = mapping_at(body, "status", "muster", "rollouts").values()
    return any(entry.get("revision") == revision and entry.get("state") == "Succeeded" for entry in entries)


@click.command()
@click.argument("target", metavar="KIND/NAME", shell_complete=completion.targets)
@click.option("--for", "expected", required=True, type=options.ParsedType("expectation", _expected), metavar="WHAT",
              help="condition=TYPE, condition=TYPE=STATUS, decision=CLUSTER of a PlacementDecision, or "
              "revision=REVISION of a Rollout or a cluster.")  # fmt: skip
@click.option("--timeout", type=options.DurationType(), default="30s", show_default=True, metavar="DURATION",
              help="How long to wait; 0s asks once.")  # fmt: skip
@click.option("--remote", metavar="NAME", help="Follow the branch of this remote.")
@options.follow_interval_option
@options.source_options
def command(
    target: str, source: options.Source, expected: Callable[[Tree], bool], timeout: timedelta, remote: str | None,
    interval: float,
) -> int:  # fmt: skip
    """Wait until an object has a condition, a PlacementDecision a cluster, or a Rollout or cluster a revision.

    The object need not exist yet. The exit code is 0 when it happens, and 1 after the timeout.

    \b
    Examples:
      muster wait cluster/prod-eu-1 --for condition=Available --timeout 5m
      muster wait rollout/default/v2 --for revision=v2
    """
    from muster.cli.following import FollowedFleet, follow
    from muster.cli.select import select

    if source.rev or source.worktree:
        raise click.UsageError("wait follows the branch that is checked out: not with --rev or --worktree.")
    (target,) = completion.with_kinds(target)
    options.object_matcher(target)

    seen: list[Tree] = []

    def show(run: "Run") -> None:
        seen[:] = select(run, target)
        if any(map(expected, seen)):
            raise _MetError

    given = click.get_current_context().get_parameter_source("now")
    fixed = given is not click.core.ParameterSource.DEFAULT
    fleet = FollowedFleet(source, options.wanted(target), remote, timedelta(seconds=interval), fixed)
    try:
        follow(fleet, show, timeout)
    except _MetError:
        click.echo(f"{target}: condition met")
        return 0
    why = _conditions(seen) if seen else completion.unknown_object(target).message
    say(f"{target}: timed out; {why}", err=True)
    return FINDINGS


def _conditions(seen: Sequence[Tree]) -> str:
    """The conditions of an object that has not come to what was expected."""
    found = [f"{one.get('type')} is {one.get('status')}" for body in seen
             for one in mappings_at(body, "status", "conditions")]  # fmt: skip
    return ", ".join(found) or "it has no conditions"
