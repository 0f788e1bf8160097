"""Cases of Open Cluster Management's hub: `python -m tests.conformance ocm --cases DIR`.

The header of cases/ocm.yaml explains the form. Each case becomes a fleet repository (`ocm_repository`), is evaluated,
and what it asserts is compared. `UNASSERTED` says what nothing here corresponds to, `SKIPPED` which cases are not run
for that reason, `DIFFERENCES` what muster decides otherwise, with the expectation that it has instead.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.ocm_checks import CHECKS
from tests.conformance.ocm_repository import AVAILABLE, CaseFleet
from tests.conformance.report import Outcome

Json = Any

_NO_CLUSTER_OBJECTS = "roles, bindings, namespaces and works are objects of a live hub, not of a fleet repository"
_NO_FINALIZERS = "in git nothing waits for finalizers: a file that is removed is gone"

#: What a case may assert and muster has no counterpart of, with the reason. (area or "", key) -> reason.
UNASSERTED: Mapping[tuple[str, str], str] = {
    ("", "note"): "an explanation",
    ("", "events"): "the commit message tells what events tell",
    ("", "finalizers"): _NO_FINALIZERS,
    ("", "error_contains"): "findings have words of their own; that there is one is asserted",
    ("", "sar_called"): "nobody is asked: an accepted cluster may renew its own certificate",
    ("", "continue_reconcile"): "one pass does everything",
    ("acceptance", "creates"): _NO_CLUSTER_OBJECTS,
    ("acceptance", "deletes"): _NO_CLUSTER_OBJECTS,
    ("acceptance", "requeue_after_seconds"): "nothing is waited for",
    ("cluster-deletion", "deletes"): _NO_CLUSTER_OBJECTS,
    ("cluster-deletion", "requeue_after_seconds"): "nothing is polled",
}
_NEVER_UNCHANGED = frozenset({"webhook-mutating", "webhook-validating"})


def _needs_namespace(case: Json) -> bool:
    return case["area"].startswith("webhook") and any(body["kind"] == "Namespace" for body in case["given"]["objects"])


def _has_no_default_set(case: Json) -> bool:
    return (case["given"].get("features") or {}).get("DefaultClusterSet") is False


#: Which cases are not run: a test of the case, and the reason.
SKIPPED: tuple[tuple[Callable[[Json], bool], str], ...] = (
    (_needs_namespace, "a fleet repository has no Namespaces"),
    (_has_no_default_set, "the sets default and global cannot be switched off"),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that muster decides otherwise on purpose: when, why, and what is expected then."""

    reason: str
    applies: Callable[[Json], bool]
    instead: Callable[[Json, Json], None]


def _expects(case: Json, type_: str, **fields: str) -> Json:
    """The condition that a case expects with these fields; None where it does not."""
    for condition in case["expect"].get("conditions", []):
        if condition["type"] == type_ and all(condition.get(key) == value for key, value in fields.items()):
            return condition
    return None


def _lacks_report(case: Json) -> bool:
    return case["area"] == "lease" and AVAILABLE in case["expect"].get("absent_conditions", ())


def _not_reported(case: Json, expect: Json) -> None:
    expect["absent_conditions"].remove(AVAILABLE)
    accepted = [
        body for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster" and body.get("spec", {}).get("hubAcceptsClient")
    ]  # fmt: skip
    for body in accepted:
        wanted = {"type": AVAILABLE, "status": "Unknown", "reason": "ManagedClusterStatusNotReported"}
        expect.setdefault("conditions", []).append(
            {"kind": "ManagedCluster", "name": body["metadata"]["name"], **wanted}
        )


def _has_run_out(case: Json) -> bool:
    return case["area"] == "lease" and _expects(case, AVAILABLE, status="Unknown") is not None


def _no_timer(_case: Json, expect: Json) -> None:
    expect.pop("requeue_after_seconds", None)


def _leaves_time(case: Json) -> bool:
    taints = (t for entry in case["expect"].get("taints", []) for t in entry["taints"])
    return case["area"] == "taint" and any("timeAdded" in taint and taint["timeAdded"] is None for taint in taints)


def _stamped(case: Json, expect: Json) -> None:
    for entry in expect["taints"]:
        for taint in entry["taints"]:
            if taint.get("timeAdded", "") is None:
                taint["timeAdded"] = case["given"]["now"]


def _mutates_taints(case: Json) -> bool:
    return bool(case["area"] == "webhook-mutating")


def _times_are_ours(case: Json, expect: Json) -> None:
    """A time that is written is not used, but for that of an object that has just moved in."""
    old = case["given"].get("old_object") or {}
    recorded = {_identity(t): t.get("timeAdded") for t in old.get("spec", {}).get("taints", [])}
    incoming = case["given"]["objects"][0].get("spec", {}).get("taints", [])
    moved_in = not recorded
    if case["expect"]["error"] or moved_in:
        expect["error"] = False
        labels = case["given"]["objects"][0]["metadata"].get("labels", {})
        times = [
            recorded.get(_identity(taint)) or (moved_in and taint.get("timeAdded")) or case["given"]["now"]
            for taint in incoming
        ]
        taints = [{**taint, "timeAdded": time} for taint, time in zip(incoming, times, strict=True)]
        expect["mutated"] = {"labels": expect.get("mutated", {}).get("labels", labels), "taints": taints}


def _identity(taint: Json) -> tuple[str, str, str]:
    return taint["key"], taint.get("value", ""), taint["effect"]


def _accepts_itself(case: Json) -> bool:
    expected = case["expect"].get("spec", {}).values()
    return case["area"] == "acceptance" and any(spec.get("hubAcceptsClient") for spec in expected)


def _says_so_at_once(_case: Json, expect: Json) -> None:
    absent = [type_ for type_ in expect.get("absent_conditions", ()) if type_ != "HubAcceptedManagedCluster"]
    expect["absent_conditions"] = absent


def _asks_permission(case: Json) -> bool:
    if case["area"] != "webhook-validating" or not case["expect"].get("error"):
        return False
    text = str(case["expect"].get("error_contains", ""))
    return any(said in text for said in ("HubAcceptsClient field", "to/from ManagedClusterSet", "not allowed to bind"))


def _is_no_name(case: Json) -> bool:
    name = case["given"]["objects"][0]["metadata"]["name"] if case["given"]["objects"] else ""
    return case["area"] == "webhook-validating" and not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)


def _refused_before(_case: Json, expect: Json) -> None:
    expect["error"] = True


def _waits_for_works(case: Json) -> bool:
    denied = {
        body["metadata"]["name"] for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster" and not body.get("spec", {}).get("hubAcceptsClient")
        and "deletionTimestamp" not in body["metadata"]
    }  # fmt: skip
    kept = _expects(case, "HubAcceptedManagedCluster", status="True")
    return case["area"] == "acceptance" and kept is not None and kept.get("name") in denied


def _denied_at_once(case: Json, expect: Json) -> None:
    condition = _expects({"expect": expect}, "HubAcceptedManagedCluster", status="True")
    assert condition is not None
    condition |= {"status": "False", "reason": "HubClusterAdminDenied", "message": "Denied by hub cluster admin"}
    condition["lastTransitionTime"] = case["given"]["now"]
    expect.pop("changed", None)


def _is_misconfigured(case: Json) -> bool:
    return _expects(case, "PlacementMisconfigured", status="True") is not None


def _keeps_decisions(case: Json, expect: Json) -> None:
    """Upstream empties, or even deletes, the decisions of a misconfigured Placement."""
    for entry in expect.get("decisions", []):
        namespace, _, name = entry["placement"].partition("/")
        placement = next(
            b for b in case["given"]["objects"]
            if (b["kind"], b["metadata"]["name"], b["metadata"].get("namespace")) == ("Placement", name, namespace)
        )  # fmt: skip
        shards = [
            {"name": b["metadata"]["name"], "clusters": [d["clusterName"] for d in b["status"]["decisions"]]}
            for b in case["given"]["objects"]
            if b["kind"] == "PlacementDecision" and b["metadata"].get("namespace") == namespace
            and b["metadata"].get("labels", {}).get("cluster.open-cluster-management.io/placement") == name
        ]  # fmt: skip
        if not shards:
            continue
        clusters = sorted(name for shard in shards for name in shard["clusters"])
        entry.clear()
        entry |= {"placement": f"{namespace}/{name}", "clusters": clusters, "placementDecisions": shards}
        entry["numberOfSelectedClusters"] = len(clusters)
        _satisfied_by(expect, placement["spec"].get("numberOfClusters"), len(clusters))
        expect["deletes"] = []
    if (condition := _expects({"expect": expect}, "PlacementMisconfigured", status="True")) is not None:
        condition["message"] = condition["message"].partition("compilation failed: ")[0] or condition["message"]


def _satisfied_by(expect: Json, wanted: int | None, selected: int) -> None:
    """Whether it is satisfied is told of what is kept."""
    condition = _expects({"expect": expect}, "PlacementSatisfied")
    if condition is not None and selected and (wanted is None or wanted <= selected):
        condition |= {"status": "True", "reason": "AllDecisionsScheduled", "message": "All cluster decisions scheduled"}


def _chooses_unaccepted(case: Json) -> bool:
    return case["area"].startswith("placement") and bool(_unaccepted(case) & _chosen(case))


def _chosen(case: Json) -> set[str]:
    return {name for entry in case["expect"].get("decisions", []) for name in entry["clusters"]}


def _unaccepted(case: Json) -> set[str]:
    return {
        body["metadata"]["name"] for body in case["given"]["objects"]
        if body["kind"] == "ManagedCluster" and not body.get("spec", {}).get("hubAcceptsClient")
    }  # fmt: skip


def _accepted_only(case: Json, expect: Json) -> None:
    outside = _unaccepted(case)
    for entry in expect["decisions"]:
        clusters = [name for name in entry["clusters"] if name not in outside]
        placement = entry["placement"]
        entry.clear()
        entry |= {"placement": placement, "clusters": clusters, "numberOfSelectedClusters": len(clusters)}
    expect["conditions"] = [c for c in expect.get("conditions", []) if c["type"] != "PlacementSatisfied"]
    for key in ("scores", "total_scores", "filtered", "unscheduled_count"):
        expect.pop(key, None)


def _only_warns(case: Json) -> bool:
    return case["area"].startswith("placement") and bool(case["expect"].get("error")) and not _is_misconfigured(case)


def _no_error(_case: Json, expect: Json) -> None:
    expect["error"] = False


#: Deliberate differences; the expectation is changed, not dropped.
DIFFERENCES: tuple[Difference, ...] = (
    Difference("availability is computed, so an accepted cluster of which nothing is reported is Unknown",
               _lacks_report, _not_reported),
    Difference("an expired lease needs no timer: only a renewal changes anything", _has_run_out, _no_timer),
    Difference("one run adds the taint and the time at which it appeared", _leaves_time, _stamped),
    Difference("a taint's time is muster's: one that is written is adopted with an object that moves in, else not used",
               _mutates_taints, _times_are_ours),
    Difference("one run accepts a cluster and says so", _accepts_itself, _says_so_at_once),
    Difference("a denied cluster is out at once, whatever works it still has", _waits_for_works, _denied_at_once),
    Difference("a name that an API server would refuse before any webhook is refused", _is_no_name, _refused_before),
    Difference("who may accept clusters and fill sets is for the git host to say, by owners of paths",
               _asks_permission, _no_error),
    Difference("a misconfigured Placement keeps its last decisions, and findings have their own words",
               _is_misconfigured, _keeps_decisions),
    Difference("only accepted clusters are candidates", _chooses_unaccepted, _accepted_only),
    Difference("scores that have run out are no error", _only_warns, _no_error),
)  # fmt: skip


def run(directory: Path) -> list[Outcome]:
    """Run every case of every YAML file in a directory whose areas are Open Cluster Management's."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Json]:
    """Yield the cases in the order of files; times stay texts. Files of other forms are passed over."""
    for path in sorted(directory.glob("*.yaml")):
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
        found = document.get("cases", []) if isinstance(document, dict) else document
        for case in found if isinstance(found, list) else []:
            if isinstance(case, dict) and isinstance(case.get("given"), dict) and _is_ours(case):
                yield case


def _is_ours(case: Json) -> bool:
    area = str(case.get("area", ""))
    return "objects" in case["given"] and (area in AREAS or area.startswith("placement-"))


AREAS = frozenset(
    {"lease", "clock-sync", "taint", "acceptance", "csr-approve", "webhook-mutating", "webhook-validating"}
    | {"clusterset", "clustersetbinding", "default-clusterset", "cluster-deletion", "agent-status"}
)


class _Loader(yaml.CSafeLoader):
    """Leaves times as texts."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def expectation(case: Json) -> Json:
    """What is expected of muster: what the case says, but for deliberate differences and what has no counterpart."""
    expect = deepcopy(case["expect"])
    for difference in DIFFERENCES:
        if difference.applies(case):
            difference.instead(case, expect)
    for area, key in UNASSERTED:
        if area in ("", case["area"]):
            expect.pop(key, None)
    if case["area"] in _NEVER_UNCHANGED or expect.get("changed") is True:
        expect.pop("changed", None)  # what changed is what the rest of the expectation says
    return expect


def judge(case: Json) -> Outcome:
    """Run one case."""
    area, name = case["area"], case["id"]
    for applies, reason in SKIPPED:
        if applies(case):
            return Outcome(area, name, "skipped", actual=reason)
    with tempfile.TemporaryDirectory() as folder:
        expect: Json = None
        try:
            expect = expectation(case)
            if not set(expect) - {"error"} and (reason := _nothing_left(case)):
                return Outcome(area, name, "skipped", actual=reason)
            fleet = CaseFleet(case, Path(folder))
            problems = list(_problems(expect, fleet))
        except Exception as error:  # noqa: BLE001 - a crash is a failure like any other
            problems = [(expect, f"crash: {error!r}")]
    if not problems:
        return Outcome(area, name, "passed")
    expected, actual = ("; ".join(str(problem[side]) for problem in problems) for side in (0, 1))
    return Outcome(area, name, "failed", expected, actual)


def _nothing_left(case: Json) -> str:
    """Why a case asserts nothing here, where all that it asserts has no counterpart."""
    left_out = ((key, reason) for (area, key), reason in UNASSERTED.items() if area in ("", case["area"]))
    return next((why for key, why in left_out if key in case["expect"] and key not in ("note", "error_contains")), "")


def _problems(expect: Json, fleet: CaseFleet) -> Iterator[tuple[Json, Json]]:
    """Yield what differs: what was expected, and what there is."""
    run = fleet.run()
    for key, value in expect.items():
        check = CHECKS.get(key)
        if check is None:
            yield {key: value}, "nothing here knows how to compare this"
        else:
            yield from check(value, fleet, run)
