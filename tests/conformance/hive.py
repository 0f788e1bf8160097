"""Adapter for cases of Hive's pool, claim and hibernation controllers.

A case is the state of a live hub before one run of one controller. muster is given the same situation as a fleet
repository: what people write and what a provisioner reports as inputs, what Hive's controllers wrote before as the
derived state of the last run. One evaluation is one pass, and only what the case asserts is compared.

Cases run with `Fleet.spec.pools.compatibility: hive`; those in `SEED` also run by the seed's rules, which are
muster's default, with the expectation that muster has there.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import yaml

from muster.answers.evaluate import Run
from muster.decide.pools import version_of
from muster.decide.pools.buckets import Buckets, classify
from muster.decide.pools.hub_version import hub_version, matching
from muster.decide.pools.rules import rules_of
from muster.decide.pools.survey import survey
from muster.fleet.derived import derived_text
from muster.fleet.locations import derived_path
from muster.model.finding import Severity
from muster.model.ids import ObjectId
from muster.model.kinds import (
    BY_NAME,
    CLUSTER_CLAIM,
    CLUSTER_DEPLOYMENT,
    CLUSTER_DEPLOYMENT_CUSTOMIZATION,
)
from muster.model.times import format_duration, parse_duration, parse_time
from muster.model.tree import Tree, dig, mapping_at, mappings_at
from tests.conformance.evaluating import evaluated
from tests.conformance.reading import Doubt, careful, cases_in, outcome, unknown_keys
from tests.conformance.report import Outcome

VERSION = "hive.openshift.io/cluster-pool-spec-hash"
REMOVE = "hive.openshift.io/remove-cluster-from-pool"
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
#: What a case of each kind may expect.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "ClusterPool": (
        "error", "pool_status", "buckets", "broken", "assignments", "assignment_count", "actions", "conditions",
        "claim_conditions", "customizations", "order_unspecified", "outcomes", "pool_released",
    ),
    "ClusterClaim": ("error", "actions", "claim_status", "requeue_after", "rbac"),
    "ClusterDeployment": ("error", "actions", "conditions", "status_power_state", "requeue_after"),
}  # fmt: skip


# -- reading cases


def load(directory: Path) -> list[Tree]:
    """Return the cases of every file of this form in a directory."""
    return list(cases_in(directory, "hive", lambda case: dig(case, "reconcile", "kind") in _COMPARE))


# -- what is skipped, and why

_PROBES = "what machines, nodes and operators show is the provisioner's to report; muster polls no cloud"
_SUPPORT = "whether a platform can hibernate is the provisioner's to report"
_SYNC_SETS = "SyncSets are applied by Hive inside its clusters; muster knows none"
_SECRETS = "what a secret holds is not in a fleet repository"


def skip_reason(case: Tree) -> str | None:
    """Return why a case does not concern muster; None where it does."""
    if "does not contain" in str(case["expect"].get("error")):
        return _SECRETS
    if case["reconcile"]["kind"] != "ClusterDeployment":
        return None
    if case["given"].get("observed"):
        return _PROBES
    syncs = [obj for obj in case["given"]["objects"] if obj["kind"] == "ClusterSync"]
    if not any(dig(obj, "status", "firstSuccessTime") for obj in syncs):
        return _SYNC_SETS
    reasons = {c.get("reason") for obj in case["given"]["objects"] for c in mappings_at(obj, "status", "conditions")}
    if "Unsupported" in reasons:
        return _SUPPORT
    return _SYNC_SETS if reasons & {"SyncSetsNotApplied", "SyncSetsApplied"} else None


# -- the fleet repository of a case


def repository(case: Tree, *, compatibility: str) -> dict[str, str]:
    """Return the files that put muster into the situation of a case."""
    given = case["given"]
    dependencies = given.get("dependencies") or {}
    external = [f"ClusterImageSet/{name}" for name in dependencies.get("cluster_image_sets") or ()]
    external += [f"Secret/{secret['name']}" for secret in dependencies.get("secrets") or ()]
    fleet = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Fleet",
        "metadata": {"name": "fleet"},
        "spec": {"pools": {"compatibility": compatibility, "externalDependencies": external}},
    }
    versions = {
        (obj["metadata"]["namespace"], obj["metadata"]["name"]): version_of(obj["spec"])
        for obj in given["objects"]
        if obj["kind"] == "ClusterPool"
    }
    files = {"fleet.yaml": _text(fleet)}
    for index, obj in enumerate(given["objects"]):
        if obj["kind"] in _SPLIT:
            written, derived = _SPLIT[obj["kind"]](obj, versions)
            if written is not None:
                files[f"inputs/{index:03}.yaml"] = _text(written)
            if derived is not None:
                if compatibility == "seed" and obj["kind"] == "ClusterDeployment":
                    derived["status"] = {"muster": {"powerStateSince": _asked(obj)}}
                files[derived_path(_id(obj), 1)] = derived_text(derived)
    return files


def _asked(obj: Tree) -> str:
    """When muster would have asked for the power state that the cluster is in, or on its way to."""
    conditions = {c["type"]: c for c in mappings_at(obj, "status", "conditions")}
    since = dig(conditions, "Hibernating", "lastTransitionTime")
    return str(since or dig(obj, "metadata", "creationTimestamp"))


Parts = tuple[Tree, Tree]
Versions = Mapping[tuple[str, str], str]


def _split_pool(obj: Tree, _versions: Versions) -> Parts:
    """A pool of which an earlier run remembers something does not move in from a hub on this day."""
    status = {**(obj.get("status") or {}), "muster": {"nextOrdinal": 1}}
    return _part(obj, metadata=obj["metadata"], spec=obj["spec"]), _part(obj, status=status)


def _split_claim(obj: Tree, _versions: Versions) -> Parts:
    spec = dict(obj["spec"])
    assigned = {"namespace": spec.pop("namespace")} if spec.get("namespace") else None
    return _part(obj, metadata=obj["metadata"], spec=spec), _part(obj, spec=assigned, status=obj.get("status"))


def _split_cluster(obj: Tree, versions: Versions) -> Parts:
    spec = dict(obj["spec"])
    seen = {name: spec.pop(name) for name in ("installed", "clusterMetadata") if name in spec}
    metadata = dict(obj["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    reference = spec.get("clusterPoolRef") or {}
    if annotations.get(VERSION) == "@current":
        key = (str(reference.get("namespace")), str(reference.get("poolName")))
        annotations[VERSION] = versions.get(key, "unknown-pool")
    if annotations:
        metadata["annotations"] = annotations
    status = obj.get("status")
    written = _part(obj, spec=seen, status=status) if seen or status else None
    return written, _part(obj, metadata=metadata, spec=spec)


def _split_customization(obj: Tree, _versions: Versions) -> Parts:
    return _part(obj, metadata=obj["metadata"], spec=obj.get("spec")), _part(obj, status=obj.get("status"))


_SPLIT: Mapping[str, Callable[[Tree, Versions], Parts]] = {
    "ClusterPool": _split_pool,
    "ClusterClaim": _split_claim,
    "ClusterDeployment": _split_cluster,
    "ClusterDeploymentCustomization": _split_customization,
}


def _part(obj: Tree, **sections: Tree) -> Tree:
    """A part of an object with these sections; None where all are empty. The identity is added to the metadata."""
    present = {name: section for name, section in sections.items() if section}
    if not present:
        return None
    identity = {name: obj["metadata"][name] for name in ("name", "namespace")}
    metadata = {**identity, **{k: v for k, v in present.pop("metadata", {}).items() if k not in identity}}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, **present}


def _id(obj: Tree) -> ObjectId:
    return BY_NAME[obj["kind"]].id(obj["metadata"]["name"], obj["metadata"]["namespace"])


def _text(tree: Tree) -> str:
    return str(yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False))


# -- what muster did, in the words of a case


@dataclass(frozen=True)
class Result:
    """One evaluation of a case, and how to read it."""

    case: Tree
    run: Run

    @property
    def id(self) -> ObjectId:
        """The object that the case is about."""
        target = self.case["reconcile"]
        return BY_NAME[target["kind"]].id(target["name"], target["namespace"])

    @property
    def now(self) -> datetime:
        return self.run.now

    def before(self, id_: ObjectId) -> Tree:
        """The object as the case gives it; None where it did not exist."""
        return next((o for o in self.case["given"]["objects"] if o["kind"] in BY_NAME and _id(o) == id_), None)

    def after(self, id_: ObjectId) -> Tree:
        """The object as muster leaves it."""
        return self.run.fleet.whole(id_)

    def derived(self, id_: ObjectId, *path: str | tuple[str, ...]) -> Tree:
        return self.run.fleet.now(id_, *path)

    def clusters(self) -> dict[str, Tree]:
        """Clusters of the case's pool after the pass, by name."""
        key = (self.id.namespace, self.id.name)
        found = {}
        for body in self.run.objects:
            reference = mapping_at(body, "spec", "clusterPoolRef")
            if body["kind"] == "ClusterDeployment" and (reference.get("namespace"), reference.get("poolName")) == key:
                found[body["metadata"]["name"]] = body
        return found

    def buckets(self) -> Buckets:
        """How muster classifies the clusters of the case's pool at the start of the pass."""
        fleet = self.run.fleet
        view = survey(fleet, self.run.now, rules_of(fleet.settings))
        pool = next(pool for pool in view.pools if pool.id == self.id)
        clusters, version = view.of_pool.get(pool.key, ()), version_of(pool.spec)
        hub = hub_version(fleet, pool, clusters, version)
        return classify(pool, clusters, matching(version, hub), lambda id_: self.conditions(self.after(id_)))

    @staticmethod
    def conditions(body: Tree) -> dict[str, Tree]:
        """An object's conditions by type."""
        return {condition["type"]: condition for condition in mappings_at(body, "status", "conditions")}

    @property
    def hibernates_at(self) -> datetime | None:
        """When the cluster goes to sleep by itself."""
        decision = self.run.fleet.decisions(self.id).get(("spec", "powerState"))
        return None if decision is None else decision.horizon

    def requeue(self) -> str | None:
        """When the object is looked at again on account of time alone."""
        decisions = self.run.fleet.decisions(self.id).values()
        ahead = [d.horizon for d in decisions if d.horizon is not None and d.horizon > self.now]
        return format_duration(min(ahead) - self.now) if ahead else None


Mismatch = tuple[str, Tree, Tree]


def _strange(given: Tree, known: Collection[str], where: str) -> Iterator[Mismatch]:
    """Keys that nothing here compares."""
    for expected, actual in unknown_keys(given or {}, known, where):
        yield where, expected, actual


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
        yield from _condition_mismatches(expect["conditions"], pool, _POOL_CONDITIONS)
    for name, wanted in (expect.get("claim_conditions") or {}).items():
        claim = result.after(CLUSTER_CLAIM.id(name, result.id.namespace))
        yield from _condition_mismatches(wanted, claim, tuple(wanted))
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
        yield from _strange(wanted, (*_BUCKETS, *_STALE, "claimed"), "expect.buckets")
    if wanted is not None and "pool_status" in expect and not _failed_whole(expect):
        for bucket, names in _BUCKETS.items():
            have = sorted(name for name, word in recorded.items() if word in names)
            yield f"bucket {bucket}", sorted(wanted.get(bucket, ())), have
        started = result.buckets()
        for bucket, field in _STALE.items():
            have = sorted(cluster.name for cluster in getattr(started.stale, field))
            yield f"bucket {bucket}", sorted(wanted.get(bucket, ())), have
        claimed = {cluster.claim: cluster.name for cluster in started if cluster.claim and not cluster.deleting}
        yield "bucket claimed", wanted.get("claimed", {}), claimed
    if "broken" in expect:
        yield "broken", expect["broken"], "broken" in recorded.values()


def _failed_whole(expect: Tree) -> bool:
    """Whether upstream gave up before it decided anything."""
    return expect.get("error") is not None and not expect.get("conditions")


def _action_mismatches(result: Result, clusters: Mapping[str, Tree]) -> Iterator[Mismatch]:
    expect = result.case["expect"]
    born = {name: body for name, body in clusters.items() if result.before(_cluster_id(name)) is None}
    old = {name: body for name, body in clusters.items() if name not in born}
    assigned = _assignments(result, old)
    did = {
        "delete": [name for name, body in old.items() if _newly(result, name, body, "metadata", "deletionTimestamp")],
        "resume": [name for name, body in old.items() if _power_changed(result, name, body) == "Running"],
        "hibernate": [name for name, body in old.items() if _power_changed(result, name, body) == "Hibernating"],
    }
    if outcomes := expect.get("outcomes"):
        for index, one in enumerate(outcomes):
            yield from _strange(one, ("assignments", *did), f"expect.outcomes[{index}]")
        alike = [{k: v if k == "assignments" else sorted(v) for k, v in one.items()} for one in outcomes]
        together: Tree = {"assignments": assigned, **{verb: sorted(names) for verb, names in did.items()}}
        yield "outcome", together if together in alike else alike, together
        yield from _contradictions(expect, alike)
    yield "order_unspecified", expect.get("order_unspecified", False) or not _is_open(expect), True
    actions = expect["actions"]
    yield from _strange(actions, ("create", *did), "expect.actions")
    yield from _strange(actions.get("create"), ("count", "running", "hibernating", "template"), "expect.actions.create")
    for verb in ("delete", "resume", "hibernate"):
        if isinstance(actions.get(verb), dict):
            yield from _strange(actions[verb], ("count", "names", "any_of"), f"expect.actions.{verb}")
        yield verb, _matching(actions.get(verb), did[verb]), sorted(did[verb])
    wanted = expect.get("assignments") or {}
    if "assignment_count" in expect:
        yield "assignment_count", expect["assignment_count"], len(assigned)
    else:
        yield "assigned claims", sorted(wanted), sorted(assigned)
    for claim, cluster in assigned.items():
        allowed = wanted.get(claim)
        if isinstance(allowed, dict):
            yield from _strange(allowed, ("any_of",), f"expect.assignments.{claim}")
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
        for verb in ("delete", "resume", "hibernate"):
            yield f"{verb} in outcomes", _matching(expect["actions"].get(verb), one[verb]), one[verb]
        served = expect.get("assignment_count", len(assignments))
        yield "claims in outcomes", served, len(one["assignments"])
        yield "claims in outcomes", [], sorted(one["assignments"].keys() - assignments.keys())
    for claim, allowed in assignments.items():
        told = sorted({one["assignments"][claim] for one in outcomes if claim in one["assignments"]})
        choice = sorted(allowed["any_of"]) if isinstance(allowed, dict) else [allowed]
        yield f"outcomes of {claim}", choice, told
    for verb in ("delete", "resume", "hibernate"):
        allowed = expect["actions"].get(verb)
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


def _cluster_id(name: str) -> ObjectId:
    return CLUSTER_DEPLOYMENT.id(name, name)


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
        if claim and claim != dig(result.before(_cluster_id(name)), "spec", "clusterPoolRef", "claimName"):
            made[claim] = name
    return made


def _newly(result: Result, name: str, body: Tree, *path: str) -> bool:
    return dig(body, *path) is not None and dig(result.before(_cluster_id(name)), *path) is None


def _power_changed(result: Result, name: str, body: Tree) -> str | None:
    """The power state that a cluster is asked for now and was not before."""
    state = dig(body, "spec", "powerState")
    return state if state != dig(result.before(_cluster_id(name)), "spec", "powerState") else None


def _condition_mismatches(wanted: Tree, body: Tree, known: tuple[str, ...]) -> Iterator[Mismatch]:
    have = Result.conditions(body)
    for type_ in (*known, *(type_ for type_ in wanted if type_ not in known)):
        fields, found = wanted.get(type_), have.get(type_)
        if fields is None:
            yield f"condition {type_}", None, found
        else:
            yield f"condition {type_}", fields, {name: (found or {}).get(name) for name in fields}


def _customization(item: Tree, clusters: Mapping[str, Tree], result: Result) -> Tree:
    conditions = {c["type"]: c for c in mappings_at(item, "status", "conditions")}
    shown: Tree = {}
    for name, type_ in (("apply_succeeded", "ApplySucceeded"), ("available", "Available")):
        if type_ in conditions:
            shown[name] = f"{conditions[type_]['status']}/{conditions[type_]['reason']}"
    if cluster := dig(item, "status", "clusterDeploymentRef", "name"):
        born = [name for name in clusters if result.before(_cluster_id(name)) is None]
        shown["cluster"] = f"<new-{born.index(cluster) + 1}>" if cluster in born else cluster
    return shown


def claim_mismatches(result: Result) -> Iterator[Mismatch]:
    """Compare a claim case."""
    expect, claim, before = result.case["expect"], result.after(result.id), result.before(result.id)
    named = dig(before, "spec", "namespace")
    ended = dig(before, "metadata", "deletionTimestamp") is not None
    cluster = result.after(_cluster_id(named)) if named else None
    marked = dig(cluster, "metadata", "annotations", REMOVE) == "true"
    did = {
        "delete_claim": [result.id.name] if result.derived(result.id, "metadata", "deletionTimestamp") else [],
        "mark_for_removal": [named] if marked and not _marked(result.before(_cluster_id(named))) else [],
        "clear_assignment": [result.id.name] if named and not dig(claim, "spec", "namespace") and not ended else [],
        "release_claim": [result.id.name] if ended and not result.run.fleet.decisions(result.id) else [],
    }
    yield from _strange(expect["actions"], did, "expect.actions")
    for verb, names in did.items():
        wanted = expect["actions"].get(verb) or []
        yield verb, wanted if isinstance(wanted, list) else [wanted], names
    status = expect.get("claim_status")
    if status is not None:
        yield from _strange(status, ("lifetime", "conditions"), "expect.claim_status")
        if "lifetime" in status or dig(claim, "status", "lifetime"):
            yield "lifetime", _normal(status.get("lifetime")), _normal(dig(claim, "status", "lifetime"))
        yield from _condition_mismatches(status.get("conditions") or {}, claim, tuple(status.get("conditions") or {}))
    yield "requeue_after", _normal(expect.get("requeue_after")), result.requeue()
    owner = dig(cluster, "status", "muster", "owner")
    if expect.get("rbac") is not None or owner is not None:
        yield "rbac", expect.get("rbac"), _rbac(owner, named)


def _marked(body: Tree) -> bool:
    return bool(dig(body, "metadata", "annotations", REMOVE) == "true")


def _normal(duration: str | None) -> str | None:
    return None if duration is None else format_duration(parse_duration(duration))


def _rbac(owner: Tree, namespace: str | None) -> Tree:
    if owner is None:
        return None
    subjects = [f"{subject['kind']}/{subject['name']}" for subject in owner["subjects"]]
    return {"role": owner["role"], "namespace": namespace, "subjects": subjects}


_INITIALIZED = {"status": "Unknown", "reason": "Initialized", "message": "Condition Initialized"}


def cluster_mismatches(result: Result) -> Iterator[Mismatch]:
    """Compare a hibernation case."""
    expect, body, before = result.case["expect"], result.after(result.id), result.before(result.id)
    stated = result.derived(result.id, "status", "powerState")
    requested = {"Stopping": "stop", "StartingMachines": "start"}.get(stated)
    yield from _strange(expect["actions"], ("machines", "set_power_state", "approve_csrs"), "expect.actions")
    if expect["actions"].get("approve_csrs") is not None:
        yield "approve_csrs", expect["actions"]["approve_csrs"], Doubt("a provisioner approves the requests of nodes")
    yield "machines", expect["actions"].get("machines"), requested
    state = dig(body, "spec", "powerState")
    changed = state if state != dig(before, "spec", "powerState") else None
    yield "set_power_state", expect["actions"].get("set_power_state"), changed
    yield "status_power_state", expect.get("status_power_state"), dig(body, "status", "powerState")
    conditions, known = Result.conditions(body), Result.conditions(before)
    for type_, fields in (expect.get("conditions") or {}).items():
        if fields.get("reason") == "Initialized":  # upstream's for "nothing was said yet", which is no condition here
            yield f"condition {type_}", None, conditions.get(type_)
            yield f"condition {type_}", fields, {**_INITIALIZED, "transitioned": type_ not in known}
            continue
        found = conditions.get(type_) or {}
        moved = found.get("status") != (known.get(type_) or {}).get("status")
        have = {**{name: found.get(name) or "" for name in fields}, "transitioned": moved}
        yield f"condition {type_}", fields, have
    if expect.get("requeue_after") is not None:
        # Upstream looks again at the limit of hibernateAfter and acts beyond it; muster's horizon is the first instant
        # beyond it. Whatever else is waited for is due at its limit or, where that is strict, a second later.
        wait, beyond = parse_duration(expect["requeue_after"]), timedelta(seconds=1)
        due = {result.now + wait + beyond} if result.hibernates_at else {result.now + wait, result.now + wait + beyond}
        ahead = None if (later := result.requeue()) is None else result.now + parse_duration(later)
        if ahead not in due:
            yield "requeue_after", expect["requeue_after"], f"looked at again after {later}"
    else:
        yield "requeue_after", None, result.requeue()


_COMPARE = {"ClusterPool": pool_mismatches, "ClusterClaim": claim_mismatches, "ClusterDeployment": cluster_mismatches}


def _error_mismatch(result: Result) -> Iterator[Mismatch]:
    """An error that upstream returns is what muster says in a condition or a finding."""
    error = result.case["expect"].get("error")
    if error is None:
        errors = [found for found in result.run.findings if found.severity is Severity.ERROR]
        yield "error", [], [f"{found.code} {found.message}" for found in errors]
        return
    said = [c.get("message", "") for c in mappings_at(result.after(result.id), "status", "conditions")]
    said += [finding.message for finding in result.run.findings]
    yield "error", error, error if any(error in text for text in said) else said


# -- deliberate differences


@dataclass(frozen=True)
class Difference:
    """What muster does by the seed's rules in the situation of a case, and why."""

    why: str
    expect: Tree


_VERIFIED = {
    "AllClustersCurrent": {"status": "True", "reason": "ClusterDeploymentsCurrent"},
    "CapacityAvailable": {"status": "True", "reason": "Available"},
    "MissingDependencies": {"status": "False", "reason": "Verified"},
}


def _replaces(name: str, why: str) -> Difference:
    """The one cluster of the pool is broken, and deleted so that the next pass replaces it."""
    status = {"size": 1, "standby": 0, "ready": 0}
    actions = {"create": {"count": 0}, "delete": [name], "resume": [], "hibernate": []}
    broken = {"pool_status": status, "broken": True, "buckets": {"broken": [name]}}
    return Difference(why, {**broken, "actions": actions, "conditions": _VERIFIED})


#: Cases in which the seed's rules differ from upstream's: run a second time by the seed's rules. In neither is the
#: order compared in which clusters are deleted: all deletions of a pass are in one commit.
SEED: Mapping[str, Difference] = {
    "d-failed-to-start-with-timeout-not-yet": _replaces("c1", "seed: an error ends the wait, not only the timeout"),
    "d-failed-to-stop-is-never-broken": _replaces("c1", "seed: a cluster that failed to stop is broken"),
    "d-resume-requested-while-stopping-escapes-timeout": _replaces(
        "c1", "seed: a resume that was asked for while the stop was unfinished counts from the request"
    ),
    "d-provisionstopped-condition-absent-skips-timeout": _replaces(
        "c1", "seed: the timeout counts whether or not the provisioner speaks of provisioning"
    ),
    "d-missing-dependencies-block-broken-deletion": Difference(
        "a missing dependency keeps clusters from being made, not broken ones from being deleted",
        {
            "actions": {"create": {"count": 0}, "delete": ["c1"], "resume": ["c2"], "hibernate": []},
            "conditions": {**_VERIFIED, "MissingDependencies": {"status": "True", "reason": "Missing"}},
        },
    ),
    "d-deleting-unassigned-claim-still-gets-a-cluster": Difference(
        "a claim that is being deleted wants no cluster",
        {
            "assignments": {},
            "actions": {"create": {"count": 0}, "delete": [], "resume": [], "hibernate": []},
            "claim_conditions": {},
        },
    ),
}


def run(directory: Path) -> list[Outcome]:
    """Run every case of a directory; those with a deliberate difference run by both rulebooks."""
    outcomes = []
    for case in load(directory):
        outcomes.append(judge(case))
        if (difference := SEED.get(dig(case, "id"))) is not None:
            changed = {**case, "expect": {**case["expect"], **difference.expect}}
            outcomes.append(by_seed({**changed, "id": f"{case['id']} (seed)"}))
    return outcomes


@careful
def judge(case: Tree) -> Outcome:
    """Run one case by upstream's rulebook."""
    if (kind := dig(case, "reconcile", "kind")) not in _COMPARE:
        return Outcome(case["area"], case["id"], "failed", f"one of {sorted(_COMPARE)}", f"a case of {kind}")
    if (reason := skip_reason(case)) is not None:
        return Outcome(case["area"], case["id"], "skipped", actual=reason)
    return outcome_of(case, "hive", case["id"])


@careful
def by_seed(case: Tree) -> Outcome:
    """Run one case by the seed's rulebook."""
    return outcome_of(case, "seed", case["id"])


def outcome_of(case: Tree, compatibility: str, name: str) -> Outcome:
    """Run one case by one rulebook and compare what it asserts."""
    files = repository(case, compatibility=compatibility)
    result, kind = Result(case, evaluated(files, parse_time(case["given"]["now"]))), case["reconcile"]["kind"]
    compared = (*_strange(case["expect"], _KEYS[kind], "expect"), *_COMPARE[kind](result), *_error_mismatch(result))
    wrong = [(what, wanted, have) for what, wanted, have in compared if wanted != have]
    return outcome(
        case["area"], name,
        ((f"{what} {wanted}", have if isinstance(have, Doubt) else f"{what} {have}") for what, wanted, have in wrong),
    )  # fmt: skip
