"""The ways to a goal as text and as data."""

from collections.abc import Iterator

from muster.cli.documents import object_document
from muster.data.printable import counted, printable
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.explain.how.search import WaysToGoal


def ways_text(ways: WaysToGoal) -> str:
    """Return each way on a line of its own."""
    goal, lines = ways.goal, list(_lines(ways))
    if goal.already:
        since = f", since {format_time(goal.since)}" if goal.since is not None else ""
        lines = [f"{goal.text} already{since}."]
    elif not lines:
        until = f", nor does waiting until {format_time(ways.until)}" if ways.until is not None else ""
        lines = [f"{goal.text}: no change that was tried suffices{until}."]
    else:
        lines = [f"{goal.text} after one of:", *(f"  {line}" for line in lines)]
    if ways.limited:
        lines.append(f"{counted(ways.tried, 'rehearsal')} of changes, which is the limit: there may be other ways.")
    return "".join(f"{printable(line)}\n" for line in lines)


def _lines(ways: WaysToGoal) -> Iterator[str]:
    for way in ways.ways:
        until = f", and wait until {format_time(way.at)}" if way.at is not None else ""
        yield f"{way.text}{until}"
    if ways.wait is not None:
        yield f"wait until {format_time(ways.wait)}"
    if ways.renewing is not None and ways.renewing != ways.wait:
        yield f"wait until {format_time(ways.renewing)} while agents renew their Leases"


def ways_document(ways: WaysToGoal) -> Tree:
    """Return the same as data: see docs/questions.md."""

    def time_or_none(at: Tree) -> Tree:
        return None if at is None else format_time(at)

    return {
        "object": object_document(ways.goal.object),
        "field": ways.goal.field,
        "goal": ways.goal.text,
        "already": ways.goal.already,
        "since": time_or_none(ways.goal.since),
        "ways": [
            {
                "changes": [{"object": object_document(change.object), "text": change.text} for change in way.changes],
                "at": time_or_none(way.at),
            }
            for way in ways.ways
        ],
        "wait": time_or_none(ways.wait),
        "waitedUntil": time_or_none(ways.until),
        "waitWhileRenewing": time_or_none(ways.renewing),
        "tried": ways.tried,
        "complete": not ways.limited,
    }
