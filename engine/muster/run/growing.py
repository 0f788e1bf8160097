"""Growing a part: what was read or decided shows that more must be looked at (see `muster.run.affected`)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from muster.data.snapshot import Snapshot
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.run.affected import AFTER_READING, Affects, ChangeRow, Reading, homes_concerned
from muster.run.part import FleetPart
from muster.run.question import WholeNeeded

M = TypeVar("M")


def noticed(part: FleetPart, rows: Iterable[ChangeRow[M]], moment: M) -> FleetPart | None:
    """The larger part that changes ask for; None if this one is enough. WholeNeeded if only the whole fleet is."""
    for row in rows:
        found = row.notice(moment)
        if not found:
            continue
        if row.affects is Affects.FLEET:
            raise WholeNeeded(row.change)
        if row.affects is Affects.SHARED:
            return part.larger(wide=True)
        if row.affects is Affects.CONCERNED:
            if not part.rest.asks_summaries:
                raise WholeNeeded(row.change)
            affected_clusters = homes_concerned(part.question, part.state, part.facts, part.touched)
            return part.larger(affected_clusters, wide=True, edited=True)
        if isinstance(found, frozenset):
            return part.larger(found)
    return None


@contextmanager
def read_part(part: FleetPart) -> Iterator[tuple[FleetPart, Snapshot, Fleet | None]]:
    """Read a part, with all that lies in one file with it: the part, its files and its fleet. If that shows that more
    must be looked at: the larger part, and no fleet."""
    part = part.closed()
    with part.question.snapshot(part.paths, part.refs) as snapshot:
        fleet = assemble(snapshot, partial=True)
        reading = Reading(part, fleet)
        if (larger := noticed(part, AFTER_READING, reading)) is not None:
            yield larger, snapshot, None
        else:
            yield replace(part, standing=reading.standing), snapshot, fleet
