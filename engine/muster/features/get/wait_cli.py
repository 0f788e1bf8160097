"""`muster wait`: end when an object says what is waited for, as `kubectl wait` does."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import completion, options
from muster.cli.exits import FINDINGS
from muster.cli.outcome import say
from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION, kinds_named
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.features.get.listing import chosen_clusters, name_of

if TYPE_CHECKING:
    from muster.run.run import Run


class _MetError(Exception):
    """The condition is met."""


@dataclass(frozen=True, slots=True)
class _Expectation:
    """What is waited for: its `sort`, the condition's type or other `name`, and a predicate on an object."""

    sort: str
    name: str
    holds: Callable[[Tree], bool]

    def check(self, target: str) -> None:
        """Raise click.UsageError if no object of the kind can ever have it."""
        kinds = {kind.name for kind in kinds_named(target.partition("/")[0])}
        if (can := _KINDS.get(self.sort)) and not kinds & can:
            raise click.UsageError(f"{target} cannot have a {self.sort}: only {_either(sorted(can))} can.")

    def is_met(self, run: "Run", bodies: Sequence[Tree]) -> bool:
        """Does an object have it? A Placement has the clusters of its PlacementDecisions."""
        if any(map(self.holds, bodies)):
            return True
        placements = [mapping_at(body, "metadata") for body in bodies if body.get("kind") == PLACEMENT.name]
        chosen = chosen_clusters(run) if placements and self.sort == "decision" else {}
        return any(self.name in chosen.get((placement["namespace"], placement["name"]), ()) for placement in placements)


#: The kinds that can have a decision or a revision; any can have a condition.
_KINDS: Final = {
    "decision": {"Placement", "PlacementDecision"},
    "revision": {"Cluster", "ManagedCluster", "Rollout"},
}


def _either(names: Sequence[str]) -> str:
    return f"a {', a '.join(names[:-1])} or a {names[-1]}"


def _expected(text: str) -> _Expectation:
    """Return what is waited for, for a text such as `condition=Ready` or `decision=prod-eu-1`."""
    sort, _, rest = text.partition("=")
    name, _, status = rest.partition("=")
    return _Expectation(sort, name, _predicate(text, sort, rest, name, status))


def _predicate(text: str, sort: str, rest: str, name: str, status: str) -> Callable[[Tree], bool]:
    if name and sort == "condition":
        wanted = status or "True"
        if wanted.casefold() not in ("true", "false", "unknown"):
            raise ValueError(f"a condition cannot be {wanted!r}; it is True, False or Unknown")
        return lambda body: any(
            condition.get("type") == name and str(condition.get("status")).casefold() == wanted.casefold()
            for condition in mappings_at(body, "status", "conditions")
        )
    if name and sort == "decision" and not status:
        return lambda body: any(
            name in (decision.get("clusterName"), dig(decision, "clusterProfileRef", "name"))
            for decision in (*mappings_at(body, "status", "decisions"), *mappings_at(body, "decisions"))
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
@click.argument("names", metavar="[NAME]", nargs=-1, shell_complete=completion.names)
@click.option(
    "--for",
    "expected",
    required=True,
    type=options.ParsedType("expectation", _expected),
    metavar="WHAT",
    help="condition=TYPE, condition=TYPE=STATUS, decision=CLUSTER of a Placement, or "
    "revision=REVISION of a Rollout or a cluster.",
)
@click.option(
    "--timeout",
    type=options.DurationType(),
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="How long to wait; 0s asks once.",
)
@click.option("--remote", metavar="NAME", help="Follow the branch of this remote.")
@options.follow_interval_option
@options.repo_option
@options.offline_option
@options.now_option
def command(
    target: str,
    names: Sequence[str],
    repo: Path,
    offline: bool,
    now: datetime,
    expected: _Expectation,
    timeout: timedelta,
    remote: str | None,
    interval: float,
) -> int:
    """Wait until an object has a condition, a Placement a cluster, or a Rollout or cluster a revision.

    The object need not exist yet. The exit code is 0 when it happens, and 1 after the timeout.

    \b
    Examples:
      muster wait cluster/prod-eu-1 --timeout 5m \\
        --for condition=ManagedClusterConditionAvailable
      muster wait rollout/default/v2 --for revision=v2
    """
    from muster.cli.following import FollowedFleet, follow
    from muster.cli.select import select

    targets = [] if names and "/" in target else completion.with_kinds(target, names)
    if len(targets) != 1:
        raise click.UsageError("wait for one object.")
    (target,) = targets
    options.object_matcher(target)
    expected.check(target)

    seen: list[Tree] = []

    def show(run: "Run") -> None:
        seen[:] = select(run, target)
        if expected.is_met(run, seen):
            raise _MetError

    asked = options.asked_instant(now)
    source = options.Source(repo, None, worktree=False, offline=offline, now=now, asked=asked)
    shards = [PLACEMENT_DECISION.plural] if expected.sort == "decision" else []
    fleet = FollowedFleet(source, options.wanted(target, *shards), remote, timedelta(seconds=interval))
    try:
        follow(fleet, show, timeout)
    except _MetError:
        click.echo(f"{name_of(seen[0])}: condition met")
        return 0
    why = _conditions(seen, expected) if seen else completion.unknown_object(target).message
    say(f"{target}: timed out; {why}", err=True)
    return FINDINGS


def _conditions(seen: Sequence[Tree], expected: _Expectation) -> str:
    """The conditions of an object that has not come to what was expected; of those, the expected one if it has that."""
    statuses = {
        str(condition.get("type")): str(condition.get("status"))
        for body in seen
        for condition in mappings_at(body, "status", "conditions")
    }
    if expected.sort == "condition" and expected.name in statuses:
        return f"{expected.name} is {statuses[expected.name]}"
    if expected.sort == "condition" and (hint := did_you_mean(expected.name, statuses)):
        return f"it has no condition {expected.name}; {hint}"
    return ", ".join(f"{type_} is {status}" for type_, status in statuses.items()) or "it has no conditions"
