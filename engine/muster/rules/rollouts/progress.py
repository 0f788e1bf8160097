"""How each cluster is doing with the revision that it should have, by its gates; and what a step changes for it.

A cluster succeeds when every gate is true. It fails when a gate with `onFalse: Fail` is false, or when it had succeeded
and a gate is false again; it times out `progressDeadline` after it got the revision, or after it stopped succeeding. A
silent cluster does neither, until the deadline. `muster.rules.progress.states` is the rule from run to run.

What changes at an instant holds until the next second: a gate that is true at the instant at which a cluster gets a
revision speaks of the revision before. So each step takes at least a second.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from muster import cel
from muster.data.decision import OF_CONDITIONS, OF_ITSELF, Because, Decision, Failed
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, MANAGED_CLUSTER, MANIFEST_WORK, ROLLOUT
from muster.data.times import earliest, format_time, second_after
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import PolicyScope, WitnessedScope
from muster.rules.policies.scopes import Scopes
from muster.rules.progress.states import Progress, heard, is_available, is_silent, last_sign_of, unheard
from muster.rules.progress.step import FAILED, PROGRESSING, SUCCEEDED, judged
from muster.rules.progress.strategy import Strategy
from muster.rules.rollouts.policy import ClusterRollout, Gate, Rollout, gate_scope
from muster.rules.stages import ROLLOUTS, Local, ObjectTerm
from muster.rules.unread_authors import EntryAuthor

_GONE = Because("rollouts", OF_ITSELF, "the cluster left the Rollout")


@dataclass(frozen=True, slots=True)
class RolloutMoves(ObjectTerm):
    """What a step changes for a cluster: entries by Rollout, None for one that it leaves."""

    entries: Mapping[str, ClusterRollout | None]


def stage(view: View, now: datetime, rules: InForce) -> Iterator[Decision | Failed | Finding]:
    """Decide the state of every cluster in every Rollout that has given it a revision."""
    failures = Failures()
    progress = _Progress(view, Scopes.of(view, rules, now), failures, now)
    yield from each(view.of(MANAGED_CLUSTER), progress.decide)
    yield from failures.failed


@dataclass(frozen=True)
class _Progress:
    view: View
    scopes: Scopes
    failures: Failures
    now: datetime

    @cached_property
    def rollouts(self) -> Mapping[str, Rollout]:
        return {rollout.key: rollout for rollout in self.scopes.rules.compiled.of(Rollout)}

    @cached_property
    def works(self) -> Mapping[str, list[Object]]:
        """The works by the namespace of their cluster."""
        return grouped((work.id.namespace, work) for work in self.view.of(MANIFEST_WORK))

    def decide(self, obj: Object) -> Iterator[Decision]:
        entries = mapping_at(self.view.previous.get(obj.id), *ROLLOUTS)
        for key, value in entries.items():
            rollout, entry = self.rollouts.get(key), ClusterRollout.read(value)
            if rollout is not None and entry is not None:
                yield self._judged(obj, rollout, entry)

    def _judged(self, obj: Object, rollout: Rollout, entry: ClusterRollout) -> Decision:
        path = (*ROLLOUTS, rollout.key)
        if entry.since >= self.now:  # it has just changed
            return Decision(obj.id, path, entry.entry(), rollout.because, second_after(self.now))
        state, gate = self._passed(obj, rollout, entry)
        because = gate.because if gate is not None else rollout.because
        flips = self.scopes.clock.horizon
        before = Progress(entry.state, entry.since, entry.silent_after)
        if state is None:
            progress = unheard(before, last_sign_of(self.view, obj.id, self.now))
            name, because = obj.kind.headline, Because(str(rollout.id), OF_CONDITIONS, "silent")
        else:
            progress = heard(before, state, self.now)
            name = gate.name if gate is not None else ""
            if state == PROGRESSING and not rollout.stage(entry.stage).gates:
                name, because = obj.kind.headline, Because(str(rollout.id), OF_CONDITIONS, "not available")
        judged_entry = replace(
            entry, state=progress.state, since=progress.since, silent_after=progress.silent_after, gate=name
        )
        limits = rollout.stage(entry.stage).limits
        done = judged(judged_entry.status(obj.id.name), Strategy(limits=limits), self.now)
        if progress.state != FAILED:  # a failure is one before and after its deadline
            judged_entry = replace(judged_entry, state=done.state, since=done.since or judged_entry.since)
        # The end of a soak changes nothing here: the step waits for it.
        ahead = second_after(self.now) if judged_entry.since == self.now else None if done.soaking else done.until
        ahead = None if ahead is not None and ahead <= self.now else ahead
        return Decision(
            obj.id, path, judged_entry.entry(), because._replace(text=_text(judged_entry)), earliest(flips, ahead)
        )

    def _passed(self, obj: Object, rollout: Rollout, entry: ClusterRollout) -> tuple[str | None, Gate | None]:
        """The state by the gates, and the one that decided; no state if nothing is heard of the cluster."""
        self.scopes.clock.reset()
        if is_silent(self.view, obj.id):
            return None, None
        gates = rollout.stage(entry.stage).gates
        if not gates:
            return (SUCCEEDED if is_available(self.view, obj.id) else self._state_at_false_gate(entry)), None
        scope = self._scope(obj, rollout, entry)
        for gate in gates:
            try:
                passes = scope.evaluate(gate.when, gate.at)
            except cel.EvaluationError as error:
                self.failures.add(rollout, PolicyFailure(gate.name, gate.at, error), obj.id)
                return PROGRESSING, gate
            if passes is not True:
                return (FAILED if gate.fails else self._state_at_false_gate(entry)), gate
        return SUCCEEDED, None

    @staticmethod
    def _state_at_false_gate(entry: ClusterRollout) -> str:
        """What a gate that is false means: not yet, or no longer. After a silence it is not yet."""
        return FAILED if entry.state == SUCCEEDED and entry.silent_after is None else PROGRESSING

    def _scope(self, obj: Object, rollout: Rollout, entry: ClusterRollout) -> PolicyScope:
        base, share = self.scopes.base(obj), self.scopes.rules.share(CLUSTERS)
        note = self.scopes.note(rollout.id, obj.id)
        scope = PolicyScope(base, {}, share) if note is None else WitnessedScope(base, {}, share, note)
        works = {work.id.name: self.view.whole(work.id) for work in self.works.get(obj.id.name, ())}
        scope.update(gate_scope(rollout, entry, works))
        scope["params"], scope["now"] = {}, self.scopes.clock.now
        return scope


def _text(entry: ClusterRollout) -> str:
    gate = f", gate {entry.gate}" if entry.gate else ""
    silent = f", silent after {format_time(entry.silent_after)}" if entry.silent_after is not None else ""
    return f"{entry.revision} {entry.state} since {format_time(entry.since)}{gate}{silent}"


def move(view: View, now: datetime, rules: InForce, moves: Mapping[ObjectId, RolloutMoves]) -> Iterator[Decision]:
    """Give clusters the revisions that the steps of this run decided."""
    for obj in view.of(MANAGED_CLUSTER):
        cluster_moves = moves.get(obj.id)
        for key, entry in cluster_moves.entries.items() if cluster_moves is not None else ():
            rollout = next(candidate for candidate in rules.compiled.of(Rollout) if candidate.key == key)
            value: Tree = None if entry is None else entry.entry()
            because = _GONE if entry is None else rollout.because._replace(text=_text(entry))
            ahead = second_after(now) if entry is not None and entry.since == now else None
            yield Decision(obj.id, (*ROLLOUTS, key), value, because, ahead)


def entries_of(view: View, clusters: Iterable[ObjectId], key: str) -> Mapping[str, ClusterRollout]:
    """The clusters' entries of a Rollout as this run has decided them, by name."""
    entries = {}
    for id_ in clusters:
        value = view.now(id_, *ROLLOUTS, key)
        if value is None:  # what a failed stage left as it was is in one piece
            value = dig(view.now(id_, *ROLLOUTS), key)
        if value is None and id_ in view.broken:
            value = dig(view.previous.get(id_), *ROLLOUTS, key)
        if (entry := ClusterRollout.read(value)) is not None:
            entries[id_.name] = entry
    return entries


STAGE = Local(
    "rollout gates",
    stage,
    derives=(((MANAGED_CLUSTER,), (ROLLOUTS,)),),
    authors=(EntryAuthor(ROLLOUT, (MANAGED_CLUSTER,), ROLLOUTS),),
)
MOVES = Local("rollout moves", move, derives=(((MANAGED_CLUSTER,), (ROLLOUTS,)),))
