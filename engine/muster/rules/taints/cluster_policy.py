"""Parsed ClusterTaintPolicies (Karmada): the clusters of each, and when it adds and removes its taints."""

from collections.abc import Callable, Mapping

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_TAINT_POLICY
from muster.data.times import try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.rules.policies.selectors import LabelSelector
from muster.rules.stages import Concerns, FleetTerm

OPERATORS = ("In", "NotIn")
#: The keys and operators of a fieldSelector.
FIELDS = ("provider", "region", "zone")
FIELD_OPERATORS = (*OPERATORS, "Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True)
class StatusMatch:
    """A condition whose status is (`In`) or is not (`NotIn`) one of `values`."""

    type: str
    operator: str
    values: frozenset[str]

    def holds(self, statuses: Mapping[str, str]) -> bool:
        """Does it match? A missing condition or an unknown operator never does."""
        status = statuses.get(self.type)
        if status is None or self.operator not in OPERATORS:
            return False
        return (status in self.values) is (self.operator == "In")


@dataclass(frozen=True, slots=True)
class ClusterTaintPolicy:
    """A ClusterTaintPolicy. `taints`: values by (key, effect)."""

    id: ObjectId
    source: Object
    add_on: tuple[StatusMatch, ...]
    remove_on: tuple[StatusMatch, ...]
    taints: Mapping[tuple[str, str], str]

    def adds(self, statuses: Mapping[str, str]) -> bool:
        """Do all conditions for adding hold? Without any: False."""
        return bool(self.add_on) and all(match.holds(statuses) for match in self.add_on)

    def removes(self, statuses: Mapping[str, str]) -> bool:
        """Do all conditions for removing hold? Without any: False."""
        return bool(self.remove_on) and all(match.holds(statuses) for match in self.remove_on)

    def removal_depends_on(self, doubtful: Callable[[str], bool]) -> bool:
        """Does removal depend on a stale condition, without naming Unknown?"""
        return any(doubtful(match.type) and "Unknown" not in match.values for match in self.remove_on)

    def targets(self, cluster: Object) -> bool:
        """Does the policy target a cluster? Exclusion first, then labels, fields and names. Empty means all."""
        target = mapping_at(self.source.spec, "targetClusters")
        if cluster.id.name in (target.get("exclude") or ()):
            return False
        if not LabelSelector.parse(target.get("labelSelector")).matches(cluster.labels):
            return False
        fields = mappings_at(target, "fieldSelector", "matchExpressions")
        if not all(_field_matches(entry, cluster) for entry in fields):
            return False
        names = target.get("clusterNames")
        return not names or cluster.id.name in names


def _field_matches(entry: Mapping[str, Tree], cluster: Object) -> bool:
    """Does a requirement on provider, region or zone hold? `In` needs all zones of a cluster among its values. An
    unknown operator matches nothing, as in upstream's matchZones."""
    key, values = entry.get("key"), set(entry.get("values") or ())
    zones = cluster.spec.get("zones") if key == "zone" else None
    fields = set(zones or filter(None, [cluster.spec.get(str(key)) if key in FIELDS else None]))
    match entry.get("operator"):
        case "In":
            return bool(fields) and fields <= values
        case "NotIn":
            return not fields & values
        case "Exists":
            return bool(fields)
        case "DoesNotExist":
            return not fields
    return False


@dataclass(frozen=True, slots=True)
class ClusterTaintPolicies(FleetTerm):
    """The ClusterTaintPolicies of a fleet, in the order in which they act."""

    policies: tuple[ClusterTaintPolicy, ...]

    def concerns(self) -> Concerns:
        """Return the policies that target a cluster."""
        bodies = [(policy, repr(policy.source.body)) for policy in self.policies]
        return lambda concerned: [
            (str(policy.id), body) for policy, body in bodies if policy.targets(concerned.cluster)
        ]


def taint_policies(fleet: Fleet) -> tuple[ClusterTaintPolicy, ...]:
    """Return the sound policies in the order in which they act: by creation if given, then by name."""
    policies = [_read(obj) for obj in fleet.of(CLUSTER_TAINT_POLICY)]
    return tuple(sorted(policies, key=_order))


def _order(policy: ClusterTaintPolicy) -> tuple[bool, str, str]:
    created = try_time(dig(policy.source.body, "metadata", "creationTimestamp"))
    return (created is None, created.isoformat() if created else "", policy.id.name)


def _read(obj: Object) -> ClusterTaintPolicy:
    taints = {(taint["key"], taint["effect"]): taint.get("value") or "" for taint in mappings_at(obj.spec, "taints")}
    return ClusterTaintPolicy(
        obj.id, obj, _matches(obj, "addOnConditions"), _matches(obj, "removeOnConditions"), taints
    )


def _matches(obj: Object, name: str) -> tuple[StatusMatch, ...]:
    return tuple(
        StatusMatch(entry["conditionType"], entry["operator"], frozenset(entry["statusValues"]))
        for entry in mappings_at(obj.spec, name)
    )
