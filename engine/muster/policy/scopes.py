"""What an expression sees of one object: the variables of the design's table, built once per object.

The values are the very trees that loading gave; nothing is copied or converted. Policy variables are computed when
first used, at most once per object and policy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muster import cel
from muster.fleet.fleet import Fleet
from muster.fleet.leases import CLUSTER_NAME, effective_leases, lease_seconds, standing_seconds
from muster.fleet.objects import Object
from muster.model.ids import ObjectId
from muster.model.kinds import CLUSTERS, CSR, KARMADA_CLUSTER, MANAGED_CLUSTER, Kind
from muster.model.tree import Tree, dig
from muster.policy.adapters import AdapterScopes
from muster.policy.csr import decoded
from muster.policy.lazy import PolicyScope, cost_share
from muster.policy.policies import Policy
from muster.policy.ruled import Ruled
from muster.policy.staleness import reported_conditions

#: The condition that says whether a ManagedCluster is accepted; absent where it never was.
ACCEPTED = "HubAcceptedManagedCluster"
_CLUSTER_KINDS = frozenset((kind.group, kind.name) for kind in CLUSTERS)


@dataclass(frozen=True, slots=True)
class Scopes:
    """Makes the scopes of one stage: what is the same for all objects is looked up once."""

    fleet: Ruled
    clock: cel.Clock
    leases: Mapping[str, Tree]
    adapters: AdapterScopes
    shares: dict[tuple[Kind, ...], int] = field(default_factory=dict)

    @classmethod
    def of(cls, fleet: Ruled, now: datetime) -> "Scopes":
        """Prepare for the objects of a fleet at an instant."""
        return cls(fleet, cel.Clock(now), effective_leases(fleet), AdapterScopes.of(fleet, now))

    def base(self, obj: Object) -> dict[str, object]:
        """The variables that every policy sees of an object. `conditions` is this dict's own and may be added to."""
        name = cluster_of(obj)
        return {
            "self": obj.body,
            "lease": self.leases.get(name, {}),
            "leaseDurationSeconds": self.seconds(name),
            "reported": self._reported(obj),
            "previous": self.fleet.conditions_before(obj.id),
            "conditions": self.fleet.conditions(obj.id),
            "accepted": self._accepted(obj, name),
            "generation": generation_of(self.fleet, obj.id),
            "fleet": self.fleet.settings.spec,
            "now": self.clock.now,
            **self.adapters.base(obj),
            **(self._request(obj) if obj.id.kind == CSR.name else {}),
        }

    def _accepted(self, obj: Object, cluster: str) -> bool:
        """Whether the cluster that the object is or belongs to is accepted: a ManagedCluster has to be, others are."""
        id_ = MANAGED_CLUSTER.id(cluster)
        if obj.kind is KARMADA_CLUSTER or (id_ not in self.fleet.objects and id_ not in self.fleet.previous):
            return True
        return bool(dig(self.fleet.conditions(id_).get(ACCEPTED), "status") == "True")

    def _request(self, obj: Object) -> dict[str, object]:
        """What policies over requests for certificates see besides: the request, and the cluster that it is for."""
        return {"csr": decoded(obj), "cluster": self.fleet.whole(MANAGED_CLUSTER.id(cluster_of(obj))) or {}}

    def seconds(self, cluster: str) -> int:
        """How long the lease of a ManagedCluster of this name lasts; 0 where there is none."""
        id_ = MANAGED_CLUSTER.id(cluster)
        obj = self.fleet.objects.get(id_)
        if obj is not None:
            return lease_seconds(self.fleet, obj, self.leases.get(cluster))
        return standing_seconds(self.fleet.previous[id_]) if id_ in self.fleet.previous else 0

    def _reported(self, obj: Object) -> dict[str, Tree]:
        reported = self.fleet.reported(obj.id)
        if not reported:
            return reported
        name = cluster_of(obj)
        ids = (kind.id(name) for kind in (obj.kind, *CLUSTERS) if kind in CLUSTERS)
        cluster = next((self.fleet.objects[id_] for id_ in ids if id_ in self.fleet.objects), None)
        return reported_conditions(reported, cluster, self.leases.get(name), self.seconds(name), self.clock)

    def for_policy(self, policy: Policy, base: Mapping[str, object]) -> PolicyScope:
        """The base with the policy's own `params` and `variables`, and what the policy may cost for one object."""
        return PolicyScope({**base, "params": policy.params}, policy.variables, self.share(policy.target.kinds))

    def share(self, kinds: tuple[Kind, ...]) -> int:
        """The units that a policy over objects of these kinds may cost for each."""
        known = self.shares.get(kinds)
        if known is None:
            settings, count = self.fleet.settings, sum(1 for _ in self.fleet.of(*kinds))
            known = self.shares[kinds] = cost_share(settings.policy_cost, settings.expression_cost, count)
        return known


def cluster_of(obj: Object) -> str:
    """The cluster that an object is, or belongs to: its own name, the cluster it names, or its namespace."""
    if (obj.id.group, obj.id.kind) in _CLUSTER_KINDS:
        return obj.id.name
    if obj.id.kind == CSR.name:
        return str(obj.labels.get(CLUSTER_NAME, ""))
    named = dig(obj.body, "spec", "clusterName")
    return named if isinstance(named, str) else obj.id.namespace


def generation_of(fleet: Fleet, id_: ObjectId) -> int:
    """The generation that this run decided; 1 for kinds that are not counted."""
    value = fleet.now(id_, "metadata", "generation")
    return value if isinstance(value, int) else 1
