"""What releases a held effect: an approval, an override, or another limit of what holds it."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from muster.data.agentref import proposal_branch
from muster.data.decision import Held
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTER_POOL, DISRUPTION_BUDGET, FLEET, MANAGED_CLUSTER, is_cluster
from muster.data.times import format_time, later
from muster.data.tree import Tree, dig, mappings_at
from muster.features.explain.how.candidates import Candidate, Steps, numbers, setting, without
from muster.features.explain.how.placements import MORE, more_clusters
from muster.features.whatif.supposing import Supposition
from muster.fleet.fleet import Fleet
from muster.rules.effects.approval import MOVE
from muster.rules.effects.budget import ALLOW_DISRUPTION, fleet_id
from muster.rules.effects.freeze import FREEZES, PREFIX

#: For how long an override is supposed.
_WHILE: Final = timedelta(hours=1)
#: The limits of a budget.
_LIMITS: Final = ("maxDisrupted", "maxRemoved", "minAvailableBackends")


def to_release(fleet: Fleet, held: Held, now: datetime) -> Iterator[Candidate | Steps]:
    """Yield what may release a held effect: what needs no change of a declared object first."""
    if held.wait is not None and not held.wait.approved:
        yield approval(held)
    yield from overrides(fleet, held, now)
    yield from budget_limits(fleet)
    yield from _pool_limit(fleet, held)
    yield from _placement_limit(fleet, held)
    yield from without_freezes(fleet)
    yield from _without_topics(fleet)


def approval(held: Held) -> Candidate:
    """Approve an effect that waits for it."""
    wait = held.wait
    assert wait is not None
    name = wait.topic if wait.topic.startswith(PREFIX) else ""
    effects = ((str(held.object), held.effect, wait.since),)

    def approve(supposition: Supposition) -> None:
        supposition.approve(effects, *((name,) if name else ()))

    return Candidate(f"approve it: merge {proposal_branch(wait.topic)}", held.object, approve)


def overrides(fleet: Fleet, held: Held, now: datetime) -> Iterator[Candidate]:
    """Allow the disruption of the cluster, of what a budget counts, or of the whole fleet."""
    if is_cluster(held.object) or CLUSTER_DEPLOYMENT.has(held.object):
        obj = fleet.objects.get(held.object)
        if obj is not None and obj.parts:
            yield override(held.object, now)
    yield from wide_overrides(fleet, now)


def wide_overrides(fleet: Fleet, now: datetime) -> Iterator[Candidate]:
    """Allow the disruption of what a budget counts, or of the whole fleet."""
    yield from (override(obj.id, now) for obj in fleet.policies(DISRUPTION_BUDGET))
    yield override(fleet_id(fleet), now)


def override(id_: ObjectId, now: datetime) -> Candidate:
    """Annotate an object: disruption is allowed for a while."""
    until = format_time(later(now, _WHILE) or now)
    text = f"annotate {id_} with {ALLOW_DISRUPTION}"
    return setting(text, id_, ("metadata", "annotations", ALLOW_DISRUPTION), f"until {until}: supposed")


def budget_limits(fleet: Fleet) -> Iterator[Steps | Candidate]:
    """Other limits of budgets."""
    clusters = len(fleet.clusters())
    for obj in fleet.policies(DISRUPTION_BUDGET):
        for name in _LIMITS:
            if name in obj.spec or name != _LIMITS[-1]:
                yield numbers(
                    name, obj.id, ("spec", name), _around(obj.spec.get(name), name, clusters), subject=f" of {obj.id}"
                )
        if obj.spec.get("cooldown") != "0s":
            yield setting(f"cooldown 0s of {obj.id}", obj.id, ("spec", "cooldown"), "0s")


def _around(value: Tree, name: str, most: int) -> Sequence[int]:
    """Larger limits, but fewer backends that must serve."""
    if name == _LIMITS[-1]:
        return range(value - 1, -1, -1) if isinstance(value, int) else ()
    return range(value + 1 if isinstance(value, int) else 1, most + 1)


def _pool_limit(fleet: Fleet, held: Held) -> Iterator[Steps]:
    """More clusters of a pool that change at once."""
    pool = next((read.object for read in held.because.inputs if read.object and CLUSTER_POOL.has(read.object)), None)
    if (
        pool is not None
        and pool in fleet.objects
        and isinstance(number := fleet.objects[pool].spec.get("maxConcurrent"), int)
    ):
        values = range(number + 1, number + 1 + MORE)
        yield numbers("maxConcurrent", pool, ("spec", "maxConcurrent"), values, subject=f" of {pool}")


def _placement_limit(fleet: Fleet, held: Held) -> Iterator[Steps]:
    """More clusters for a Placement whose approved move waits for another one's."""
    sort, _, name = held.effect.partition(" ")
    if sort == MOVE and held.object in fleet.objects and MANAGED_CLUSTER.id(name) in fleet.objects:
        yield from more_clusters(fleet, held.object)


def without_freezes(fleet: Fleet) -> Iterator[Candidate]:
    """Remove a freeze from the Fleet."""
    for obj in fleet.of(FLEET):
        for index, freeze in enumerate(mappings_at(obj.spec, FREEZES)):
            yield without(f"remove the freeze {freeze.get('name')} from {obj.id}", obj.id, ("spec", FREEZES, index))


def _without_topics(fleet: Fleet) -> Iterator[Candidate]:
    """Require no approval under a topic of the Fleet."""
    for obj in fleet.of(FLEET):
        for index, topic in enumerate(mappings_at(obj.spec, "approval", "topics")):
            text = f"remove the topic {dig(topic, 'name')} from {obj.id}"
            yield without(text, obj.id, ("spec", "approval", "topics", index))
