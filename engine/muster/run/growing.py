"""Enlarging a part if reading or deciding it shows that more must be evaluated (see `muster.run.affected`)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from muster.data.kinds import ALL
from muster.data.snapshot import Snapshot
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Beyond, Fleet
from muster.fleet.shared import OF_CLUSTERS
from muster.rules.checks.validate import validate
from muster.run.affected import AFTER_READING, Affects, ChangeRow, Reading, require_record
from muster.run.homes import kind_name, read_summaries
from muster.run.part import FleetPart
from muster.run.question import WholeNeeded

M = TypeVar("M")


def noticed(part: FleetPart, rows: Iterable[ChangeRow[M]], moment: M) -> FleetPart | None:
    """Return the larger part that changes require; None if this one is enough. WholeNeeded if only the whole fleet
    is."""
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
            assert isinstance(moment, Reading), "policies are compared once they are read"
            concerned = _homes_concerned(part, moment.policy_files)
            return part.larger(concerned, wide=True, edited=True)
        if isinstance(found, frozenset):
            return part.larger(found)
    return None


def _homes_concerned(part: FleetPart, policy_files: frozenset[str]) -> frozenset[int]:
    """Return the neighbourhoods with summaries that edits of policies concern. WholeNeeded if that is not known."""
    from muster.rules.affected import AffectsAll, affected_clusters  # a check never needs this

    question, state, facts = part.question, part.state, part.facts
    paths = {file.path for file in state.context()} | policy_files | part.touched.unknown
    snapshot_before = question.at(facts.commit).base(paths, ())
    before = validate(assemble(snapshot_before))
    snapshot_now = question.snapshot(paths, ())
    after = validate(assemble(snapshot_now))
    for one in (before, after):
        require_record(one, ())
    if before.settings.spec != after.settings.spec:
        raise WholeNeeded("the Fleet's settings changed")
    known = state.summaries(state.whole(), read_summaries)
    summaries = known.values()
    objects = {obj.id: obj for summary in summaries for obj in summary.objects}
    decided = {id_: found for summary in summaries for id_, found in summary.decisions()}
    fleet_now = replace(after, objects={**objects, **after.objects}, decided=decided)
    totals = facts.totals
    counts = {kind: totals.get(f"kind {kind_name(kind)}", 0) - len(fleet_now.of(kind)) for kind in ALL}
    fleet_now = replace(fleet_now, beyond=Beyond(counts=counts))
    try:
        found = affected_clusters(fleet_now, before, after, question.instant, OF_CLUSTERS)
    except AffectsAll as error:
        raise WholeNeeded(str(error)) from None
    names = {
        name for name, summary in known.items() if summary.pressed or any(obj.id in found for obj in summary.objects)
    }
    return frozenset(state.of_names(names) | state.failing())


def read_part(part: FleetPart) -> tuple[FleetPart, Snapshot, Fleet | None]:
    """Read a part, with everything in the same files, and return it, its files and its fleet. If that shows that more
    must be evaluated, return the larger part, and None instead of the fleet."""
    part = part.closed()
    snapshot = part.question.snapshot(part.paths, part.refs)
    fleet = assemble(snapshot, partial=True)
    reading = Reading(part, fleet)
    if (larger := noticed(part, AFTER_READING, reading)) is not None:
        return larger, snapshot, None
    return replace(part, standing=reading.standing), snapshot, fleet
