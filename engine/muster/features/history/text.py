"""What became of an object, for people and as data."""

from collections.abc import Iterator

from muster.cli.documents import object_document
from muster.data.printable import printable
from muster.data.times import format_duration, format_time
from muster.data.tree import Tree
from muster.features.history.past import ObjectHistory, Transition


def history_text(found: ObjectHistory) -> str:
    """Return the transitions, a line each, and how long the object was in each state."""
    return "\n".join(map(printable, _lines(found))) + "\n"


def _lines(found: ObjectHistory) -> Iterator[str]:
    if found.begins is not None:
        yield f"this clone has no history from before {format_time(found.begins)}: fetch more of it to see more"
    if not found.transitions:
        yield f"nothing changed since {format_time(found.since)}"
    for one in found.transitions:
        yield f"{format_time(one.at)}  {one.commit[:7]}  {_told(one)}"
    if found.stays:
        total = sum(span.total_seconds() for span in found.spans.values())
        parts = [
            f"{status} {format_duration(span)} ({100 * span.total_seconds() / total:.2f} %)" if total else status
            for status, span in found.spans.items()
        ]
        yield f"{found.condition} since {format_time(found.stays[0].since)}: {', '.join(parts) or 'never decided'}"


def _told(one: Transition) -> str:
    text = str(one.change).removeprefix(f"{one.change.object}: ").strip()
    return f"{text}, from {one.source[:7]}" if one.source else f"{text}, by {one.author}"


def history_document(found: ObjectHistory) -> Tree:
    """Return the same as data."""
    return {
        "object": object_document(found.object),
        "since": format_time(found.since),
        "until": format_time(found.until),
        "begins": None if found.begins is None else format_time(found.begins),
        "transitions": [
            {
                "at": format_time(one.at), "commit": one.commit, "author": one.author, "source": one.source or None,
                "field": one.change.field, "before": one.change.before, "after": one.change.after,
                "note": one.change.note,
            }
            for one in found.transitions
        ],
        "condition": found.condition or None,
        "stays": [
            {"status": stay.status, "since": format_time(stay.since), "until": format_time(stay.until)}
            for stay in found.stays
        ],
        "availability": found.availability,
    }  # fmt: skip
