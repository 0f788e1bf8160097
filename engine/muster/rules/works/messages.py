"""The texts of findings about sets of works."""

from collections.abc import Iterator, Mapping, Sequence

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mappings_at
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.progress.strategy import BODIES, StrategyError

#: The field that names mandatory groups.
GROUPS = "mandatoryDecisionGroups"
_REFS = ("spec", "placementRefs")
_MANIFESTS = ("spec", "manifestWorkTemplate", "workload", "manifests")


def invalid_owner(label: str) -> str:
    """Upstream's text for a namespace and name that make no label."""
    return (
        f'ManifestWork owner reference "{label}" (namespace.name) is not a valid label value: must be no more than 63 '
        "bytes; recreate the ManifestWorkReplicaSet with a shorter namespace and/or name so the combined length "
        "is at most 63 characters"
    )


def too_long(obj: Object, label: str) -> Finding:
    """Namespace and name make no label."""
    return finding_at(
        obj,
        ("metadata", "name"),
        Code.WORK_SET_REFUSED,
        f"{obj.id} gets no works: {label!r} is too long for a label",
        "shorten its namespace or name to 62 characters together",
    )


def refused_manifests(obj: Object, at: At, message: str, hint: str) -> Finding:
    """The webhook of Open Cluster Management refuses the template."""
    return finding_at(obj, (*_MANIFESTS, *at), Code.WORK_SET_REFUSED, f"{obj.id} is refused: {message}", hint)


def chosen_twice(obj: Object, repeated: Mapping[str, str]) -> Finding:
    """Several placements of a set choose a cluster."""
    cluster, first = min(repeated.items())
    more = f" and {len(repeated) - 1} more" if len(repeated) > 1 else ""
    message = f"several placements of {obj.id} choose {cluster}{more}; it follows the first, {first}"
    return finding_at(obj, _REFS, Code.CLUSTER_CHOSEN_TWICE, message, "let the placements choose different clusters")


def no_such_strategy(obj: Object, number: int, error: StrategyError) -> Finding:
    """A rollout strategy cannot be followed."""
    at: At = (*_REFS, number, "rolloutStrategy", *error.path)
    hint = "its works stay as they are until this is fixed"
    if error.path == ("type",):
        written = dig(mappings_at(obj.body, *_REFS)[number], "rolloutStrategy", "type")
        hint = did_you_mean(str(written), BODIES) or hint
    return finding_at(obj, at, Code.STRATEGY_CANNOT_BE_FOLLOWED, f"{obj.id} holds its rollout: {error.message}", hint)


def unknown_group(obj: Object, number: int, at: tuple[str, int], name: str, declared: Sequence[str]) -> Finding:
    """A strategy names a decision group that the Placement does not declare."""
    body, position = at
    path: At = (*_REFS, number, "rolloutStrategy", body, GROUPS, position, "groupName")
    message = f"{obj.id} holds its rollout: its placement declares no decision group named {name!r}"
    return finding_at(obj, path, Code.STRATEGY_CANNOT_BE_FOLLOWED, message, did_you_mean(name, declared))


def missing_group(
    obj: Object, number: int, error: StrategyError, objects: Mapping[ObjectId, Object]
) -> Iterator[Finding]:
    """A strategy names a group that its Placement has not formed. If it does not even declare it, a check says so."""
    ref = mappings_at(obj.body, *_REFS)[number]
    body = BODIES[dig(ref, "rolloutStrategy", "type")]
    entry = mappings_at(ref, "rolloutStrategy", body, GROUPS)[int(error.path[1])]
    placement = objects.get(PLACEMENT.id(str(ref["name"]), obj.id.namespace))
    name = entry.get("groupName")
    if placement is None or not name or name in declared_groups(placement):
        at: At = (*_REFS, number, "rolloutStrategy", body, *error.path)
        hint = "a decision group that selects no cluster does not exist"
        message = f"{obj.id} holds its rollout: {error.message}"
        yield finding_at(obj, at, Code.STRATEGY_CANNOT_BE_FOLLOWED, message, hint)


def declared_groups(placement: Object) -> list[str]:
    """The names of the decision groups that a Placement declares."""
    groups = mappings_at(placement.spec, "decisionStrategy", "groupStrategy", "decisionGroups")
    return sorted(str(group.get("groupName")) for group in groups)


def no_limit(obj: Object, number: int, body: str) -> Finding:
    """`maxConcurrency: 0` is no limit."""
    at: At = (*_REFS, number, "rolloutStrategy", body, "maxConcurrency")
    message = f"{obj.id} changes all clusters at once: a maxConcurrency of 0 is no limit"
    return finding_at(obj, at, Code.NO_LIMIT_OF_CONCURRENCY, message, "write 1, or remove the field")


def no_progressing_rule(obj: Object) -> Finding:
    """Nothing says whether the works progress."""
    message = f"no rule of {obj.id} derives Progressing, so a cluster is done as soon as its work is available"
    hint = "add conditionRules for Progressing, and for Degraded, to spec.manifestWorkTemplate.manifestConfigs"
    return finding_at(obj, ("spec", "manifestWorkTemplate"), Code.NO_PROGRESSING_RULE, message, hint)


def manifests_of(obj: Object) -> list[Tree]:
    """The manifests of a set's template."""
    manifests = dig(obj.body, *_MANIFESTS)
    return manifests if isinstance(manifests, list) else []
