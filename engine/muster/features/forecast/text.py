"""What happens next, for people and as data: each instant at which anything does, and what."""

from collections.abc import Iterator
from datetime import datetime

from muster.cli.documents import change_document, held_document, object_document
from muster.data.printable import printable
from muster.data.times import format_duration, format_time
from muster.data.tree import Tree
from muster.features.forecast.moment import Moment
from muster.run.changes import summary


def moment_text(moment: Moment, now: datetime) -> str:
    """Return an instant as a line of its own, and below it what happens then."""
    return "\n".join(map(printable, _lines(moment, now))) + "\n"


def _lines(moment: Moment, now: datetime) -> Iterator[str]:
    when = f"in {format_duration(moment.at - now)}" if moment.at > now else "now"
    yield f"{format_time(moment.at)}  {when}  {_summary(moment)}"
    yield from (f"  {line}" for line in _details(moment))


def _summary(moment: Moment) -> str:
    told = [summary(moment.changes)] if moment.changes else []
    if moment.held:
        told.append(f"{len(moment.held)} held")
    if moment.released:
        told.append(f"{len(moment.released)} held no longer")
    if moment.pulses:
        told.append(f"{len(moment.pulses)} pulse{'s' if len(moment.pulses) > 1 else ''}")
    return ", ".join(told)


def _details(moment: Moment) -> Iterator[str]:
    yield from map(str, moment.changes)
    yield from (f"{held.object}: {held.effect} held: {held.reason}" for held in moment.held)
    yield from (f"{id_}: {effect} is held no longer" for id_, effect in moment.released)
    yield from (f"{pulse.object}: pulse {pulse.policy}: {pulse.reason}" for pulse in moment.pulses)


def moment_row(moment: Moment, most: int) -> Tree:
    """Return an instant for the page, with so many lines of what happens at the most, and how many there are."""
    lines = list(_details(moment))
    return {"at": format_time(moment.at), "what": _summary(moment), "lines": lines[:most], "count": len(lines)}


def moment_document(moment: Moment) -> Tree:
    """Return an instant as data."""
    return {
        "at": format_time(moment.at),
        "summary": summary(moment.changes),
        "changes": [change_document(change) for change in moment.changes],
        "held": [held_document(held) for held in moment.held],
        "released": [{"object": object_document(id_), "effect": effect} for id_, effect in moment.released],
        "pulses": [
            {"object": object_document(one.object), "policy": one.policy, "reason": one.reason} for one in moment.pulses
        ],
    }
