"""ClusterTaintPolicies (Karmada), read: which clusters each speaks of, and when it adds and removes its taints."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from muster.fleet.fleet import Fleet
from muster.fleet.messages import finding
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.fleet.settings import Settings
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import CLUSTER_TAINT_POLICY, TAINT_EFFECTS
from muster.model.names import did_you_mean
from muster.model.times import try_time
from muster.model.tree import Tree, dig, mapping_at, mappings_at
from muster.policy.remedies import STATUSES
from muster.policy.selectors import LabelSelector

OPERATORS = ("In", "NotIn")


@dataclass(frozen=True, slots=True)
class StatusMatch:
    """A condition that a cluster has, with a status that is (`In`) or is not (`NotIn`) among some."""

    type: str
    operator: str
    values: frozenset[str]

    def holds(self, statuses: Mapping[str, str]) -> bool:
        """Whether it matches. A missing condition matches nothing, and neither does an operator that nobody knows."""
        status = statuses.get(self.type)
        if status is None or self.operator not in OPERATORS:
            return False
        return (status in self.values) is (self.operator == "In")


@dataclass(frozen=True, slots=True)
class ClusterTaintPolicy:
    """A ClusterTaintPolicy. `taints` are (key, effect) with their value."""

    id: ObjectId
    source: Object
    add_on: tuple[StatusMatch, ...]
    remove_on: tuple[StatusMatch, ...]
    taints: Mapping[tuple[str, str], str]

    def adds(self, statuses: Mapping[str, str]) -> bool:
        """Whether all conditions for adding hold; none at all never do."""
        return bool(self.add_on) and all(match.holds(statuses) for match in self.add_on)

    def removes(self, statuses: Mapping[str, str]) -> bool:
        """Whether all conditions for removing hold; none at all never do."""
        return bool(self.remove_on) and all(match.holds(statuses) for match in self.remove_on)

    def removal_rests_on(self, doubtful: Callable[[str], bool]) -> bool:
        """Whether the conditions for removing rest on one of which nothing new is known, without naming Unknown."""
        return any(doubtful(match.type) and "Unknown" not in match.values for match in self.remove_on)

    def targets(self, cluster: Object) -> bool:
        """Whether the policy speaks of a cluster: exclusion first, then labels, fields and names. Empty means all."""
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
    """Whether a requirement on provider, region or zone holds. All zones of a cluster must be among those of `In`."""
    values, wanted = set(entry.get("values") or ()), entry.get("operator") == "In"
    if entry.get("key") == "zone":
        zones = cluster.spec.get("zones") or [zone for zone in [cluster.spec.get("zone")] if zone]
        return bool(zones) and set(zones) <= values if wanted else not set(zones) & values
    return (cluster.spec.get(str(entry.get("key"))) in values) is wanted


def taint_policies(fleet: Fleet) -> tuple[ClusterTaintPolicy, ...]:
    """Return the sound policies in the order in which they act: by creation where it is given, then by name."""
    found = [_read(obj) for obj in fleet.of(CLUSTER_TAINT_POLICY)]
    return tuple(sorted(found, key=_order))


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


def taint_policy_findings(obj: Object, settings: Settings) -> Iterator[Finding]:
    """Yield what Karmada's webhook refuses (a taint twice, and NoExecute where the fleet has not allowed it), and words
    that can do nothing."""
    taints = [(str(taint.get("key")), str(taint.get("effect"))) for taint in mappings_at(obj.spec, "taints")]
    for index, taint in enumerate(taints):
        where = f"spec.taints[{index}]"
        if taints.count(taint) > 1 and taints.index(taint) == index:
            message = f"{where} adds {taint[0]}:{taint[1]}, and so does another entry"
            yield _finding(obj, "MUS223", index, message, "keep one of them")
        if taint[1] == "NoExecute" and not settings.no_execute:
            message = f"{where} adds a NoExecute taint, which moves work off clusters"
            hint = "set spec.taints.allowNoExecute: true on the Fleet if policies may do that"
            yield _finding(obj, "MUS224", index, message, hint)
        if not any(taint[1] in effects for effects in TAINT_EFFECTS.values()):
            yield _finding(obj, "MUS225", index, f"{where}: no cluster takes the effect {taint[1]!r}",
                           "use NoSchedule or NoExecute")  # fmt: skip
    for name in ("addOnConditions", "removeOnConditions"):
        for index, entry in enumerate(mappings_at(obj.spec, name)):
            yield from _slips(obj, ("spec", name, index), entry)


def _slips(obj: Object, at: tuple[str | int, ...], entry: Mapping[str, Tree]) -> Iterator[Finding]:
    """Words that upstream's schema takes and that match nothing."""
    operator = str(entry.get("operator"))
    if operator not in OPERATORS:
        message = f"the operator {operator!r} matches nothing; it is In or NotIn"
        place = place_of(obj.parts, (*at, "operator"))
        yield finding("MUS249", message, place, hint=did_you_mean(operator, OPERATORS), object_=obj.id)
    for index, status in enumerate(entry.get("statusValues") or ()):
        if status not in STATUSES:
            message = f"no condition ever has the status {status!r}; it is True, False or Unknown"
            place = place_of(obj.parts, (*at, "statusValues", index))
            yield finding("MUS221", message, place, hint=did_you_mean(str(status), STATUSES), object_=obj.id)


def _finding(obj: Object, code: str, index: int, message: str, hint: str) -> Finding:
    return finding(code, message, place_of(obj.parts, ("spec", "taints", index)), hint=hint, object_=obj.id)
