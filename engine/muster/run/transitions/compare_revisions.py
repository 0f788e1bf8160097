"""How the derived state of one revision differs from that of another, both decided at the same instant.

Changes by time alone, and changes that the base has not committed yet, are in both: what differs is the branch's doing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

from muster.data.decision import Held
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT_DECISION
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.rules.checks.waivers import shown, with_waivers
from muster.rules.rollouts.policy import Rollout, RolloutStage
from muster.rules.rollouts.table import stages_of
from muster.run.facts import UNTOLD
from muster.run.run import Settled
from muster.run.transition import Transition
from muster.run.transitions.placement_moves import Derivation, chosen, derivation_of, joined, left
from muster.run.transitions.transitions import edited, object_changes, set_of, source_of


@dataclass(frozen=True, slots=True)
class PlannedRollout:
    """A Rollout that begins: its revisions before and now, and its `stages`: what is said of each, and its clusters."""

    id: ObjectId
    before: str
    now: str
    stages: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a branch changes.

    `removed` and `added` are declared objects. `changes` are people's edits of each object and the changes of its
    derived part; `differing` counts the objects whose derived part differs. `sizes` are the numbers of clusters, before
    and now, of each Placement that gains or loses any. `held` are effects that a budget would hold back because of the
    branch, `released` those that it would no longer. `found` are new findings, `mended` those that are gone.
    `rollouts` are the Rollouts that begin.
    """

    changes: Sequence[Transition]
    differing: int = 0
    removed: Sequence[ObjectId] = ()
    added: Sequence[ObjectId] = ()
    sizes: Mapping[ObjectId, tuple[int, int]] | None = None
    held: Sequence[Held] = ()
    released: Sequence[Held] = ()
    found: Sequence[Finding] = ()
    mended: Sequence[Finding] = ()
    rollouts: Sequence[PlannedRollout] = ()

    def __bool__(self) -> bool:
        """Does any derived part differ?"""
        return bool(self.differing)


def compare(base: Settled, head: Settled, paths: Collection[str]) -> Comparison:
    """Compare the runs of a commit and of a branch's head.

    `paths` are the files that differ between them. Each run may have evaluated only a part of the fleet: what neither
    evaluated is the same.
    """
    was, now = _both(derivation_of(base), derivation_of(head))
    differing = sorted(id_ for id_ in {*was, *now} if was.get(id_) != now.get(id_))
    moved, sizes = _placed(head.last.fleet, was, now, differing)
    shown = {change.object for change in moved}
    transitions = [
        change
        for id_ in differing
        if not PLACEMENT_DECISION.has(id_)
        for change in object_changes(
            id_, was.get(id_), now.get(id_), partial(source_of, head.last.fleet, id_), set_of(head.first.fleet, id_)
        )
        if not (id_ in shown and change.fact.sort in UNTOLD)
    ]
    before, after = _declared(base, head, paths)
    edits = list(edited(base.first.fleet, head.first.fleet, _in_files(base, head, paths)))
    names = {(change.object, change.field) for change in edits}
    transitions = [*edits, *(change for change in transitions if (change.object, change.field) not in names)]
    old, new = _held(base), _held(head)
    return Comparison(
        sorted([*moved, *transitions], key=lambda change: (change.object, change.field)),
        len(differing),
        sorted(before - after),
        sorted(after - before),
        sizes,
        [held for key, held in new.items() if key not in old],
        [held for key, held in old.items() if key not in new],
        with_waivers(_only(head.findings, base.findings), head.findings, head.last.now, base.findings),
        _only(base.findings, head.findings),
        list(_begun(head, was, now, differing)),
    )


def _begun(
    head: Settled, was: Mapping[ObjectId, Tree], now: Mapping[ObjectId, Tree], differing: Iterable[ObjectId]
) -> Iterator[PlannedRollout]:
    """The Rollouts that have another revision than before."""
    rollouts = {rollout.id: rollout for rollout in head.last.fleet.compiled.of(Rollout)}
    for id_ in differing:
        before, after = (str(dig(bodies.get(id_), "status", "revision") or "") for bodies in (was, now))
        if id_ in rollouts and before != after and after:
            stages = enumerate(stages_of(head.last.fleet, rollouts[id_]), start=1)
            yield PlannedRollout(
                id_, before, after, [(f"{number}. {_stage_text(stage)}", names) for number, (stage, names) in stages]
            )


def _stage_text(stage: RolloutStage) -> str:
    """`europe, 2 at a time, after approval, while hours is open`."""
    size = stage.limits.max_concurrency
    number = f"{float(size):.0%}" if isinstance(size, Fraction) else size
    pace = f"{number} at a time" if size else ""
    windows = f"while {' or '.join(stage.windows)} is open" if stage.windows else ""
    return ", ".join(filter(None, (stage.name, pace, "after approval" if stage.approval else "", windows)))


def comparison_of(settled: Settled) -> Comparison:
    """Return what a reconcile would change, in the same form: the derived state before and after."""
    derivation = derivation_of(settled)
    _, sizes = _placed(settled.last.fleet, derivation.before, derivation.after, settled.last.fleet.decided)
    findings = shown(settled.findings, settled.last.now)
    return Comparison(settled.changes, len(settled.files), sizes=sizes, held=settled.last.fleet.held, found=findings)


def _both(base: Derivation, head: Derivation) -> tuple[dict[ObjectId, Tree], dict[ObjectId, Tree]]:
    """The derived parts after each run, of all objects that either run evaluated."""

    def after(derivation: Derivation, other: Derivation) -> dict[ObjectId, Tree]:
        unchanged = {id_: body for id_, body in other.before.items() if id_ not in derivation.looked_at}
        return {**unchanged, **derivation.after}

    return after(base, head), after(head, base)


def _placed(
    fleet: Fleet, was: Mapping[ObjectId, Tree], now: Mapping[ObjectId, Tree], differing: Iterable[ObjectId]
) -> tuple[list[Transition], dict[ObjectId, tuple[int, int]]]:
    """The clusters that Placements gain and lose, and how many they have before and after."""
    touched = {id_ for id_ in differing if PLACEMENT_DECISION.has(id_)}
    if not touched:
        return [], {}
    before, after = chosen(was.items()), chosen(now.items())
    moved: list[Transition] = []
    sizes: dict[ObjectId, tuple[int, int]] = {}
    for id_ in sorted({*before, *after}):
        old, new = before.get(id_, frozenset()), after.get(id_, frozenset())
        if old == new or (id_ in was and id_ not in now):
            continue
        sizes[id_] = (len(old), len(new))
        moved.extend(joined(id_, name) for name in sorted(new - old))
        moved.extend(left(fleet, id_, name) for name in sorted(old - new))
    return moved, sizes


def _in_files(base: Settled, head: Settled, paths: Collection[str]) -> set[ObjectId]:
    """The objects with a part in any of these files."""
    names = set(paths)
    return {
        part.id for revision in (base, head) for part in revision.first.fleet.read.parts if part.source.path in names
    }


def _declared(base: Settled, head: Settled, paths: Collection[str]) -> tuple[set[ObjectId], set[ObjectId]]:
    """The objects that each declares; only those in the files that differ, if a run was partial."""
    fleets = base.first.fleet, head.first.fleet
    before, after = (set(fleet.objects) for fleet in fleets)
    if any(fleet.partial for fleet in fleets):
        in_files = _in_files(base, head, paths)
        return before & in_files, after & in_files
    return before, after


def _held(settled: Settled) -> dict[tuple[ObjectId, str], Held]:
    return {(held.object, held.effect): held for held in settled.last.fleet.held}


def _only(findings: Iterable[Finding], others: Iterable[Finding]) -> list[Finding]:
    """The findings that are not among the others. Line numbers do not count: they change with the lines above."""
    matches = Counter(other.identity for other in others)
    only = []
    for finding in findings:
        if matches[finding.identity]:
            matches[finding.identity] -= 1
        else:
            only.append(finding)
    return only
