"""Passes until rest: an evaluation may leave a further step that is due at the same instant.

For example, a pool that deletes a cluster can create its successor only in the next pass. `settle` evaluates, puts the
derived files over the snapshot and evaluates again, until a pass changes nothing. If a pass gives the result of an
earlier one, this would never end: the objects that differ in between do not rest. They keep the last run's derived
state, as broken objects do, so that what depends on them stays consistent, and the others are settled without them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import NOTHING_PUBLISHED, Memory
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CONDITION_POLICY, REMEDY, SCORE_POLICY, TAINT_POLICY
from muster.data.snapshot import Snapshot
from muster.dataclass import dataclass
from muster.fleet.derived import content_id
from muster.fleet.faults import guarded
from muster.fleet.fleet import Fleet
from muster.rules.policies.lazy import Witness
from muster.run.overlay import Overlay
from muster.run.run import Files, Run, Settled
from muster.run.scope import WHOLE, Scope
from muster.run.transition import Transition, net_changes
from muster.run.transitions.transitions import transitions_of
from muster.run.unrest import Unrest, unrest_among

#: Evaluates with derived files over the snapshot; the objects that do not rest keep their derived state.
_Evaluate: TypeAlias = Callable[[Files, Mapping[ObjectId, Finding]], Run]


def settle(
    snapshot: Snapshot,
    now: datetime,
    published: Memory = NOTHING_PUBLISHED,
    witness: Witness | None = None,
    scope: Scope = WHOLE,
) -> Settled:
    """Evaluate a snapshot until nothing more is due at `now`, at most `Fleet.spec.limits.passes` times.

    A `witness` records the first pass.
    """
    from muster.run.evaluate import evaluate_snapshot  # and all stages: a run without news needs none

    def evaluate(files: Files, restless: Mapping[ObjectId, Finding]) -> Run:
        return evaluate_snapshot(
            Overlay(snapshot, files) if files else snapshot, now, published, restless, None if files else witness, scope
        )

    unrest = Unrest()
    while True:
        walk = _walk(evaluate, unrest)
        if walk.rested:
            transitions = net_changes(walk.changes)
            return Settled(walk.first, walk.last, walk.files, transitions, not unrest, frozenset(walk.faults))
        unrest_now = unrest_among(walk.first.fleet, walk.states, walk.last, unrest)
        if not unrest_now.objects - unrest.objects:
            return _nothing(walk, unrest_now)
        unrest = unrest_now


@dataclass(frozen=True, slots=True)
class _PassWalk:
    """Successive passes. `states` are the files after each pass of a cycle, or of the last half of too many passes;
    empty if the passes came to rest."""

    first: Run
    last: Run
    files: Files
    changes: list[Transition]
    faults: list[Finding]
    states: tuple[Files, ...] = ()

    @property
    def rested(self) -> bool:
        return not self.states


def _walk(evaluate: _Evaluate, unrest: Unrest) -> _PassWalk:
    first = run = evaluate({}, unrest.findings)
    files = dict(run.files)
    transitions: list[Transition] = []
    faults = _record(run, transitions)
    states: list[Files] = [{}]
    seen = {_key({}): 0}
    while run.files and goes_on(run):
        state = _real(first, files)
        if (earlier := seen.setdefault(_key(state), len(states))) < len(states):
            return _PassWalk(first, run, state, transitions, faults, tuple(states[earlier:]))
        states.append(state)
        if len(states) > first.fleet.settings.passes:
            if len(states) == 2 and not _due(run):
                break  # one pass is all that the fleet allows, and nothing says that it needs another
            return _PassWalk(first, run, state, transitions, faults, tuple(states[len(states) // 2 :]))
        run = evaluate(files, unrest.findings)
        files.update(run.files)
        faults.extend(_record(run, transitions))
    return _PassWalk(first, run, _real(first, files), transitions, faults)


def _record(run: Run, transitions: list[Transition]) -> list[Finding]:
    """Add a run's changes to `transitions`; return muster's faults in writing files and describing changes."""
    changed = guarded("telling what changes", lambda: transitions_of(run.fleet), "it is committed untold")
    transitions.extend(change for change in changed if isinstance(change, Transition))
    return [*run.unwritten, *(change for change in changed if isinstance(change, Finding))]


def _nothing(walk: _PassWalk, unrest: Unrest) -> Settled:
    """Return a result without files: the fleet does not rest even without the objects that were set aside."""
    fleet = walk.first.fleet
    stays = replace(fleet, decided={}, pulses=(), held=(), findings=(*fleet.findings, *unrest.findings.values()))
    return Settled(walk.first, replace(walk.first, fleet=stays), {}, [], rested=False, faults=frozenset(walk.faults))


def goes_on(run: Run) -> bool:
    """Can a further pass at the same instant change something?"""
    return _due(run) or _looks_back(run.fleet)


def _due(run: Run) -> bool:
    return run.horizon is not None and run.horizon <= run.now


def _looks_back(fleet: Fleet) -> bool:
    """Does a policy of the fleet read what an earlier run decided: `previous`, or `silent` and `stale`?"""
    specs = (str(obj.spec) for obj in fleet.of(CONDITION_POLICY, TAINT_POLICY, SCORE_POLICY, REMEDY))
    return any(name in spec for spec in specs for name in ("previous", "silent", "stale"))


def _key(files: Files) -> frozenset[tuple[str, str | None]]:
    return frozenset(files.items())


def _real(first: Run, files: Files) -> Files:
    """Return only files that differ from the snapshot's: not those that a later pass has changed back."""
    before = first.fleet.read.derived
    return {
        path: text
        for path, text in files.items()
        if before.get(path) != (None if text is None else content_id(text.encode()))
    }
