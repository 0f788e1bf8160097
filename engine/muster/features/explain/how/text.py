"""The ways to a goal as text and as data."""

from collections.abc import Iterator

from muster.cli.documents import object_document
from muster.data.printable import counted, printable
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.explain.how.search import WaysToGoal


def ways_text(found: WaysToGoal) -> str:
    """Return each way on a line of its own."""
    goal, lines = found.goal, list(_lines(found))
    if goal.already:
        since = f", since {format_time(goal.since)}" if goal.since is not None else ""
        lines = [f"{goal.text} already{since}."]
    elif not lines:
        until = f", nor does waiting until {format_time(found.until)}" if found.until is not None else ""
        lines = [f"{goal.text}: no change that was tried suffices{until}."]
    else:
        lines = [f"{goal.text} after one of:", *(f"  {line}" for line in lines)]
    if found.limited:
        lines.append(f"{counted(found.tried, 'rehearsal')} of changes, which is the limit: there may be other ways.")
    return "".join(f"{printable(line)}\n" for line in lines)


def _lines(found: WaysToGoal) -> Iterator[str]:
    for way in found.ways:
        until = f", and wait until {format_time(way.at)}" if way.at is not None else ""
        yield f"{way.text}{until}"
    if found.wait is not None:
        yield f"wait until {format_time(found.wait)}"
    if found.renewing is not None and found.renewing != found.wait:
        yield f"wait until {format_time(found.renewing)} while agents renew their Leases"


def ways_document(found: WaysToGoal) -> Tree:
    """Return the same as data: see docs/questions.md."""

    def time_or_none(at: Tree) -> Tree:
        return None if at is None else format_time(at)

    return {
        "object": object_document(found.goal.object),
        "field": found.goal.field,
        "goal": found.goal.text,
        "already": found.goal.already,
        "since": time_or_none(found.goal.since),
        "ways": [
            {
                "changes": [{"object": object_document(change.object), "text": change.text} for change in way.changes],
                "at": time_or_none(way.at),
            }
            for way in found.ways
        ],
        "wait": time_or_none(found.wait),
        "waitedUntil": time_or_none(found.until),
        "waitWhileRenewing": time_or_none(found.renewing),
        "tried": found.tried,
        "complete": not found.limited,
    }
