"""The variables of expressions about one object: each one's type next to its value, so that they cannot differ.

`schemas/README.md` has the table for users. The values are the loaded trees themselves, without copies or conversions.
"""

from collections.abc import Callable, Mapping
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
from muster.dataclass import dataclass
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
#: The maximum number, for cost estimates.
_MOST_CONDITIONS = 128


@dataclass(frozen=True)
class StageInputs:
    """A view as the expressions of one stage see it; what is the same for all objects is looked up once, on first
    use."""

    view: View
    settings: Settings
    clock: cel.Clock
    factor: int
    calendars: Mapping[str, str]

    @cached_property
    def leases(self) -> Mapping[str, Tree]:
        """Each cluster's Lease."""
        return effective_leases(self.view)

    @cached_property
    def adapters(self) -> Adapters:
        """Adapters' reports."""
        return Adapters.of(self.view, self.settings)

    def base(self, obj: Object) -> Variables:
        """The variables of every policy for an object. `conditions` is a separate map that may be added to."""
        cluster, kinds = cluster_of(obj), (obj.kind,)

        def compute(name: str) -> object:
            row = VARIABLES[name]
            if not row.is_seen(kinds):
                raise KeyError(name)
            try:
                return row.value(self, obj, cluster)
            except KeyError as error:  # expressions would take it for an unknown variable
                raise LookupError(*error.args) from error

        return Variables(compute)

    def seconds(self, cluster: str) -> int:
        """The lease duration of a ManagedCluster of this name; 0 if missing."""
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
        """Did a cluster of this name fall silent, and still is? Of `kind` if there are several."""
        id_ = cluster_named(self.view, cluster, kind)
        return id_ is not None and is_silent(self.view, id_, leases_by_cluster(self.view), self.clock.now)


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in expressions. `type` is a function of the policy's kinds; `value` of the stage's view, the object, and
    the name of its cluster. `only`: the only kind whose policies have it."""

    type: Callable[[tuple[Kind, ...]], Type]
    value: Callable[[StageInputs, Object, str], object]
    only: Kind | None = None

    def is_seen(self, kinds: tuple[Kind, ...]) -> bool:
        """Do policies over these kinds have it?"""
        return self.only is None or kinds == (self.only,)


def generation_of(view: View, id_: ObjectId) -> int:
    """The generation that this run decided; 1 for kinds that are not counted."""
    value = view.now(id_, "metadata", "generation")
    return value if isinstance(value, int) else 1


def _conditions(_kinds: tuple[Kind, ...]) -> Type:
    return MapType(STRING, condition_type(), _MOST_CONDITIONS)


def _reported(inputs: StageInputs, obj: Object, name: str) -> Mapping[str, Tree]:
    reported = inputs.view.reported(obj.id)
    if not reported:
        return reported
    ids = (kind.id(name) for kind in (obj.kind, *CLUSTERS) if kind in CLUSTERS)
    cluster = next((inputs.view.objects[id_] for id_ in ids if id_ in inputs.view.objects), None)
    return reported_conditions(
        reported,
        cluster,
        inputs.leases.get(name),
        inputs.grace_seconds(name),
        inputs.clock,
        silent=inputs.silent(name, obj.kind),
    )


def _accepted(inputs: StageInputs, obj: Object, cluster: str) -> bool:
    """Is the object's cluster accepted? Only a ManagedCluster can be not accepted."""
    id_ = MANAGED_CLUSTER.id(cluster)
    if obj.kind is KARMADA_CLUSTER or (id_ not in inputs.view.objects and id_ not in inputs.view.previous):
        return True
    return bool(dig(inputs.view.conditions(id_).get(ACCEPTED), "status") == "True")


#: The variables of every policy, besides its own `params` and `variables`.
VARIABLES: Final[Mapping[str, Variable]] = {
    "self": Variable(lambda kinds: object_type(kinds[0]) if len(kinds) == 1 else DYN, lambda _, obj, __: obj.body),
    "lease": Variable(lambda _: object_type(LEASE), lambda inputs, _, cluster: inputs.leases.get(cluster, {})),
    "leaseDurationSeconds": Variable(lambda _: INT, lambda inputs, _, cluster: inputs.seconds(cluster)),
    "silent": Variable(lambda _: BOOL, lambda inputs, obj, cluster: inputs.silent(cluster, obj.kind)),
    "reported": Variable(_conditions, _reported),
    "previous": Variable(_conditions, lambda inputs, obj, _: inputs.view.conditions_before(obj.id)),
    "conditions": Variable(_conditions, lambda inputs, obj, _: inputs.view.conditions(obj.id)),
    "reports": Variable(
        lambda _: ListType(spec_type(ADAPTER_REPORT), MOST_ADAPTERS),
        lambda inputs, obj, _: inputs.adapters.reports.get(obj.id, []),
    ),
    "adapters": Variable(
        lambda _: ListType(StringType(max_length=63), MOST_ADAPTERS),
        lambda inputs, obj, _: inputs.adapters.required.get(obj.kind, []),
    ),
    "updated": Variable(
        lambda _: TIMESTAMP, lambda inputs, obj, _: spec_changed(inputs.view, obj.id) or inputs.clock.now
    ),
    "accepted": Variable(lambda _: BOOL, _accepted),
    "deleting": Variable(lambda _: BOOL, lambda inputs, obj, _: is_deleting(inputs.view, obj)),
    "children": Variable(lambda _: ListType(CHILD), lambda inputs, obj, _: inputs.adapters.children(obj)),
    "generation": Variable(lambda _: INT, lambda inputs, obj, _: generation_of(inputs.view, obj.id)),
    "fleet": Variable(lambda _: spec_type(FLEET), lambda inputs, _, __: inputs.settings.spec),
    "now": Variable(lambda _: TIMESTAMP, lambda inputs, _, __: inputs.clock.now),
    # Calendars as text, for `calendar(name)`.
    "calendars": Variable(lambda _: MapType(STRING, STRING), lambda inputs, _, __: inputs.calendars),
    # The start of the present report of a Karmada cluster without a Lease; now for others.
    "heard": Variable(
        lambda _: TIMESTAMP,
        lambda inputs, obj, _: mapping_at(inputs.view.now(obj.id, *SIGHT)).get("at") or inputs.clock.now,
        only=KARMADA_CLUSTER,
    ),
    # For policies over certificate requests: the decoded request, and its label's cluster with muster's decisions;
    # empty if missing.
    "csr": Variable(lambda _: REQUEST, lambda _, obj, __: decoded(obj), only=CSR),
    "cluster": Variable(
        lambda _: object_type(MANAGED_CLUSTER),
        lambda inputs, _, cluster: inputs.view.whole(MANAGED_CLUSTER.id(cluster)) or {},
        only=CSR,
    ),
}

#: For PulsePolicies: the last pulse of the policy for the object; before the first without `time`.
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
    """The last pulse in expressions. Without one, the latest generation that an adapter has reported must have been
    announced before; 0 if none has."""
    if last is not None:
        return {"generation": last.generation, "time": last.time, "count": last.count}
    reports = base["reports"]
    assert isinstance(reports, list)
    return {"generation": max((report["observed_generation"] for report in reports), default=0), "count": 0}
