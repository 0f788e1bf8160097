"""Adapter for cases of Hive's pool, claim and hibernation controllers.

A case is the state of a live hub before one run of one controller. muster is given the same situation as a fleet
repository: what people write and what a provisioner reports as inputs, what Hive's controllers wrote before as the
derived state of the last run. One evaluation is one pass, and only what the case asserts is compared.

Cases run with `Fleet.spec.pools.compatibility: hive`; those in `SEED` also run by the seed's rules, which are
muster's default, with the expectation that muster has there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from muster.data.codes import Severity
from muster.data.times import format_duration, parse_duration, parse_time
from muster.data.tree import Tree, dig, mappings_at
from tests.conformance.evaluating import evaluated
from tests.conformance.hive_pools import pool_mismatches
from tests.conformance.hive_provisioner import is_reported, reported
from tests.conformance.hive_repository import repository
from tests.conformance.hive_result import Mismatch, Result, cluster_id, condition_mismatches, strange
from tests.conformance.reading import Doubt, careful, cases_in, outcome, unknown_inputs, unknown_keys
from tests.conformance.report import Outcome

#: How a case says that an object is looked at again without waiting.
AT_ONCE = "immediately"
REMOVE = "hive.openshift.io/remove-cluster-from-pool"
#: What a case of each kind may expect.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "ClusterPool": (
        "error",
        "pool_status",
        "buckets",
        "broken",
        "assignments",
        "assignment_count",
        "actions",
        "conditions",
        "claim_conditions",
        "customizations",
        "order_unspecified",
        "outcomes",
        "pool_released",
    ),
    "ClusterClaim": ("error", "actions", "claim_status", "requeue_after", "rbac"),
    "ClusterDeployment": ("error", "actions", "conditions", "status_power_state", "requeue_after"),
}
#: What a case may give, and what a probe of a cloud or a cluster may have shown.
_GIVEN = ("now", "objects", "dependencies", "observed")
_OBSERVED = (
    "platform_supported",
    "machines_stopped",
    "machines_running",
    "machines_not_running",
    "stop_error",
    "start_error",
    "target_cluster",
)


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
    if case["given"].get("observed") and not (is_reported(case) or _has_timer(case)):
        return _PROBES
    syncs = [obj for obj in case["given"]["objects"] if obj["kind"] == "ClusterSync"]
    if not any(dig(obj, "status", "firstSuccessTime") for obj in syncs):
        return _SYNC_SETS
    reasons = {c.get("reason") for obj in case["given"]["objects"] for c in mappings_at(obj, "status", "conditions")}
    if "Unsupported" in reasons and not case["given"].get("observed"):
        return _SUPPORT
    return _SYNC_SETS if reasons & {"SyncSetsNotApplied", "SyncSetsApplied"} else None


def _has_timer(case: Tree) -> bool:
    """Whether the cluster goes to sleep by itself: what follows from that is muster's, whatever is observed beside."""
    target = case["reconcile"]
    bodies = (obj for obj in case["given"]["objects"] if obj["kind"] == target["kind"])
    return any(obj["metadata"]["name"] == target["name"] and dig(obj, "spec", "hibernateAfter") for obj in bodies)


# -- comparing claims and clusters


def claim_mismatches(result: Result) -> Iterator[Mismatch]:
    """Compare a claim case."""
    expect, claim, before = result.case["expect"], result.after(result.id), result.before(result.id)
    named = dig(before, "spec", "namespace")
    ended = dig(before, "metadata", "deletionTimestamp") is not None
    cluster = result.after(cluster_id(named)) if named else None
    marked = dig(cluster, "metadata", "annotations", REMOVE) == "true"
    did = {
        "delete_claim": [result.id.name] if result.derived(result.id, "metadata", "deletionTimestamp") else [],
        "mark_for_removal": [named] if marked and not _marked(result.before(cluster_id(named))) else [],
        "clear_assignment": [result.id.name] if named and not dig(claim, "spec", "namespace") and not ended else [],
        "release_claim": [result.id.name] if ended and not result.run.fleet.decisions(result.id) else [],
    }
    if (actions := expect.get("actions")) is not None:
        yield from strange(actions, did, "expect.actions")
        for verb, names in did.items():
            wanted = actions.get(verb) or []
            yield verb, wanted if isinstance(wanted, list) else [wanted], names
    status = expect.get("claim_status")
    if status is not None:
        yield from strange(status, ("lifetime", "conditions"), "expect.claim_status")
        if "lifetime" in status or dig(claim, "status", "lifetime"):
            yield "lifetime", _normal(status.get("lifetime")), _normal(dig(claim, "status", "lifetime"))
        yield from condition_mismatches(status.get("conditions") or {}, claim, tuple(status.get("conditions") or {}))
    if expect.get("requeue_after") == AT_ONCE:
        yield "requeue_after", AT_ONCE, AT_ONCE if result.restless else result.requeue()
    else:
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
    actions = expect.get("actions")
    state = dig(body, "spec", "powerState")
    changed = state if state != dig(before, "spec", "powerState") else None
    if actions is not None:
        yield from strange(actions, ("machines", "set_power_state", "approve_csrs"), "expect.actions")
        yield "set_power_state", actions.get("set_power_state"), changed
    if result.case["given"].get("observed") and not is_reported(result.case):
        yield "what follows from what is observed", None, Doubt(_PROBES)
        return
    if actions is not None:
        if actions.get("approve_csrs") is not None:
            yield "approve_csrs", actions["approve_csrs"], Doubt("a provisioner approves the requests of nodes")
        yield "machines", actions.get("machines"), requested
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
    if expect.get("requeue_after") == AT_ONCE:
        yield "requeue_after", AT_ONCE, AT_ONCE if result.restless else result.requeue()
    elif expect.get("requeue_after") is not None:
        # Upstream looks again at the limit of hibernateAfter and acts beyond it; muster's horizon is the first instant
        # beyond it. Whatever else is waited for is due at its limit or, where that is strict, a second later.
        wait, beyond = parse_duration(expect["requeue_after"]), timedelta(seconds=1)
        due = {result.now + wait + beyond} if result.hibernates_at else {result.now + wait, result.now + wait + beyond}
        ahead = None if (later := result.requeue()) is None else result.now + parse_duration(later)
        if ahead not in due:
            yield "requeue_after", expect["requeue_after"], f"looked at again after {later}"
    else:
        yield "requeue_after", None, result.requeue()


_COMPARE: Mapping[str, Callable[[Result], Iterator[Mismatch]]] = {
    "ClusterPool": pool_mismatches,
    "ClusterClaim": claim_mismatches,
    "ClusterDeployment": cluster_mismatches,
}


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


def _unknown_inputs(case: Tree) -> Iterator[tuple[str, str]]:
    given = case["given"]
    yield from unknown_inputs(case, _GIVEN, "reconcile")
    yield from unknown_keys(given.get("observed") or {}, _OBSERVED, "given.observed")
    dependencies = given.get("dependencies") or {}
    yield from unknown_keys(dependencies, ("cluster_image_sets", "secrets"), "given.dependencies")
    for secret in dependencies.get("secrets") or ():
        yield from unknown_keys(secret, ("name", "keys"), "given.dependencies.secrets[]")


def outcome_of(case: Tree, compatibility: str, name: str) -> Outcome:
    """Run one case by one rulebook and compare what it asserts."""
    files = repository(reported(case), compatibility=compatibility)
    result, kind = Result(case, evaluated(files, parse_time(case["given"]["now"]))), case["reconcile"]["kind"]
    strays = [*_unknown_inputs(case), *unknown_keys(case["expect"], _KEYS[kind])]
    compared = (*(("keys", *stray) for stray in strays), *_COMPARE[kind](result), *_error_mismatch(result))
    wrong = [(what, wanted, have) for what, wanted, have in compared if wanted != have]
    return outcome(
        case["area"],
        name,
        ((f"{what} {wanted}", have if isinstance(have, Doubt) else f"{what} {have}") for what, wanted, have in wrong),
    )
