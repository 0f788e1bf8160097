"""Enlarging a part if reading or deciding it shows that more must be evaluated (see `muster.run.parts.affected`)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from muster.data.snapshot import Snapshot
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.run.parts.affected import AFTER_READING, Affects, ChangeRow, Reading
from muster.run.parts.part import FleetPart
from muster.run.question import WholeNeeded

M = TypeVar("M")


def enlarged_part(part: FleetPart, rows: Iterable[ChangeRow[M]], moment: M) -> FleetPart | None:
    """Return the larger part that changes require; None if this one is enough. WholeNeeded if only the whole fleet
    is."""
    for row in rows:
        change = row.notice(moment)
        if not change:
            continue
        if row.affects is Affects.FLEET:
            raise WholeNeeded(row.change)
        if row.affects is Affects.SHARED:
            return part.larger(wide=True)
        if isinstance(change, frozenset):
            return part.larger(change)
    return None


def read_part(part: FleetPart) -> tuple[FleetPart, Snapshot, Fleet | None]:
    """Read a part, with everything in the same files, and return it, its files and its fleet. If that shows that more
    must be evaluated, return the larger part, and None instead of the fleet."""
    part = part.closed()
    snapshot = part.question.snapshot(part.paths, part.refs)
    fleet = assemble(snapshot, partial=True)
    reading = Reading(part, fleet)
    if (larger := enlarged_part(part, AFTER_READING, reading)) is not None:
        return larger, snapshot, None
    return replace(part, standing=reading.standing), snapshot, fleet
