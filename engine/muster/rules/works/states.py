"""The states of derived works: how each cluster is doing with the work that it has, before sets decide the next step.

Every derived work is decided again as it is, with the state that follows from its agent's latest report, by the rule of
`muster.rules.progress.states`.
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
from muster.rules.progress.states import Progress, heard, is_silent, last_sign_of, unheard
from muster.rules.progress.step import TO_APPLY
from muster.rules.retention import as_it_stands
from muster.rules.stages import METADATA, SPEC, STATUS, Local
from muster.rules.works.work import (
    BOOK,
    OWNER,
    ROLLOUT,
    because_of,
    book,
    reported_true,
    state_of,
)

_SILENT: Final = "its cluster is silent, so it neither succeeds nor soaks"
_KEPT: Final = Because("kept", OF_ITSELF, "its report or its cluster cannot be read, so it keeps its last state")


def stage(view: View, now: datetime) -> Iterator[Decision | Finding]:
    """Decide every derived work of a set again, with its state."""
    derived = (Object(id_, view.previous[id_], ()) for id_ in sorted(of_kinds(view.previous, MANIFEST_WORK)))
    return each((work for work in derived if work.labels.get(OWNER)), partial(_work, view, now))


def _work(view: View, now: datetime, work: Object) -> Iterator[Decision]:
    yield from as_it_stands(view, work.id, because_of(work.labels[OWNER]))
    yield state_decision(view, work.id, work.body, now)


def work_body(generation: int, spec: Tree, record: Tree) -> Tree:
    """As much of a derived work as its state depends on."""
    return {"metadata": {"generation": generation}, "spec": spec, "status": {BOOK[-1]: record}}


def state_decision(view: View, id_: ObjectId, before: Tree, now: datetime) -> Decision:
    """Decide the state of a work. `before`: its derived part."""
    recorded = dig(before, *BOOK, ROLLOUT)
    written, progress = dig(recorded, "written"), _progress_of(recorded)
    cluster = MANAGED_CLUSTER.id(id_.namespace)
    if is_silent(view, cluster):
        after = unheard(progress or Progress(TO_APPLY, now), last_sign_of(view, cluster, now))
        return Decision(id_, BOOK, book(after, (), written), Because("works#silent", _of_cluster(cluster), _SILENT))
    obj = view.objects.get(id_)
    if view.is_unread(id_):
        record = dig(before, *BOOK) or book(progress or Progress(TO_APPLY, now), (), written)
        return Decision(id_, BOOK, record, _KEPT)
    status = dig(obj.body, "status") if obj is not None else None
    generation = dig(before, "metadata", "generation") or 0
    state = state_of(generation, dig(before, "spec"), status)
    # A work that no run has seen, of a live hub, is as old as its agent says.
    first = Progress(state.state, min(state.since or now, now))
    after = heard(progress, state.state, now) if progress is not None else first
    because = Because(f"works#{after.state}", OF_CONDITIONS, f"{state.why}, since {format_time(after.since)}")
    return Decision(id_, BOOK, book(after, reported_true(status, generation), written), because)


def _progress_of(recorded: Tree) -> Progress | None:
    """What the last run recorded."""
    since = try_time(dig(recorded, "since"))
    if since is None:
        return None
    return Progress(str(dig(recorded, "state") or TO_APPLY), since, try_time(dig(recorded, "silentAfter")))


def _of_cluster(cluster: ObjectId) -> tuple[Input, ...]:
    return (Input(("status", "conditions", (MANAGED_CLUSTER.headline,)), cluster),)


STAGE = Local("works", stage, derives=(((MANIFEST_WORK,), (METADATA, SPEC, STATUS)),))
