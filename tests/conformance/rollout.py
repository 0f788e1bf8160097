"""Cases of Open Cluster Management's staged rollouts: `python -m tests.conformance rollout --cases DIR`.

The header of cases/rollout.yaml explains the form. Strategies are compared with a port of upstream's handler
(`rollout_upstream`): without its switches it has to give what a case expects; with them it says what muster is held to.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from muster.data.kinds import MANIFEST_WORK_REPLICA_SET, PLACEMENT, PLACEMENT_DECISION
from muster.data.times import format_time, parse_time
from muster.fleet.objects import Object
from muster.rules.placements.shards import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, DecisionShard
from muster.rules.progress.step import (
    TIME_OUT,
    ClusterStatus,
    DecisionGroup,
    groups_of,
    judged,
    next_instant,
    next_step,
    split,
)
from muster.rules.progress.strategy import Strategy as RolloutStrategy
from muster.rules.progress.strategy import (
    StrategyError,
    mandatory_keys,
    read_deadline,
    read_limits,
    read_size,
    read_strategy,
    size_of,
)
from muster.rules.works.checks import refusals
from muster.rules.works.work import state_of
from tests.conformance import ocm_checks, replicaset, rollout_upstream
from tests.conformance.ocm_repository import CaseFleet, by_label
from tests.conformance.reading import careful, cases_in, outcome, unknown_inputs, unknown_keys
from tests.conformance.report import Outcome

Json = Any
Problems = Iterator[tuple[Json, Json]]
_API = "cluster.open-cluster-management.io"

#: The inputs of the areas that do not evaluate a whole strategy.
_GIVEN: Mapping[str, frozenset[str]] = {
    "rollout-state": frozenset(("now", "existing", "minSuccessTime", "progressDeadline")),
    "rollout-recheck": frozenset(("now", "clustersToRollout")),
    "rollout-size": frozenset(("value", "total", "default")),
    "rollout-deadline": frozenset(("value",)),
    "mandatory-keys": frozenset(("mandatoryDecisionGroups",)),
    "decision-tracker": frozenset(("before", "decisions", "keys")),
    "decision-groups": frozenset(("placement", "clusters", "existing")),
    **dict.fromkeys(replicaset.AREAS, frozenset(("now", "objects", "step"))),
    "replicaset-work-state": frozenset(("now", "work")),
    "replicaset-admission": frozenset(("operation", "object", "featureGate")),
}


def run(directory: Path) -> list[Outcome]:
    """Run every case of every YAML file of this form in a directory."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Json]:
    """Yield the cases of files named after rollouts."""
    yield from cases_in(directory, "rollout")


@careful
def judge(case: Json) -> Outcome:
    """Run one case."""
    area, name = case["area"], case["id"]
    if area not in AREAS:
        return Outcome(area, name, "failed", f"one of the areas {sorted(AREAS)}", f"area {area}")
    strategy = area.startswith("rollout-") and area not in _GIVEN
    known = {"now", "strategy", "groups", "existing"} if strategy else _GIVEN[area]
    return outcome(area, name, [*unknown_inputs(case, known, "source", "quirk"), *AREAS[area](case)])


def _compare(expected: Json, actual: Json) -> Problems:
    """What differs: key by key; `error_contains` is a part of the message."""
    for key, wanted in expected.items():
        if key == "note":
            continue
        if key == "error_contains":
            if wanted not in str(actual.get(key, "")):
                yield wanted, actual.get(key, "no error")
        elif key not in actual:
            yield from unknown_keys({key: wanted}, actual)
        elif actual[key] != wanted:
            yield {key: wanted}, {key: actual[key]}


def _refusal(error: StrategyError | str) -> Json:
    return {"error": True, "error_contains": str(error)}


# -- strategies


def _strategy(case: Json) -> Problems:
    given, expect = case["given"], _as_sets(case, case["expect"])
    theirs = _as_sets(case, rollout_upstream.rolled_out(given))
    ours = _as_sets(case, rollout_upstream.rolled_out(given, rollout_upstream.SWITCHES.keys()))
    yield from _compare(expect, theirs)
    yield from _compare(expect if ours == theirs else ours, _as_sets(case, _stepped(given)))


def _as_sets(case: Json, expect: Json) -> Json:
    """Lists of clusters without order where upstream's is that of a cache."""
    per_group = case["given"]["strategy"].get("type") == "ProgressivePerGroup"
    lists = [key for key in expect if per_group and isinstance(expect[key], list)]
    return {**expect, **{key: sorted(expect[key], key=lambda status: str(status["cluster"])) for key in lists}}


def _stepped(given: Json) -> Json:
    groups = tuple(DecisionGroup(g.get("name", ""), g["index"], tuple(sorted(g["clusters"]))) for g in given["groups"])
    try:
        step = next_step(
            read_strategy(given["strategy"]),
            groups,
            map(_status, given.get("existing") or ()),
            parse_time(given["now"]),
        )
    except StrategyError as error:
        return _refusal(error)
    before = {status["cluster"]: status for status in given.get("existing") or ()}
    group_of = {name: group for group in given["groups"] for name in group["clusters"]}

    def shown(status: ClusterStatus) -> Json:
        name = status.cluster
        if name not in before:
            return rollout_upstream.with_group({"cluster": name, "status": status.state}, group_of[name])
        until = {} if status.until is None else {"recheckTime": format_time(status.until)}
        return {**before[name], "status": status.state, **until}

    return {
        "error": False,
        "clustersToRollout": [shown(status) for status in step.rolling],
        "clustersTimeOut": [shown(status) for status in step.timed_out],
        "clustersRemoved": [shown(status) for status in step.removed],
        "maxFailureBreach": step.breach,
        "recheckAt": None if step.next is None else format_time(step.next),
    }


def _status(status: Json) -> ClusterStatus:
    since, until = status.get("lastTransitionTime"), status.get("recheckTime")
    return ClusterStatus(
        status["cluster"], status["status"], parse_time(since) if since else None, parse_time(until) if until else None
    )


def _state(case: Json) -> Problems:
    given = case["given"]
    limits = read_limits({key: given[key] for key in ("minSuccessTime", "progressDeadline") if key in given})
    found = judged(_status(given["existing"]), RolloutStrategy(limits=limits), parse_time(given["now"]))
    done = found.state == "Skip" or (found.state == "Succeeded" and not found.soaking)
    where = "none" if done else "clustersTimeOut" if found.state == TIME_OUT else "clustersToRollout"
    if where == "clustersTimeOut" and found.until is None:
        where = "none"  # one that had timed out before
    actual = {
        "list": where,
        "status": found.state,
        "recheckTime": None if found.until is None else format_time(found.until),
    }
    yield from _compare(case["expect"], actual)


def _recheck(case: Json) -> Problems:
    given = case["given"]
    found = next_instant(map(_status, given["clustersToRollout"]), parse_time(given["now"]))
    yield from _compare(case["expect"], {"recheckAt": None if found is None else format_time(found)})


def _size(case: Json) -> Problems:
    given, expect = case["given"], case["expect"]
    try:
        total, default = given["total"], given["default"]
        theirs = {"error": False, "size": rollout_upstream.size(given["value"], total, default)}
        ours = rollout_upstream.size(given["value"], total, default, {"tolerates"})
        actual = {"error": False, "size": size_of(read_size(given["value"]), total, default)}
    except StrategyError as error:
        actual = theirs = _refusal(error)
    except rollout_upstream.Refused as error:
        actual, theirs = {}, _refusal(str(error))
        try:
            read_size(given["value"])
        except StrategyError as refused:
            actual = _refusal(refused)
        ours = 0
    yield from _compare(expect, theirs)
    differs = not theirs["error"] and theirs["size"] != ours
    yield from _compare({"size": ours} if differs else expect, actual)


def _deadline(case: Json) -> Problems:
    actual: Json
    try:
        found = read_deadline(case["given"]["value"])
        actual = {"error": False, "seconds": None if found is None else found.total_seconds()}
    except StrategyError as error:
        actual = _refusal(error)
    yield from _compare(case["expect"], actual)


# -- groups


def _keys(case: Json) -> Problems:
    found = mandatory_keys(case["given"]["mandatoryDecisionGroups"])
    keys = [{"groupName": key.name, "groupIndex": key.index} for key in found]
    wanted = [{"groupName": "", "groupIndex": 0} | key for key in case["expect"].get("keys", keys)]
    expect = {**case["expect"], "keys": wanted}
    yield from _compare(expect, {"keys": keys})


def _tracker(case: Json) -> Problems:
    given, expect = case["given"], case["expect"]
    groups = groups_of(_shards(given["decisions"]))
    before = {name for group in given.get("before") or () for name in group["clusters"]}
    after = {name for group in groups for name in group.clusters}
    named, rest, _ = split(groups, mandatory_keys(given.get("keys") or []))
    actual = {
        "error": False,
        "added": sorted(after - before),
        "removed": sorted(before - after),
        "named": [_group(group) for group in named],
        "rest": [_group(group) for group in rest],
    }
    theirs, ours = rollout_upstream.tracked(given), rollout_upstream.tracked(given, rollout_upstream.SWITCHES.keys())
    yield from _compare(expect, theirs)
    yield from _compare(expect if theirs == ours else {**expect, **ours}, actual)


def _group(group: DecisionGroup) -> Json:
    return {"name": group.name, "index": group.index, "clusters": list(group.clusters)}


def _shards(decisions: list[Json]) -> Iterator[DecisionShard]:
    for position, decision in enumerate(decisions):
        index = int(decision.get("groupIndex") or 0)
        name = f"decision-{position}"
        yield DecisionShard(name, decision.get("groupName") or "", index, tuple(decision["clusters"]))


# -- decision groups of a Placement


def _decision_groups(case: Json) -> Problems:
    given = case["given"]
    run = CaseFleet(_as_placement(given)).run()
    name, namespace = given["placement"]["metadata"]["name"], given["placement"]["metadata"]["namespace"]
    conditions = by_label(run)[PLACEMENT.name, namespace, name]["status"]["conditions"]
    said = next(condition for condition in conditions if condition["type"] == "PlacementMisconfigured")
    before = {body["metadata"]["name"]: body for body in given.get("existing") or ()}
    after = {
        body["metadata"]["name"]: body
        for (kind, space, _), body in by_label(run).items()
        if (kind, space) == (PLACEMENT_DECISION.name, namespace)
    }
    actual = {
        **ocm_checks.placed(run, namespace, name),
        "error": said["status"] == "True",
        "error_contains": said["message"],
        "created": sorted(after.keys() - before.keys()),
        "deleted": sorted(before.keys() - after.keys()),
        "updated": [
            {"name": key, "changed": changed}
            for key in sorted(after.keys() & before.keys())
            if (changed := _changed(before[key], after[key]))
        ],
    }
    yield from _compare(_groups_expected(case["expect"], before), actual)


def _as_placement(given: Json) -> Json:
    """The case as one of Open Cluster Management's adapter: the clusters qualify, and the global set is bound."""
    namespace = given["placement"]["metadata"]["namespace"]
    clusters = [
        {
            "apiVersion": f"{_API}/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": cluster["name"], "labels": cluster.get("labels") or {}},
            "spec": {"hubAcceptsClient": True},
            "status": {"clusterClaims": [{"name": k, "value": v} for k, v in (cluster.get("claims") or {}).items()]},
        }
        for cluster in given["clusters"]
    ]
    bound = {
        "apiVersion": f"{_API}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "global", "namespace": namespace},
        "spec": {"clusterSet": "global"},
    }
    objects = [*clusters, bound, given["placement"], *(given.get("existing") or ())]
    return {"area": "placement-groups", "given": {"now": "2026-01-01T00:00:00Z", "objects": objects}}


def _changed(before: Json, after: Json) -> list[str]:
    names = [
        [entry["clusterName"] for entry in body.get("status", {}).get("decisions", [])] for body in (before, after)
    ]
    labels = [body["metadata"].get("labels", {}) for body in (before, after)]
    return ["decisions"] * (names[0] != names[1]) + ["labels"] * (labels[0] != labels[1])


def _groups_expected(expect: Json, before: Json) -> Json:
    """A misconfigured Placement keeps its last decisions; clusters and labels are written in one commit."""
    expect = dict(expect)
    if expect.get("error"):
        kept = [
            {
                "name": name,
                "group_index": body["metadata"]["labels"][GROUP_INDEX_LABEL],
                "group_name": body["metadata"]["labels"][GROUP_NAME_LABEL],
                "clusters": [entry["clusterName"] for entry in body["status"]["decisions"]],
            }
            for name, body in before.items()
        ]
        theirs = {"groups": [], "placementDecisions": [], "created": [], "deleted": sorted(before), "updated": []}
        if not any(_compare({key: expect[key] for key in theirs.keys() & expect.keys()}, theirs)) and kept:
            groups = [
                {
                    "index": int(shard["group_index"]),
                    "name": shard["group_name"],
                    "count": len(shard["clusters"]),
                    "decisions": [shard["name"]],
                }
                for shard in kept
            ]
            expect |= {"groups": groups, "placementDecisions": kept, "deleted": []}
    for update in expect.get("updated") or ():
        old = before.get(update["name"], {})
        new = next((d for d in expect.get("placementDecisions") or () if d["name"] == update["name"]), None)
        labels = old.get("metadata", {}).get("labels", {})
        if (
            new
            and update["changed"] == ["decisions"]
            and (labels.get(GROUP_INDEX_LABEL), labels.get(GROUP_NAME_LABEL)) != (new["group_index"], new["group_name"])
        ):
            expect["updated"] = [
                {**u, "changed": ["decisions", "labels"]} if u is update else u for u in expect["updated"]
            ]
    return expect


# -- sets of works


def _work_state(case: Json) -> Problems:
    """Differs where a work is not applied, is degraded though done, or has no condition Progressing, and in that the
    latest of its conditions counts for a success."""
    given, expect = case["given"]["work"], {k: v for k, v in case["expect"].items() if k != "note"}
    found = state_of(given["generation"], {}, given)
    now = {one["type"]: one for one in given["conditions"] if one.get("observedGeneration") == given["generation"]}
    applied, degraded = now.get("Applied", {}), now.get("Degraded", {})
    stale = any(one["type"] == "Degraded" for one in given["conditions"]) and not degraded
    ours, latest = expect, max((one.get("lastTransitionTime") or "" for one in now.values()), default="")
    if expect["status"] == "Succeeded":
        ours = {**expect, "lastTransitionTime": latest}
    if applied.get("status") == "False":
        ours = {"status": "Failed", "lastTransitionTime": applied.get("lastTransitionTime")}
    elif applied.get("status") == "True" and degraded.get("status") == "True":
        ours = {"status": "Failed", "lastTransitionTime": degraded.get("lastTransitionTime")}
    elif (
        applied.get("status") == "True"
        and not stale
        and now.get("Available", {}).get("status") == "True"
        and not any(one["type"] == "Progressing" for one in given["conditions"])
    ):
        ours = {"status": "Succeeded", "lastTransitionTime": latest}
    since = None if found.since is None else format_time(found.since)
    yield from _compare(ours, {"status": found.state, "lastTransitionTime": since})


def _admission(case: Json) -> Problems:
    """muster has no feature gates: a set is refused for what is in it."""
    given, expect = case["given"], dict(case["expect"])
    if "feature is disabled" in expect.get("error_contains", ""):
        expect = {"allowed": True}
    refused = list(refusals(Object(MANIFEST_WORK_REPLICA_SET.id("set1", "default"), given["object"], ())))
    if given.get("operation") == "DELETE":
        refused = []
    actual = {"allowed": not refused, "error_contains": refused[0].message if refused else ""}
    yield from _compare(expect, actual)


AREAS: Mapping[str, Callable[[Json], Problems]] = {
    "rollout-all": _strategy,
    "rollout-progressive": _strategy,
    "rollout-mandatory": _strategy,
    "rollout-per-group": _strategy,
    "rollout-change": _strategy,
    "rollout-state": _state,
    "rollout-recheck": _recheck,
    "rollout-size": _size,
    "rollout-deadline": _deadline,
    "mandatory-keys": _keys,
    "decision-tracker": _tracker,
    "decision-groups": _decision_groups,
    **dict.fromkeys(replicaset.AREAS, replicaset.problems),
    "replicaset-work-state": _work_state,
    "replicaset-admission": _admission,
}
