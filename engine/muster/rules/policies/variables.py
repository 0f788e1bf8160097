"""What expressions see of one object: each variable's type beside its value, so that the two cannot drift.

`schemas/README.md` has the table for people. The values are the very trees that loading gave; nothing is copied or
converted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from muster import cel
from muster.cel.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    FieldType,
    ListType,
    MapType,
    ObjectType,
    StringType,
    Type,
)
from muster.data.decision import Published
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ACCEPTED,
    ADAPTER_REPORT,
    CLUSTERS,
    CSR,
    FLEET,
    KARMADA_CLUSTER,
    LEASE,
    MANAGED_CLUSTER,
    Kind,
)
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.leases import (
    SIGHT,
    cluster_named,
    derived_lease_seconds,
    effective_leases,
    is_silent,
    lease_seconds,
    leases_by_cluster,
)
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object
from muster.fleet.settings import Settings
from muster.fleet.view import View
from muster.rules.policies.adapters import CHILD, MOST_ADAPTERS, Adapters, is_deleting, spec_changed
from muster.rules.policies.csr import REQUEST, decoded
from muster.rules.policies.lazy import Variables
from muster.rules.policies.staleness import expiry, reported_conditions
from muster.rules.policies.types import condition_type, object_type, spec_type

#: The variables that map condition types to conditions.
CONDITION_MAPS = ("reported", "previous", "conditions")
#: How many there may be, for the estimate of what an expression costs.
_MOST_CONDITIONS = 128


@dataclass(frozen=True)
class Sight:
    """A view as the expressions of one stage see it: what is the same for all objects is looked up once, if at all."""

    view: View
    settings: Settings
    clock: cel.Clock
    factor: int

    @cached_property
    def leases(self) -> Mapping[str, Tree]:
        """Each cluster's Lease."""
        return effective_leases(self.view)

    @cached_property
    def adapters(self) -> Adapters:
        """What adapters say."""
        return Adapters.of(self.view, self.settings)

    def base(self, obj: Object) -> Variables:
        """The variables that every policy sees of an object. `conditions` is this one's own and may be added to."""
        cluster, kinds = cluster_of(obj), (obj.kind,)

        def compute(name: str) -> object:
            row = VARIABLES[name]
            if not row.is_seen(kinds):
                raise KeyError(name)
            try:
                return row.value(self, obj, cluster)
            except KeyError as error:  # expressions would take it for a variable that there is not
                raise LookupError(*error.args) from error

        return Variables(compute)

    def seconds(self, cluster: str) -> int:
        """How long the lease of a ManagedCluster of this name lasts; 0 where there is none."""
        id_ = MANAGED_CLUSTER.id(cluster)
        obj = self.view.objects.get(id_)
        if obj is not None:
            return lease_seconds(self.view, obj, self.leases.get(cluster), self.factor)
        return derived_lease_seconds(self.view.previous[id_]) if id_ in self.view.previous else 0

    def grace_seconds(self, cluster: str) -> int:
        """How long a ManagedCluster of this name may be silent."""
        return self.factor * self.seconds(cluster)

    def expiry(self, cluster: Object) -> datetime | None:
        """The first whole second at which a cluster's Lease has expired; None without one."""
        name = cluster.id.name
        return expiry(cluster, self.leases.get(name), self.grace_seconds(name))

    def silent(self, cluster: str, kind: Kind) -> bool:
        """Whether a cluster of this name fell silent, and still is; of `kind` if there are several."""
        id_ = cluster_named(self.view, cluster, kind)
        return id_ is not None and is_silent(self.view, id_, leases_by_cluster(self.view), self.clock.now)


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in expressions. `type` is given the kinds of which the policy speaks; `value` what the stage sees, the
    object, and the name of the cluster that it is or belongs to. `only`: no policy over other kinds sees it."""

    type: Callable[[tuple[Kind, ...]], Type]
    value: Callable[[Sight, Object, str], object]
    only: Kind | None = None

    def is_seen(self, kinds: tuple[Kind, ...]) -> bool:
        """Whether policies over these kinds see it."""
        return self.only is None or kinds == (self.only,)


def generation_of(view: View, id_: ObjectId) -> int:
    """The generation that this run decided; 1 for kinds that are not counted."""
    value = view.now(id_, "metadata", "generation")
    return value if isinstance(value, int) else 1


def _conditions(_kinds: tuple[Kind, ...]) -> Type:
    return MapType(STRING, condition_type(), _MOST_CONDITIONS)


def _reported(sight: Sight, obj: Object, name: str) -> Mapping[str, Tree]:
    reported = sight.view.reported(obj.id)
    if not reported:
        return reported
    ids = (kind.id(name) for kind in (obj.kind, *CLUSTERS) if kind in CLUSTERS)
    cluster = next((sight.view.objects[id_] for id_ in ids if id_ in sight.view.objects), None)
    return reported_conditions(
        reported, cluster, sight.leases.get(name), sight.grace_seconds(name), sight.clock,
        silent=sight.silent(name, obj.kind),
    )  # fmt: skip


def _accepted(sight: Sight, obj: Object, cluster: str) -> bool:
    """Whether the cluster that the object is or belongs to is accepted: a ManagedCluster has to be, others are."""
    id_ = MANAGED_CLUSTER.id(cluster)
    if obj.kind is KARMADA_CLUSTER or (id_ not in sight.view.objects and id_ not in sight.view.previous):
        return True
    return bool(dig(sight.view.conditions(id_).get(ACCEPTED), "status") == "True")


#: What every policy sees, beside its own `params` and `variables`.
VARIABLES: Final[Mapping[str, Variable]] = {
    "self": Variable(lambda kinds: object_type(kinds[0]) if len(kinds) == 1 else DYN, lambda _, obj, __: obj.body),
    "lease": Variable(lambda _: object_type(LEASE), lambda sight, _, cluster: sight.leases.get(cluster, {})),
    "leaseDurationSeconds": Variable(lambda _: INT, lambda sight, _, cluster: sight.seconds(cluster)),
    "silent": Variable(lambda _: BOOL, lambda sight, obj, cluster: sight.silent(cluster, obj.kind)),
    "reported": Variable(_conditions, _reported),
    "previous": Variable(_conditions, lambda sight, obj, _: sight.view.conditions_before(obj.id)),
    "conditions": Variable(_conditions, lambda sight, obj, _: sight.view.conditions(obj.id)),
    "reports": Variable(
        lambda _: ListType(spec_type(ADAPTER_REPORT), MOST_ADAPTERS),
        lambda sight, obj, _: sight.adapters.reports.get(obj.id, []),
    ),
    "adapters": Variable(
        lambda _: ListType(StringType(max_length=63), MOST_ADAPTERS),
        lambda sight, obj, _: sight.adapters.required.get(obj.kind, []),
    ),
    "updated": Variable(lambda _: TIMESTAMP, lambda sight, obj, _: spec_changed(sight.view, obj.id) or sight.clock.now),
    "accepted": Variable(lambda _: BOOL, _accepted),
    "deleting": Variable(lambda _: BOOL, lambda sight, obj, _: is_deleting(sight.view, obj)),
    "children": Variable(lambda _: ListType(CHILD), lambda sight, obj, _: sight.adapters.children(obj)),
    "generation": Variable(lambda _: INT, lambda sight, obj, _: generation_of(sight.view, obj.id)),
    "fleet": Variable(lambda _: spec_type(FLEET), lambda sight, _, __: sight.settings.spec),
    "now": Variable(lambda _: TIMESTAMP, lambda sight, _, __: sight.clock.now),
    # Since when the agent of a Karmada cluster that renews no Lease says what it says; now where there is none such.
    "heard": Variable(
        lambda _: TIMESTAMP,
        lambda sight, obj, _: mapping_at(sight.view.now(obj.id, *SIGHT)).get("at") or sight.clock.now,
        only=KARMADA_CLUSTER,
    ),
    # What policies over requests for certificates see besides: the request as decoded, and the cluster that its label
    # names, with what muster decided of it; empty where there is none.
    "csr": Variable(lambda _: REQUEST, lambda _, obj, __: decoded(obj), only=CSR),
    "cluster": Variable(
        lambda _: object_type(MANAGED_CLUSTER),
        lambda sight, _, cluster: sight.view.whole(MANAGED_CLUSTER.id(cluster)) or {},
        only=CSR,
    ),
}

#: What PulsePolicies see beside the rest: the last pulse of the policy for the object; before the first without `time`.
PULSE_VARIABLES: Final[Mapping[str, Type]] = {
    "pulsed": ObjectType(
        "pulsed",
        {
            "generation": FieldType(INT, required=True),
            "time": FieldType(TIMESTAMP),
            "count": FieldType(INT, required=True),
        },
    )
}


def pulsed(last: Published | None, base: Mapping[str, object]) -> dict[str, object]:
    """What expressions see of the last pulse. Where nothing is remembered, a generation of which an adapter has
    reported must have been announced somehow; 0 where none has."""
    if last is not None:
        return {"generation": last.generation, "time": last.time, "count": last.count}
    reports = base["reports"]
    assert isinstance(reports, list)
    return {"generation": max((report["observed_generation"] for report in reports), default=0), "count": 0}
