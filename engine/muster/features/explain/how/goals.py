"""What `--how` is asked for: a Placement that chooses a cluster, a condition, a held effect, a Rollout that goes on.

A goal is reached when a run reports a transition that says so. What holds before is read from what the last run
derived.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from muster.data.decision import Held
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, PLACEMENT, ROLLOUT, kind_of
from muster.data.names import did_you_mean, few
from muster.data.times import try_time
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.merge import overlay
from muster.fleet.objects import by_type
from muster.rules.effects.approval import DELETION, MOVE, REMOVAL, ROLLOUT_EFFECT
from muster.rules.remedies.policy import STATUSES
from muster.rules.rollouts.policy import ClusterRollout
from muster.rules.rollouts.status import ROLLED_OUT
from muster.rules.stages import ROLLOUTS
from muster.run.facts import facts_of
from muster.run.transition import Transition
from muster.run.transitions.placement_moves import chosen

_REPLACEMENT: Final = "replacement"
_TRAFFIC: Final = "traffic block "


class NoGoal(ValueError):  # noqa: N818 - says what the person asked for
    """The object has nothing of that name to come about."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to come about, about an object: `field` names it, `text` says it in words.

    `reached`: does a transition say that it came about? `already`: it is so before any change, since an instant if that
    is known. `held`: the held effects that stand against it; `condition`: the type and the statuses that are asked for.
    """

    object: ObjectId
    field: str
    text: str
    reached: Callable[[Transition], bool]
    already: bool = False
    since: datetime | None = None
    held: tuple[Held, ...] = ()
    condition: tuple[str, tuple[str, ...]] | None = None


def whole(fleet: Fleet, id_: ObjectId) -> Tree:
    """An object with what the last run derived of it."""
    obj = fleet.objects.get(id_)
    below, above = (obj.body if obj is not None else {}), fleet.previous.get(id_) or {}
    return overlay(below, above, kind_of(id_).list_keys)


def goal_of(fleet: Fleet, held: Iterable[Held], id_: ObjectId, field: str) -> Goal:
    """Return what an object and a field ask for. `held`: all effects that are held. NoGoal, with what there is."""
    if fleet.is_unread(id_):
        raise NoGoal(f"{id_} has an error, so nothing follows from it until that is repaired: see muster validate")
    of_object = tuple(effect for effect in held if effect.object == id_)
    if PLACEMENT.has(id_) and MANAGED_CLUSTER.id(field) in fleet.objects:
        return _chosen(fleet, of_object, id_, field)
    if ROLLOUT.has(id_) and (not field or MANAGED_CLUSTER.id(field) in fleet.objects):
        return _rollout(fleet, of_object, id_, field)
    effect = field.removeprefix("held ")
    named = [
        effect_held
        for effect_held in of_object
        if not field or effect in (effect_held.effect, effect_held.effect.partition(" ")[0], "held")
    ]
    if len(named) == 1:
        return _effect(named[0])
    body = whole(fleet, id_)
    types = sorted(by_type(mappings_at(body, "status", "conditions")))
    type_, _, status = field.partition("=")
    if type_.removesuffix("!") in types:
        return _condition(body, id_, type_, status or "True", field)
    if (fact := facts_of(body).get(effect)) is not None and fact.sort in ("taint", "remedy"):
        return Goal(id_, effect, f"{id_}: {effect} is applied", _never, already=True, since=_added(body, effect))
    there = [*types, *(effect_held.effect for effect_held in of_object), *sorted(chosen_of(fleet, id_))]
    if not there:
        raise NoGoal(f"--how: {id_} has nothing to reach: no condition, and no effect that is held")
    if not field or named:
        raise NoGoal(f"--how: name what {id_} is to reach: {few(there)}")
    hint = did_you_mean(type_, there) or (f"there are {few(there)}" if there else "")
    cluster = ", cluster" if PLACEMENT.has(id_) or ROLLOUT.has(id_) else ""
    raise NoGoal(f"{id_} has no condition{cluster} or held effect {field!r}; {hint}".rstrip("; "))


def _never(_change: Transition) -> bool:
    return False


def chosen_of(fleet: Fleet, placement: ObjectId) -> frozenset[str]:
    """The clusters that a Placement has."""
    return chosen(fleet.previous.items()).get(placement, frozenset())


def _chosen(fleet: Fleet, held: tuple[Held, ...], id_: ObjectId, cluster: str) -> Goal:
    def joins(change: Transition) -> bool:
        return change.object == id_ and change.field == f"cluster {cluster}" and change.after == "chosen"

    moves = tuple(effect for effect in held if effect.effect == f"{MOVE} {cluster}")
    already = cluster in chosen_of(fleet, id_)
    return Goal(id_, cluster, f"{id_} chooses {cluster}", joins, already, held=moves)


def _condition(body: Tree, id_: ObjectId, type_: str, status: str, field: str) -> Goal:
    """`TYPE`, `TYPE=STATUS` or `TYPE!=STATUS`."""
    negated, type_ = type_.endswith("!"), type_.removesuffix("!")
    if status not in STATUSES:
        raise NoGoal(f"--how: a condition cannot be {status!r}; {did_you_mean(status, STATUSES) or few(STATUSES)}")
    wanted = tuple(other for other in STATUSES if (other == status) is not negated)

    def turns(change: Transition) -> bool:
        return change.object == id_ and change.field == f"condition {type_}" and change.after in wanted

    present = by_type(mappings_at(body, "status", "conditions"))[type_]
    already, since = present.get("status") in wanted, try_time(present.get("lastTransitionTime"))
    text = f"{id_}: {type_} is {'not ' if negated else ''}{status}"
    return Goal(id_, field, text, turns, already, since if already else None, condition=(type_, wanted))


def _added(body: Tree, effect: str) -> datetime | None:
    """When a taint was added."""
    key = effect.partition(" ")[2]
    taints = mappings_at(body, "spec", "taints")
    return next(
        (try_time(taint.get("timeAdded")) for taint in taints if f"{taint.get('key')}:{taint.get('effect')}" == key),
        None,
    )


def _effect(held: Held) -> Goal:
    """A held effect happens: it is not enough that nothing asks for it any more."""
    id_, effect = held.object, held.effect
    sort, _, name = effect.partition(" ")

    def happens(change: Transition) -> bool:
        if sort == ROLLOUT_EFFECT:
            return _gets(change, f"{id_.namespace}/{id_.name}", name.rpartition(" ")[2])
        if change.object != id_:
            return False
        if sort == MOVE:
            return change.field == f"cluster {name}"
        if sort == REMOVAL:
            return not change.fact.sort and change.now is None
        if sort in (DELETION, _REPLACEMENT):
            return change.field == "deletion" and change.now is not None
        label = f"traffic to {effect.removeprefix(_TRAFFIC)}" if effect.startswith(_TRAFFIC) else effect
        return change.field == label and change.now is not None

    return Goal(id_, effect, f"{id_}: {effect} happens", happens, held=(held,))


def _gets(change: Transition, key: str, revision: str, cluster: str = "") -> bool:
    """Does a cluster get a Rollout's revision, one that it did not have?"""
    is_entry = change.field == f"rollout {key}" and (not cluster or change.object.name == cluster)
    was, now = (text.partition(" ")[0] for text in (change.before, change.after))
    return is_entry and now == revision and was != revision


def entries_of_rollout(fleet: Fleet, rollout: ObjectId) -> Mapping[str, ClusterRollout]:
    """What each cluster has of a Rollout, by the last run."""
    entries = {
        id_.name: ClusterRollout.read(dig(body, *ROLLOUTS, f"{rollout.namespace}/{rollout.name}"))
        for id_, body in fleet.previous.items()
        if MANAGED_CLUSTER.has(id_)
    }
    return {name: entry for name, entry in sorted(entries.items()) if entry is not None}


def _rollout(fleet: Fleet, held: tuple[Held, ...], id_: ObjectId, cluster: str) -> Goal:
    """A Rollout goes on: another cluster gets its revision, or all is done; or a cluster gets its revision."""
    key, body = f"{id_.namespace}/{id_.name}", fleet.previous.get(id_)
    revision = str(dig(body, "status", "revision") or "")

    def goes_on(change: Transition) -> bool:
        done = change.object == id_ and change.field == f"condition {ROLLED_OUT}" and change.after == "True"
        return (done and not cluster) or _gets(change, key, revision, cluster)

    if cluster:
        entry = entries_of_rollout(fleet, id_).get(cluster)
        already = entry is not None and entry.revision == revision
        since = entry.since if entry is not None and already else None
        return Goal(id_, cluster, f"{id_} gives {revision} to {cluster}", goes_on, already, since, held)
    done = by_type(mappings_at(body, "status", "conditions")).get(ROLLED_OUT, {})
    already = done.get("status") == "True"
    since = try_time(done.get("lastTransitionTime")) if already else None
    return Goal(id_, "", f"{id_} {'is complete' if already else 'goes on'}", goes_on, already, since, held)
