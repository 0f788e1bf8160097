"""The states of derived works: how each cluster is doing with the work that it has, before sets decide the next step.

Every derived work is decided again as it is, with the state that follows from its agent's latest report. A cluster that
is silent neither succeeds nor soaks: its work counts as progressing since then, so that a deadline ends it. A failure
stays one. `since` is never earlier than the instant at which the present spec was written: agents keep the time of a
condition that was True for the spec before.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final

from muster.data.decision import OF_CONDITIONS, OF_ITSELF, Because, Decision, Input
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, MANIFEST_WORK, of_kinds
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.progress.step import FAILED, PROGRESSING, TIME_OUT, TO_APPLY
from muster.rules.retention import as_it_stands
from muster.rules.stages import METADATA, SPEC, STATUS, Context, Local
from muster.rules.works.work import (
    BOOK,
    OWNER,
    ROLLOUT,
    WorkState,
    because_of,
    book,
    is_silent,
    reported_true,
    state_of,
)

_SILENT: Final = "its cluster is silent, so it neither succeeds nor soaks"
_KEPT: Final = Because("kept", OF_ITSELF, "its report or its cluster cannot be read, so it keeps its last state")


def stage(view: View, _context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Decide every derived work of a set again, with its state."""
    derived = (Object(id_, view.previous[id_], ()) for id_ in sorted(of_kinds(view.previous, MANIFEST_WORK)))
    return each((work for work in derived if work.labels.get(OWNER)), partial(_work, view, now))


def _work(view: View, now: datetime, work: Object) -> Iterator[Decision]:
    yield from as_it_stands(view, work.id, because_of(work.labels[OWNER]))
    yield state_decision(view, work.id, work.body, now)


def work_body(generation: int, spec: Tree, kept: Tree) -> Tree:
    """As much of a derived work as its state depends on."""
    return {"metadata": {"generation": generation}, "spec": spec, "status": {BOOK[-1]: kept}}


def state_decision(view: View, id_: ObjectId, before: Tree, now: datetime) -> Decision:
    """Decide the state of a work. `before`: its derived part."""
    known = dig(before, *BOOK, ROLLOUT)
    state, since = str(dig(known, "state") or TO_APPLY), try_time(dig(known, "since"))
    written = dig(known, "written")
    if is_silent(view, id_.namespace):
        if state not in (FAILED, TIME_OUT):
            since = since if state in (PROGRESSING, TO_APPLY) and since is not None else now
            state = PROGRESSING
        return _decided(id_, book(state, since or now, (), written), Because("works#silent", _of_cluster(id_), _SILENT))
    obj = view.objects.get(id_)
    if id_ in view.broken or (obj is None and view.unidentified):
        return _decided(id_, dig(before, *BOOK) or book(state, since or now, (), written), _KEPT)
    status = dig(obj.body, "status") if obj is not None else None
    generation = dig(before, "metadata", "generation") or 0
    found = state_of(generation, dig(before, "spec"), status)
    begun = _begun(found, state, since, try_time(written), now)
    because = Because(f"works#{found.state}", OF_CONDITIONS, f"{found.why}, since {format_time(begun)}")
    return _decided(id_, book(found.state, begun, reported_true(status, generation), written), because)


def _begun(found: WorkState, state: str, since: datetime | None, written: datetime | None, now: datetime) -> datetime:
    """Since when: as the agent says, else since muster saw it first; not before the spec was written."""
    first_seen = since if since is not None and state == found.state else now
    said = found.since or first_seen
    return said if written is None else max(said, written)


def _decided(id_: ObjectId, kept: Tree, because: Because) -> Decision:
    return Decision(id_, BOOK, kept, because)


def _of_cluster(id_: ObjectId) -> tuple[Input, ...]:
    return (Input(("status", "conditions", (MANAGED_CLUSTER.headline,)), MANAGED_CLUSTER.id(id_.namespace)),)


STAGE = Local("works", stage, derives=(((MANIFEST_WORK,), (METADATA, SPEC, STATUS)),))
