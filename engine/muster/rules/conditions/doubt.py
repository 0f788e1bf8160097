"""Doubt: of which conditions of a cluster nothing new is known.

Silence is no recovery. A condition is in doubt, and takes no effect off that stands because of it, while it

* is Unknown, whoever says so: nobody knows, and that is no news;
* is reported by an agent that has fallen silent, so that nobody has said since that it still holds;
* is missing from a cluster whose agent has fallen silent. An agent that is alive and no longer reports a type has said
  something: that is news.

What silence makes Unknown is the policies' business (`muster.rules.policies.staleness`); here it is asked who is
silent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.fleet.clusters import JOINED
from muster.fleet.leases import is_silent, lease_seconds, leases_by_cluster
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.population import headline
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import Variables
from muster.rules.policies.staleness import expiry


@dataclass(frozen=True, slots=True)
class Doubts:
    """Asks who is silent, for the clusters of one run. `leases` are the agents' own, by cluster;
    `factor` says for how many of their durations an agent may be silent."""

    view: View
    now: datetime
    leases: Mapping[str, Tree]
    factor: int

    @classmethod
    def of(cls, view: View, rules: InForce, now: datetime) -> "Doubts":
        """Prepare for the clusters of a view at an instant."""
        return cls(view, now, leases_by_cluster(view), rules.grace)

    def about(self, obj: Object) -> "Doubt":
        """What is in doubt of one cluster."""
        expired = self._expired(obj)
        return Doubt(
            conditions=conditions_of(self.view, obj.id),
            reported=frozenset(self.view.reported(obj.id)),
            stale=expired is True,
            absent=self._agent_left(obj) if expired is None else expired,
        )

    def _expired(self, obj: Object) -> bool | None:
        """Whether the cluster is silent, or the Lease of its agent has expired; None where it has none."""
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
        """Whether a cluster without a Lease once had an agent that spoke for it, or should have one.

        Of a cluster that never had an agent people and hubs write the conditions: their files are their word.
        """
        if obj.kind is MANAGED_CLUSTER:
            return JOINED in self.view.conditions_before(obj.id)
        return obj.spec.get("syncMode") == "Pull" and headline(self.view, obj) == "Unknown"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A cluster's conditions by type, and the types that are reported. `stale`: what is reported was said before its
    agent fell silent; `absent`: no agent is there that could have taken a report back."""

    conditions: Mapping[str, Tree]
    reported: frozenset[str]
    stale: bool
    absent: bool

    def covers(self, type_: str) -> bool:
        """Whether nothing new is known of the condition of this type."""
        known = self.conditions.get(type_)
        if known is None:
            return self.absent
        return known.get("status") == "Unknown" or (self.stale and type_ in self.reported)


class Watched(Mapping[str, Tree]):
    """Conditions by type that note in `doubtful` which of those that are in doubt were looked at."""

    def __init__(self, conditions: Mapping[str, Tree], doubt: Doubt) -> None:
        self.doubtful: set[str] = set()
        self._conditions, self._doubt = conditions, doubt

    def __getitem__(self, type_: str) -> Tree:
        if self._doubt.covers(type_):
            self.doubtful.add(type_)
        return self._conditions[type_]

    def __iter__(self) -> Iterator[str]:
        self._look_at_all()
        return iter(self._conditions)

    def __len__(self) -> int:
        self._look_at_all()
        return len(self._conditions)

    def _look_at_all(self) -> None:
        self.doubtful.update(type_ for type_ in self._conditions if self._doubt.covers(type_))
        if self._doubt.absent:
            self.doubtful.add("all that its agent reports")  # also of what is not among them nothing is known


def watch(scope: Variables, doubt: Doubt) -> tuple[Watched, ...]:
    """Let the conditions of a scope, which is changed, be watched; return those that watch."""
    watching = []
    for name in ("conditions", "reported", "previous"):
        conditions = scope[name]
        assert isinstance(conditions, dict)
        watched = Watched(conditions, doubt)
        scope[name] = watched
        watching.append(watched)
    return tuple(watching)


def conditions_of(view: View, id_: ObjectId) -> dict[str, Tree]:
    """Condition by type as a reader of the whole object sees them: reported, with what muster decided over it."""
    return {**view.reported(id_), **view.conditions(id_)}
