"""What may let a Rollout go on: what keeps clusters from starting, limits of its stages, and clusters that pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, PLACEMENT
from muster.data.names import few
from muster.data.source import Layer
from muster.data.tree import At, Tree, dig, mapping_at, mappings_at
from muster.features.explain.how.candidates import Candidate, Steps, numbers, without
from muster.features.explain.how.goals import Goal, chosen_of, entries_of_rollout
from muster.features.explain.how.holders import budget_limits, override, to_release, wide_overrides
from muster.features.forecast.success import with_gates
from muster.features.whatif.supposing import Supposition
from muster.fleet.fleet import Fleet
from muster.rules.progress.step import SUCCEEDED
from muster.rules.progress.strategy import BODIES

#: Of so many clusters each alone is tried: to succeed, and to be allowed to start.
_MOST: Final = 10
_SWITCHES: Final = ("paused", "windows")
_TIMES: Final = ("minSuccessTime", "progressDeadline")


def to_go_on(fleet: Fleet, goal: Goal, now: datetime) -> Iterator[Candidate | Steps]:
    """Yield what may let a Rollout go on."""
    id_ = goal.object
    obj = fleet.objects[id_]
    for held in goal.held:
        yield from to_release(fleet, held, now)
    entries = entries_of_rollout(fleet, id_)
    revision = dig(fleet.previous.get(id_), "status", "revision")
    flying = [name for name, entry in entries.items() if entry.revision == revision and entry.state != SUCCEEDED]
    alone = [_passing(id_, [name], now) for name in flying[:_MOST]]
    yield from alone
    if len(flying) > 1:
        yield replace(_passing(id_, flying, now), parts=tuple(candidate.text for candidate in alone))
    yield from _switches(obj.spec, id_)
    for at, limits in _limits(obj.spec):
        yield from _of_limits(id_, at, limits, len(entries) + len(fleet.clusters()))
    started = {name for name, entry in entries.items() if entry.revision == revision}
    waiting = sorted(chosen_of(fleet, _placement(obj.spec, id_)) - started)
    yield from (override(MANAGED_CLUSTER.id(name), now) for name in waiting[:_MOST])
    yield from wide_overrides(fleet, now)
    yield from budget_limits(fleet)


def _placement(spec: Mapping[str, Tree], id_: ObjectId) -> ObjectId:
    return PLACEMENT.id(str(dig(spec, "placementRef", "name")), id_.namespace)


def _switches(spec: Mapping[str, Tree], id_: ObjectId) -> Iterator[Candidate]:
    """What stops all clusters, in the whole Rollout and in each stage."""
    yield from (without(f"remove {name}", id_, ("spec", name)) for name in _SWITCHES if spec.get(name))
    for index, stage in enumerate(mappings_at(spec, "stages")):
        for name in ("approval", "windows"):
            if stage.get(name):
                yield without(f"remove {name} of the stage {stage.get('name')}", id_, ("spec", "stages", index, name))


def _limits(spec: Mapping[str, Tree]) -> Iterator[tuple[At, Mapping[str, Tree]]]:
    """The limits of the strategy or of each stage, with their path."""
    stages = mappings_at(spec, "stages")
    yield from ((("spec", "stages", index), stage) for index, stage in enumerate(stages))
    if not stages and (name := BODIES.get(str(dig(spec, "strategy", "type")))) is not None:
        yield ("spec", "strategy", name), mapping_at(spec, "strategy", name)


def _of_limits(id_: ObjectId, at: At, limits: Mapping[str, Tree], most: int) -> Iterator[Candidate | Steps]:
    stage = f" of the stage {limits['name']}" if "name" in limits else ""
    for name in ("maxConcurrency", "maxFailures"):
        value = limits.get(name)
        if name in limits or name == "maxFailures":
            first = value + 1 if isinstance(value, int) else 1
            yield numbers(name, id_, (*at, name), range(first, max(most, first) + 1), subject=stage)
    yield from (without(f"remove {name}{stage}", id_, (*at, name)) for name in _TIMES if name in limits)
    for index, gate in enumerate(mappings_at(limits, "gate")):
        yield without(f"remove the gate {gate.get('name')}{stage}", id_, (*at, "gate", index))


def _passing(id_: ObjectId, names: Sequence[str], now: datetime) -> Candidate:
    """Clusters that report and pass the gates, whatever these ask for."""
    quoted = ", ".join(f"'{name}'" for name in names)

    def succeed(supposition: Supposition) -> None:
        for name in names:
            supposition.renew(name, now)
            supposition.report(MANAGED_CLUSTER.id(name), MANAGED_CLUSTER.headline, "True", now)
        obj = supposition.fleet.objects[id_]
        gates = [spec for spec in (obj.spec, *mappings_at(obj.spec, "stages")) if spec.get("gate")]
        for part in obj.parts if gates else ():
            if part.layer is Layer.INPUT and isinstance(part.body.get("spec"), dict):
                passes = f"self.metadata.name in [{quoted}]"
                supposition.change(part, partial(with_gates, passes=passes, common=True, whole=False, fails=True))

    return Candidate(
        f"{few(names)} {'succeeds' if len(names) == 1 else 'succeed'}", MANAGED_CLUSTER.id(names[0]), succeed
    )
