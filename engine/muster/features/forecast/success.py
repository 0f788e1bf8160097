"""The optimistic forecast: every cluster succeeds with its revision or work.

- A cluster that a Rollout gives a revision passes its gates after its usual time: an annotation of the cluster says so,
  and each gate's expression is edited to be true also then. Nothing else is decided differently.
- The agent of a cluster that a set gives a work reports it as applied, available and done.
- A person approves each rollout that asks for approval, as soon as it does.
- Agents that are not silent keep renewing.

What has failed before the forecast begins stays as it is, and so do silent clusters. Windows, freezes, soak times,
budgets and all other approvals hold as ever.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, MANIFEST_WORK, ROLLOUT, of_kinds
from muster.data.printable import printable
from muster.data.source import Layer
from muster.data.times import brief, earliest, format_time, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.data.yaml.emitter import emit
from muster.dataclass import dataclass
from muster.features.forecast.forecast import RenewingAgents
from muster.features.forecast.stages import RolloutForecasts, SupposedApproval, rollout_document, rollouts_text
from muster.features.forecast.usual import UsualTime, usual_times
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import (
    FOLDER,
    Beat,
    Supposition,
    asks_for_rollout,
    renew_ahead,
    status_before,
)
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.rules.progress.step import PROGRESSING, TO_APPLY
from muster.rules.rollouts.policy import ClusterRollout
from muster.rules.stages import ROLLOUTS
from muster.rules.works.work import APPLIED, AVAILABLE, BOOK, OWNER, owner_of
from muster.rules.works.work import ROLLOUT as STATE
from muster.run.run import Settled

_SECOND: Final = timedelta(seconds=1)
#: The start of the annotations of clusters that pass: the rest is the Rollout's number, the value a revision.
_ANNOTATION: Final = "all-well.muster.dev/rollout-"
#: The gate of a Rollout without any.
_AVAILABLE: Final = {"name": "available", "expression": f"status(conditions, '{MANAGED_CLUSTER.headline}') == 'True'"}


@dataclass
class SupposedSuccess:
    """What agents and people do from the start of a forecast, as edits to make before and after its runs.

    `usual`: how long a cluster takes, by Rollout and by set of works; a second where it is not known. `approvals`:
    those supposed so far, in the order in which they were asked for; `forecasts`: how far all rollouts are.
    """

    fleet: Fleet
    start: datetime
    usual: Mapping[ObjectId, UsualTime] = field(default_factory=dict)
    approvals: list[SupposedApproval] = field(default_factory=list)
    forecasts: RolloutForecasts = field(init=False)
    _supposition: Supposition = field(init=False)
    _numbers: dict[str, int] = field(default_factory=dict)
    _passing: dict[tuple[ObjectId, str], tuple[datetime, str]] = field(default_factory=dict)
    _passed: dict[tuple[ObjectId, str], str] = field(default_factory=dict)
    _due: dict[ObjectId, tuple[datetime, int]] = field(default_factory=dict)
    _reported: dict[ObjectId, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._supposition, self.forecasts = Supposition(self.fleet), RolloutForecasts.of(self.fleet)

    def begin(self, rehearsal: Rehearsal, agents: Iterable[Beat], until: datetime) -> None:
        """Suppose what holds from the start. `agents` renew until the end of the forecast."""
        renew_ahead(self._supposition, agents, until)
        for number, obj in enumerate(self.fleet.of(ROLLOUT)):
            self._numbers[f"{obj.id.namespace}/{obj.id.name}"] = number
            self._edit_gates(obj, f"{_ANNOTATION}{number}")
        for id_ in of_kinds(self.fleet.previous, MANAGED_CLUSTER):
            self._expect_passing(id_, mapping_at(self.fleet.previous[id_], *ROLLOUTS), self.start)
        for id_ in of_kinds(self.fleet.previous, MANIFEST_WORK):
            self._expect_report(self.fleet, id_, self.fleet.previous[id_], self.start)
        rehearsal.suppose(self._supposition.take())

    def before(self, rehearsal: Rehearsal, now: datetime) -> None:
        """Suppose what has happened by an instant: clusters that pass, and reports about works."""
        passing = [key for key, (at, _) in self._passing.items() if at <= now]
        for id_, key in passing:
            _, revision = self._passing.pop((id_, key))
            self._passed[id_, key] = revision
            self._supposition.annotate(id_, f"{_ANNOTATION}{self._numbers[key]}", revision)
        due = [id_ for id_, (at, _) in self._due.items() if at <= now]
        for id_ in due:
            _, generation = self._due.pop(id_)
            self._report(id_, generation, now)
        if passing or due:
            rehearsal.suppose(self._supposition.take())

    def after(self, rehearsal: Rehearsal, settled: Settled) -> datetime | None:
        """Suppose the approvals that a run asks for. Returns when the next run must see that, or a report."""
        fleet, now = settled.last.fleet, settled.last.now
        self.forecasts.look(fleet, now)
        for id_ in of_kinds(fleet.decided, MANIFEST_WORK):
            self._expect_report(fleet, id_, fleet.whole(id_), now + _SECOND)
        for id_ in of_kinds(fleet.decided, MANAGED_CLUSTER):
            entries = {
                str(path[-1]): made.value for path, made in fleet.decisions(id_).items() if path[:-1] == ROLLOUTS
            }
            self._expect_passing(id_, entries, now + _SECOND)
        approved = {(approval.object, approval.effect, approval.asked) for approval in self.approvals}
        new = [
            SupposedApproval(held.object, held.effect, held.wait.topic, held.wait.since)
            for held in fleet.held
            if held.wait is not None
            and asks_for_rollout(held)
            and (held.object, held.effect, held.wait.since) not in approved
        ]
        if new:
            self.approvals += new
            self._supposition.approve(
                (str(approval.object), approval.effect, approval.asked) for approval in self.approvals
            )
            rehearsal.suppose(self._supposition.take())
        expected = (*self._due.values(), *self._passing.values())
        return earliest(*(at for at, _ in expected), now + _SECOND if new else None)

    def _usual(self, id_: ObjectId) -> timedelta:
        return self.usual[id_].median if id_ in self.usual else timedelta()

    # -- Rollouts

    def _edit_gates(self, obj: Object, annotation: str) -> None:
        passes = f"self.metadata.?annotations['{annotation}'].orValue('') == rollout.revision"
        common = bool(obj.spec.get("gate"))
        whole = not common and "stages" not in obj.spec
        for part in obj.parts:
            if part.layer is Layer.INPUT and isinstance(part.body.get("spec"), dict):
                self._supposition.change(part, partial(with_gates, passes=passes, common=common, whole=whole))

    def _expect_passing(self, id_: ObjectId, entries: Mapping[str, Tree], at: datetime) -> None:
        """Expect a cluster to pass the gates of the Rollouts that wait for it, at the earliest at an instant."""
        for key in self._numbers:
            entry = ClusterRollout.read(entries.get(key))
            self._passing.pop((id_, key), None)
            if entry is None or entry.state != PROGRESSING:
                continue
            if self._passed.get((id_, key)) != entry.revision:
                namespace, _, name = key.partition("/")
                usual = self._usual(ROLLOUT.id(name, namespace))
                self._passing[id_, key] = (max(at, entry.since + usual), entry.revision)

    # -- works

    def _expect_report(self, fleet: Fleet, id_: ObjectId, work: Tree, at: datetime) -> None:
        """Expect a report about a derived work that waits for one, at the earliest at an instant."""
        self._due.pop(id_, None)
        generation, owner = dig(work, "metadata", "generation"), mapping_at(work, "metadata", "labels").get(OWNER)
        book = dig(work, *BOOK, STATE)
        if not owner or not isinstance(generation, int) or dig(book, "state") not in (TO_APPLY, PROGRESSING):
            return
        if self._reported.get(id_) == generation or _is_silent(fleet, id_.namespace):
            return
        written = try_time(dig(book, "written")) or at
        self._due[id_] = (max(at, written + self._usual(owner_of(owner))), generation)

    def _report(self, id_: ObjectId, generation: int, now: datetime) -> None:
        self._reported[id_] = generation
        conditions = [
            {
                "type": type_,
                "status": status,
                "reason": "Supposed",
                "message": "",
                "observedGeneration": generation,
                "lastTransitionTime": format_time(now),
            }
            for type_, status in ((APPLIED, "True"), (AVAILABLE, "True"), (PROGRESSING, "False"))
        ]
        obj = self.fleet.objects.get(id_)
        parts = [part for part in obj.parts if part.layer is Layer.INPUT and "status" in part.body] if obj else []
        for part in parts:
            self._supposition.change(part, lambda body: {**body, "status": {"conditions": conditions}})
        if not parts:
            body = MANIFEST_WORK.body({"name": id_.name, "namespace": id_.namespace})
            path = f"{FOLDER}/{MANIFEST_WORK.folder}/{id_.namespace}/{id_.name}.yaml"
            self._supposition.edit(path, emit({**body, "status": {"conditions": conditions}}).encode())


def with_gates(body: Tree, *, passes: str, common: bool, whole: bool, fails: bool = False) -> Tree:
    """A part of a Rollout with gates that are also true if `passes` is. `common`: the Rollout has gates of its own;
    `whole`: it has none at all, and the part that says the revision gets one; `fails`: gates that fail still do."""
    kept = ("onFalse",) if fails else ()

    def edited(gates: Iterable[Tree]) -> list[Tree]:
        return [
            {
                "name": gate["name"],
                "expression": f"({passes}) || ({gate['expression']})",
                **{name: gate[name] for name in kept if name in gate},
            }
            if isinstance(gate, dict) and {"name", "expression"} <= gate.keys()
            else gate
            for gate in gates
        ]

    spec = dict(body["spec"])
    if spec.get("gate"):
        spec["gate"] = edited(spec["gate"])
    elif whole and "revision" in spec:
        spec["gate"] = edited([_AVAILABLE])
    if isinstance(spec.get("stages"), list):
        spec["stages"] = [
            stage
            if not isinstance(stage, dict) or (common and not stage.get("gate"))
            else {**stage, "gate": edited(stage.get("gate") or [_AVAILABLE])}
            for stage in spec["stages"]
        ]
    return {**body, "spec": spec}


def _is_silent(fleet: Fleet, cluster: str) -> bool:
    """Is a cluster silent, by the present run, or if that did not look at it by the last?"""
    id_ = MANAGED_CLUSTER.id(cluster)
    now = fleet.now(id_, "status", "conditions", (MANAGED_CLUSTER.headline,))
    status = dig(now, "status") if now is not None else status_before(fleet, id_, MANAGED_CLUSTER.headline)
    return status not in ("True", "False")


# -- as people ask for it


def suppose_success(trial: Rehearsal, renewing: RenewingAgents, start: datetime, until: datetime) -> SupposedSuccess:
    """Suppose in a rehearsal that all goes well, with the usual times that the repository knows."""
    fleet = renewing.fleet
    success = SupposedSuccess(fleet, start, usual_times(trial.repository, trial.commit, fleet))
    success.begin(trial, renewing.agents, until)
    return success


def all_well_text(success: SupposedSuccess) -> str:
    """Return how each rollout goes, and what was supposed."""
    shown = success.forecasts.shown
    text = rollouts_text(shown, success.approvals, success.start)
    supposed = [f"  {rollout.object}: {_usual_text(success.usual.get(rollout.object))}" for rollout in shown]
    return "\n".join((text, "Supposed:", *map(printable, supposed), *_RULES)) + "\n" if shown else text


_RULES: Final = (
    "  What has failed stays so, and so do silent clusters. All other agents keep renewing.",
    "  Approvals of rollouts are given as soon as they are asked for.",
)


def _usual_text(usual: UsualTime | None) -> str:
    if usual is None:
        return "clusters succeed one second after they get it, as no earlier time is known"
    seen = "the only earlier time" if usual.times == 1 else f"the median of {usual.times} earlier times"
    return f"clusters succeed {brief(usual.median)} after they get it, {seen}"


def all_well_document(success: SupposedSuccess, moments: list[Tree]) -> Tree:
    """Return the same as JSON data, with what happens."""
    rollouts = []
    for rollout in success.forecasts.shown:
        usual = success.usual.get(rollout.object)
        usual_time = {"seconds": int(usual.median.total_seconds()), "times": usual.times} if usual is not None else None
        rollouts.append({**rollout_document(rollout, success.approvals), "usualTime": usual_time})
    return {"moments": moments, "rollouts": rollouts}
