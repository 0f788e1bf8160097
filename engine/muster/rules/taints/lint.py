"""Checks of taints that people set, and of ClusterTaintPolicies.

A policy's taint does not count in a person's file, and on a Karmada Cluster each key and effect may appear once. Source
of the latter: upstream's `pkg/util/lifted/validateclustertaints.go`, as its API server does. Open Cluster Management
allows repeated keys.
"""

from collections.abc import Collection, Iterator, Mapping

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.kinds import TAINT_EFFECTS
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mappings_at
from muster.fleet.adoption import Deciders
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at, place_of, unknown_clusters
from muster.fleet.settings import Settings


def decided_taints(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each taint in a person's file that a policy decides, and that is therefore ignored.

    One with `timeAdded` came from a hub with an imported cluster.
    """
    deciders = None  # read on first use: few fleets have taints in files
    for obj in fleet.clusters():
        for part in obj.parts:
            taints = dig(part.body, "spec", "taints") if not part.source.ref else None
            for index, taint in enumerate(taints if isinstance(taints, list) else ()):
                deciders = deciders or Deciders.of(fleet.objects)
                if deciders.decide_taint(obj.kind, taint) and taint.get("timeAdded") is None:
                    message = (
                        f"{taint['key']}:{taint['effect']} is a taint that a policy decides: this one does not count"
                    )
                    place = place_of((part,), ("spec", "taints", index))
                    hint = "remove it; to keep work away by hand, use a key of your own (muster taint)"
                    yield finding(Code.TAINT_OF_POLICY, message, place, hint=hint, object_=obj.id)


def repeated_taints(obj: Object) -> Iterator[Finding]:
    """Yield an error for each taint of a Cluster that repeats an earlier key and effect."""
    first: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(mappings_at(obj.spec, "taints")):
        key, effect = str(taint.get("key")), str(taint.get("effect"))
        before = first.setdefault((key, effect), index)
        if before != index:
            message = f"spec.taints[{index}] is {key}:{effect}, and so is spec.taints[{before}]"
            yield finding_at(obj, ("spec", "taints", index), Code.TAINT_TWICE_ON_CLUSTER, message, "keep one of them")


def taint_policy_findings(obj: Object, settings: Settings, clusters: Collection[str]) -> Iterator[Finding]:
    """Yield what Karmada's webhook refuses (a repeated taint, and NoExecute unless the fleet allows it), values without
    effect, and missing clusters."""
    taints = [(str(taint.get("key")), str(taint.get("effect"))) for taint in mappings_at(obj.spec, "taints")]
    for index, taint in enumerate(taints):
        field = f"spec.taints[{index}]"
        if taints.count(taint) > 1 and taints.index(taint) == index:
            message = f"{field} adds {taint[0]}:{taint[1]}, and so does another entry"
            yield _taint_finding(obj, Code.TAINT_TWICE_IN_POLICY, index, message, "keep one of them")
        if taint[1] == "NoExecute" and not settings.no_execute:
            message = f"{field} adds a NoExecute taint, which moves work off clusters"
            hint = "set spec.taints.allowNoExecute: true on the Fleet if policies may do that"
            yield _taint_finding(obj, Code.NO_EXECUTE_BY_POLICY, index, message, hint)
        if not any(taint[1] in effects for effects in TAINT_EFFECTS.values()):
            message = f"{field}: no cluster takes the effect {taint[1]!r}"
            yield _taint_finding(obj, Code.UNKNOWN_TAINT_EFFECT, index, message, "use NoSchedule or NoExecute")
    for name in ("addOnConditions", "removeOnConditions"):
        for index, entry in enumerate(mappings_at(obj.spec, name)):
            yield from _unknown_values(obj, ("spec", name, index), entry)
    yield from _unknown_targets(obj, clusters)


def _unknown_targets(obj: Object, clusters: Collection[str]) -> Iterator[Finding]:
    """Names of clusters that do not exist, and requirements on fields that match nothing, or everything."""
    from muster.rules.taints.cluster_policy import FIELD_OPERATORS, FIELDS

    target: At = ("spec", "targetClusters")
    for field in ("clusterNames", "exclude"):
        yield from unknown_clusters(obj, (*target, field), clusters)
    for index, entry in enumerate(mappings_at(obj.spec, "targetClusters", "fieldSelector", "matchExpressions")):
        at: At = (*target, "fieldSelector", "matchExpressions", index)
        key, operator = str(entry.get("key")), str(entry.get("operator"))
        if key not in FIELDS:
            message = f"no cluster has the field {key!r}; it is provider, region or zone"
            yield finding_at(obj, (*at, "key"), Code.UNKNOWN_REFERENCE, message, did_you_mean(key, FIELDS))
        if operator not in FIELD_OPERATORS:
            message = f"the operator {operator!r} matches nothing; it is In, NotIn, Exists or DoesNotExist"
            hint = did_you_mean(operator, FIELD_OPERATORS)
            yield finding_at(obj, (*at, "operator"), Code.UNKNOWN_OPERATOR, message, hint)


def _unknown_values(obj: Object, at: At, entry: Mapping[str, Tree]) -> Iterator[Finding]:
    """Values that upstream's schema accepts and that match nothing."""
    from muster.rules.remedies.policy import STATUSES
    from muster.rules.taints.cluster_policy import OPERATORS

    operator = str(entry.get("operator"))
    if operator not in OPERATORS:
        message = f"the operator {operator!r} matches nothing; it is In or NotIn"
        yield finding_at(obj, (*at, "operator"), Code.UNKNOWN_OPERATOR, message, did_you_mean(operator, OPERATORS))
    for index, status in enumerate(entry.get("statusValues") or ()):
        if status not in STATUSES:
            message = f"no condition ever has the status {status!r}; it is True, False or Unknown"
            hint = did_you_mean(str(status), STATUSES)
            yield finding_at(obj, (*at, "statusValues", index), Code.IMPOSSIBLE_STATUS, message, hint)


def _taint_finding(obj: Object, code: Code, index: int, message: str, hint: str) -> Finding:
    return finding_at(obj, ("spec", "taints", index), code, message, hint)
