"""How a pool case of Hive's is compared: status, buckets, assignments, actions, conditions and inventory."""

from collections.abc import Iterator, Mapping

from muster.data.kinds import CLUSTER_CLAIM, CLUSTER_DEPLOYMENT_CUSTOMIZATION
from muster.data.tree import Tree, dig, mapping_at
from tests.conformance.hive_result import Mismatch, Result, cluster_id, condition_mismatches, strange

_POOL_CONDITIONS = (
    "CapacityAvailable",
    "MissingDependencies",
    "AllClustersCurrent",
    "InventoryValid",
    "DeletionPossible",
)

#: Buckets by the name that a case gives them, as muster records them on each cluster.
_BUCKETS = {
    "deleting": {"deleting"},
    "markedForDeletion": {"marked"},
    "broken": {"broken"},
    "assignable": {"assignable"},
    "standby": {"standby", "resuming", "hibernating"},
    "installing": {"installing"},
}
#: Buckets of clusters that do not match their pool, which lie across the others.
_STALE = {
    "unknownPoolVersion": "unknown",
    "mismatchedPoolVersion": "mismatched",
    "customizationMissing": "uncustomized",
}


def pool_mismatches(result: Result) -> Iterator[Mismatch]:
    """Compare a pool case."""
    expect, pool = result.case["expect"], result.after(result.id)
    if expect.get("pool_status") is not None:
        status = mapping_at(pool, "status")
        yield "pool_status", expect["pool_status"], {name: status.get(name, 0) for name in expect["pool_status"]}
    clusters = result.clusters()
    yield from _bucket_mismatches(result, clusters)
    yield from _action_mismatches(result, clusters)
    if "conditions" in expect:
        yield from condition_mismatches(expect["conditions"], pool, _POOL_CONDITIONS)
    for name, wanted in (expect.get("claim_conditions") or {}).items():
        id_ = CLUSTER_CLAIM.id(name, result.id.namespace)
        if wanted is None:  # one outcome of several: nothing of it changes
            before, after = result.before(id_), result.after(id_)
            yield f"conditions of {name}", Result.conditions(before), Result.conditions(after)
        else:
            yield from condition_mismatches(wanted, result.after(id_), tuple(wanted))
    for name, wanted in (expect.get("customizations") or {}).items():
        item = result.after(CLUSTER_DEPLOYMENT_CUSTOMIZATION.id(name, result.id.namespace))
        yield f"customization {name}", wanted, _customization(item, clusters, result)
    if expect.get("pool_released") is not None:
        yield "pool_released", expect["pool_released"], result.derived(result.id, "status", "size") is None


def _bucket_mismatches(result: Result, clusters: Mapping[str, Tree]) -> Iterator[Mismatch]:
    expect = result.case["expect"]
    recorded = {name: dig(body, "status", "muster", "bucket") for name, body in clusters.items()}
    wanted = expect.get("buckets")
    if wanted is not None:
        yield from strange(wanted, (*_BUCKETS, *_STALE, "claimed"), "expect.buckets")
    if wanted is not None and "pool_status" in expect and not _failed_whole(expect):
        for bucket, names in _BUCKETS.items():
            have = sorted(name for name, word in recorded.items() if word in names)
            yield f"bucket {bucket}", sorted(wanted.get(bucket, ())), have
        started = result.buckets()
        for bucket, field in _STALE.items():
            have = sorted(cluster.name for cluster in getattr(started.stale, field))
            yield f"bucket {bucket}", sorted(wanted.get(bucket, ())), have
        claimed = {cluster.claim: cluster.name for cluster in started if cluster.claim}
        yield "bucket claimed", wanted.get("claimed", {}), claimed
    if "broken" in expect:
        yield "broken", expect["broken"], "broken" in recorded.values()


def _failed_whole(expect: Tree) -> bool:
    """Whether upstream gave up before it decided anything."""
    return expect.get("error") is not None and not expect.get("conditions")


def _action_mismatches(result: Result, clusters: Mapping[str, Tree]) -> Iterator[Mismatch]:
    expect = result.case["expect"]
    born = {name: body for name, body in clusters.items() if result.before(cluster_id(name)) is None}
    old = {name: body for name, body in clusters.items() if name not in born}
    assigned = _assignments(result, old)
    did = {
        "delete": [name for name, body in old.items() if _newly(result, name, body, "metadata", "deletionTimestamp")],
        "resume": [name for name, body in old.items() if _power_changed(result, name, body) == "Running"],
        "hibernate": [name for name, body in old.items() if _power_changed(result, name, body) == "Hibernating"],
    }
    if outcomes := expect.get("outcomes"):
        for index, one in enumerate(outcomes):
            yield from strange(one, ("assignments", *did), f"expect.outcomes[{index}]")
        none: Tree = {"assignments": {}, **dict.fromkeys(did, ())}
        alike = [{k: v if k == "assignments" else sorted(v) for k, v in {**none, **one}.items()} for one in outcomes]
        together: Tree = {"assignments": assigned, **{verb: sorted(names) for verb, names in did.items()}}
        yield "outcome", together if together in alike else alike, together
        yield from _contradictions(expect, alike)
    yield "order_unspecified", expect.get("order_unspecified", False) or not _is_open(expect), True
    actions = expect.get("actions") or {}
    yield from strange(actions, ("create", *did), "expect.actions")
    yield from strange(actions.get("create"), ("count", "running", "hibernating", "template"), "expect.actions.create")
    for verb in ("delete", "resume", "hibernate") if actions else ():
        if isinstance(actions.get(verb), dict):
            yield from strange(actions[verb], ("count", "names", "any_of"), f"expect.actions.{verb}")
        yield verb, _matching(actions.get(verb), did[verb]), sorted(did[verb])
    wanted = expect.get("assignments") or {}
    if "assignment_count" in expect:
        yield "assignment_count", expect["assignment_count"], len(assigned)
    else:
        yield "assigned claims", sorted(wanted), sorted(assigned)
    for claim, cluster in assigned.items():
        allowed = wanted.get(claim)
        if isinstance(allowed, dict):
            yield from strange(allowed, ("any_of",), f"expect.assignments.{claim}")
            yield f"assignment of {claim}", True, cluster in allowed.get("any_of", ())
        elif allowed is not None:
            yield f"assignment of {claim}", allowed, cluster
    create = actions.get("create") or {}
    powers = [dig(body, "spec", "powerState") for body in born.values()]
    made = {"count": len(born), "running": powers.count("Running"), "hibernating": powers.count("Hibernating")}
    yield "create", {k: create[k] for k in made if k in create}, {k: made[k] for k in made if k in create}
    for body in born.values():
        yield from _template_mismatches(create.get("template") or {}, body)


def _is_open(expect: Tree) -> bool:
    """Whether a case leaves a choice."""
    parts = (*(expect.get("assignments") or {}).values(), *(expect.get("actions") or {}).values())
    return "outcomes" in expect or any(isinstance(part, dict) and "any_of" in part for part in parts)


def _contradictions(expect: Tree, outcomes: list[Tree]) -> Iterator[Mismatch]:
    """What a case says of ties twice must be the same: each outcome is one that it allows, and all are listed."""
    assignments = expect.get("assignments") or {}
    for one in outcomes:
        for verb in ("delete", "resume", "hibernate") if expect.get("actions") else ():
            yield f"{verb} in outcomes", _matching(expect["actions"].get(verb), one[verb]), one[verb]
        served = expect.get("assignment_count", len(assignments))
        yield "claims in outcomes", served, len(one["assignments"])
        yield "claims in outcomes", [], sorted(one["assignments"].keys() - assignments.keys())
    for claim, allowed in assignments.items():
        told = sorted({one["assignments"][claim] for one in outcomes if claim in one["assignments"]})
        choice = sorted(allowed["any_of"]) if isinstance(allowed, dict) else [allowed]
        yield f"outcomes of {claim}", choice, told
    for verb in ("delete", "resume", "hibernate"):
        allowed = (expect.get("actions") or {}).get(verb)
        if isinstance(allowed, dict):
            names = {*(allowed.get("names") or ()), *(allowed.get("any_of") or ())}
            yield f"{verb} in outcomes", sorted(names), sorted({n for one in outcomes for n in one[verb]})


def _matching(wanted: Tree, have: list[str]) -> list[str]:
    """The expected names: as given, or `have` itself where it is one of the sets that are allowed."""
    if not isinstance(wanted, dict):
        return sorted(wanted or ())
    names, any_of = set(wanted.get("names") or ()), set(wanted.get("any_of") or ())
    allowed = len(have) == wanted["count"] and names <= set(have) <= names | any_of
    return sorted(have) if allowed else [f"{wanted}"]


def _template_mismatches(template: Tree, body: Tree) -> Iterator[Mismatch]:
    sections = (mapping_at(body, "spec", "provisioning"), mapping_at(body, "spec"), mapping_at(body, "metadata"))
    for name, wanted in template.items():
        have = next((section[name] for section in sections if name in section), None)
        if name == "annotations" and isinstance(have, dict):
            have = {key: value for key, value in have.items() if key in wanted}
        yield f"template {name}", wanted, have


def _assignments(result: Result, clusters: Mapping[str, Tree]) -> dict[str, str]:
    """Claim -> cluster where either side was told in this pass."""
    made: dict[str, str] = {}
    for body in result.run.objects:
        if body["kind"] == "ClusterClaim" and body["metadata"]["namespace"] == result.id.namespace:
            name, cluster = body["metadata"]["name"], dig(body, "spec", "namespace")
            before = dig(result.before(CLUSTER_CLAIM.id(name, result.id.namespace)), "spec", "namespace")
            if cluster and cluster != before and dig(body, "spec", "clusterPoolName") == result.id.name:
                made[name] = cluster
    for name, body in clusters.items():
        claim = dig(body, "spec", "clusterPoolRef", "claimName")
        if claim and claim != dig(result.before(cluster_id(name)), "spec", "clusterPoolRef", "claimName"):
            made[claim] = name
    return made


def _newly(result: Result, name: str, body: Tree, *path: str) -> bool:
    return dig(body, *path) is not None and dig(result.before(cluster_id(name)), *path) is None


def _power_changed(result: Result, name: str, body: Tree) -> str | None:
    """The power state that a cluster is asked for now and was not before."""
    state = dig(body, "spec", "powerState")
    return state if state != dig(result.before(cluster_id(name)), "spec", "powerState") else None


def _customization(item: Tree, clusters: Mapping[str, Tree], result: Result) -> Tree:
    conditions = Result.conditions(item)
    shown: Tree = {}
    for name, type_ in (("apply_succeeded", "ApplySucceeded"), ("available", "Available")):
        if type_ in conditions:
            shown[name] = f"{conditions[type_]['status']}/{conditions[type_]['reason']}"
    if cluster := dig(item, "status", "clusterDeploymentRef", "name"):
        born = [name for name in clusters if result.before(cluster_id(name)) is None]
        shown["cluster"] = f"<new-{born.index(cluster) + 1}>" if cluster in born else cluster
    return shown
