"""Doubt: conditions with stale input.

Silence is no recovery. A condition is in doubt, and removes no effect that it caused, while it

* is Unknown, from any source;
* is reported by an agent that has fallen silent, so nothing confirms that it still holds;
* is missing on a cluster whose agent has fallen silent. A live agent that stops reporting a type does give new input.

Policies decide what silence makes Unknown (`muster.rules.policies.staleness`); this module decides who is silent.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.clusters import JOINED
from muster.fleet.leases import is_silent, lease_seconds, leases_by_cluster
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.budget import headline
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import Variables
from muster.rules.policies.staleness import expiry


@dataclass(frozen=True, slots=True)
class StaleInputs:
    """Finds silent clusters of one run. `leases`: the agents' own, by cluster; `factor`: the lease durations that an
    agent may be silent."""

    view: View
    now: datetime
    leases: Mapping[str, Tree]
    factor: int

    @classmethod
    def of(cls, view: View, rules: InForce, now: datetime) -> "StaleInputs":
        """Prepare for the clusters of a view at an instant."""
        return cls(view, now, leases_by_cluster(view), rules.grace)

    def about(self, obj: Object) -> "StaleInput":
        """The doubt about one cluster's conditions."""
        expired = self._expired(obj)
        return StaleInput(
            conditions=conditions_of(self.view, obj.id),
            reported=frozenset(self.view.reported(obj.id)),
            stale=expired is True,
            absent=self._agent_left(obj) if expired is None else expired,
        )

    def _expired(self, obj: Object) -> bool | None:
        """Is the cluster silent, or its agent's Lease expired? None without a Lease."""
        lease = self.leases.get(obj.id.name)
        if is_silent(self.view, obj.id, self.leases, self.now):
            return True
        if lease is None:
            return None
        managed = obj.kind is MANAGED_CLUSTER
        seconds = self.factor * lease_seconds(self.view, obj, lease, self.factor) if managed else 0
        until = expiry(obj, lease, seconds)
        return until is not None and self.now >= until

    def _agent_left(self, obj: Object) -> bool:
        """Did a cluster without a Lease have an agent, or should it have one?

        The conditions of a cluster that never had an agent are written by people and hubs, and hold.
        """
        if obj.kind is MANAGED_CLUSTER:
            return JOINED in self.view.conditions_before(obj.id)
        return obj.spec.get("syncMode") == "Pull" and headline(self.view, obj) == "Unknown"


@dataclass(frozen=True, slots=True)
class StaleInput:
    """A cluster's conditions by type, and the reported types. `stale`: reports date from before the agent's silence;
    `absent`: there is no agent that could withdraw a report."""

    conditions: Mapping[str, Tree]
    reported: frozenset[str]
    stale: bool
    absent: bool

    def covers(self, type_: str) -> bool:
        """Is there no new input for the condition of this type?"""
        condition = self.conditions.get(type_)
        if condition is None:
            return self.absent
        return condition.get("status") == "Unknown" or (self.stale and type_ in self.reported)


class RecordedConditions(Mapping[str, Tree]):
    """Conditions by type that record in `stale_types` which conditions in doubt were read."""

    def __init__(self, conditions: Mapping[str, Tree], doubt: StaleInput) -> None:
        self.stale_types: set[str] = set()
        self._conditions, self._doubt = conditions, doubt

    def __getitem__(self, type_: str) -> Tree:
        if self._doubt.covers(type_):
            self.stale_types.add(type_)
        return self._conditions[type_]

    def __iter__(self) -> Iterator[str]:
        self._look_at_all()
        return iter(self._conditions)

    def __len__(self) -> int:
        self._look_at_all()
        return len(self._conditions)

    def _look_at_all(self) -> None:
        self.stale_types.update(type_ for type_ in self._conditions if self._doubt.covers(type_))
        if self._doubt.absent:
            self.stale_types.add("all that its agent reports")  # covers missing types, too


def record_reads(scope: Variables, doubt: StaleInput) -> tuple[RecordedConditions, ...]:
    """Replace the conditions in a scope by watched ones; return these."""
    watching = []
    for name in ("conditions", "reported", "previous"):
        conditions = scope[name]
        assert isinstance(conditions, dict)
        watched = RecordedConditions(conditions, doubt)
        scope[name] = watched
        watching.append(watched)
    return tuple(watching)


def conditions_of(view: View, id_: ObjectId) -> dict[str, Tree]:
    """Conditions by type as in the whole object: reported ones, overlaid by muster's."""
    return {**view.reported(id_), **view.conditions(id_)}
