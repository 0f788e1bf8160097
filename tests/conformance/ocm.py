"""Cases of Open Cluster Management's hub: `python -m tests.conformance ocm --cases DIR`.

The header of cases/ocm.yaml explains the form. Each case becomes a fleet repository (`ocm_repository`), is evaluated,
and what it asserts is compared (`ocm_checks`). `UNASSERTED` says what nothing here corresponds to, `SKIPPED` which
cases are not run for that reason, `ocm_differences` what muster decides otherwise.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.conformance.ocm_checks import CHECKS
from tests.conformance.ocm_differences import DIFFERENCES
from tests.conformance.ocm_repository import CaseFleet
from tests.conformance.reading import careful, cases_in, outcome, unknown_inputs, unknown_keys
from tests.conformance.report import Outcome

Json = Any

_NO_CLUSTER_OBJECTS = "works are objects of a live hub, not of a fleet repository"

#: What a case may assert and muster has no counterpart of, with the reason. (area or "", key) -> reason.
UNASSERTED: Mapping[tuple[str, str], str] = {
    ("", "note"): "an explanation",
    ("", "continue_reconcile"): "one pass does everything",
    ("acceptance", "requeue_after_seconds"): "nothing is waited for",
    ("cluster-deletion", "deletes"): _NO_CLUSTER_OBJECTS,
    ("cluster-deletion", "requeue_after_seconds"): "nothing is polled",
}
_NEVER_UNCHANGED = frozenset({"webhook-mutating", "webhook-validating"})


def _needs_namespace(case: Json) -> bool:
    return case["area"].startswith("webhook") and any(body["kind"] == "Namespace" for body in case["given"]["objects"])


def _has_no_default_set(case: Json) -> bool:
    return (case["given"].get("features") or {}).get("DefaultClusterSet") is False


#: What a case may give.
_GIVEN = (
    "now",
    "objects",
    "trigger",
    "key",
    "features",
    "csr_decoded",
    "permissions",
    "auto_approve_users",
    "request",
    "old_object",
    "probe",
    "first_failure_at",
    "reconciler",
)
_PROBE = ("livez", "healthz", "body", "first_failure_at")


def _in_errors(case: Json) -> Json:
    """The case with `allowed`, which is how admission puts it, as an `error` or none."""
    if "allowed" not in case["expect"]:
        return case
    expect = {key: value for key, value in case["expect"].items() if key != "allowed"}
    if expect.setdefault("error", not case["expect"]["allowed"]) is case["expect"]["allowed"]:
        raise ValueError("what is allowed has no error")
    return {**case, "expect": expect}


def _unknown_inputs(case: Json) -> Iterator[tuple[str, str]]:
    yield from unknown_inputs(case, _GIVEN)
    yield from unknown_keys(case["given"].get("probe") or {}, _PROBE, "given.probe")


def _has_no_cluster(case: Json) -> bool:
    there = (body["kind"] == "ManagedCluster" for body in case["given"]["objects"])
    return case["area"] == "agent-status" and not any(there)


#: Which cases are not run: a test of the case, and the reason.
SKIPPED: tuple[tuple[Callable[[Json], bool], str], ...] = (
    (_has_no_cluster, "what an agent makes of a cluster that the hub does not know is written nowhere"),
    (_needs_namespace, "a fleet repository has no Namespaces"),
    (_has_no_default_set, "the sets default and global cannot be switched off"),
)


def run(directory: Path) -> list[Outcome]:
    """Run every case of every YAML file in a directory whose areas are Open Cluster Management's."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Json]:
    """Yield the cases in the order of files; times stay texts. Files of other forms are passed over."""
    yield from cases_in(directory, "ocm", _is_ours)


def _is_ours(case: Json) -> bool:
    given, area = case.get("given"), str(case.get("area", ""))
    return isinstance(given, dict) and "objects" in given and (area in AREAS or area.startswith("placement-"))


AREAS = frozenset(
    {"lease", "clock-sync", "taint", "acceptance", "csr-approve", "webhook-mutating", "webhook-validating"}
    | {"clusterset", "clustersetbinding", "default-clusterset", "cluster-deletion", "agent-status"}
)


def expectation(case: Json) -> Json:
    """What is expected of muster: what the case says, but for deliberate differences and what has no counterpart."""
    expect = deepcopy(case["expect"])
    for difference in DIFFERENCES:
        if difference.applies(case):
            difference.instead(case, expect)
    for area, key in UNASSERTED:
        if area in ("", case["area"]):
            expect.pop(key, None)
    if case["area"] in _NEVER_UNCHANGED:
        expect.pop("changed", None)  # what changed is what the rest of the expectation says
    return expect


@careful
def judge(case: Json) -> Outcome:
    """Run one case."""
    case = _in_errors(case)
    area, name = case["area"], case["id"]
    for applies, reason in SKIPPED:
        if applies(case):
            return Outcome(area, name, "skipped", actual=reason)
    if area not in AREAS and not area.startswith("placement-"):
        return Outcome(area, name, "failed", f"one of the areas {sorted(AREAS)} or placement-*", f"area {area}")
    expect = expectation(case)
    if not set(expect) - {"error", "changed"} and (reason := _nothing_left(case)):
        return Outcome(area, name, "skipped", actual=reason)
    contradictions = [pair for known in DIFFERENCES if known.applies(case) for pair in known.contradicts(case)]
    return outcome(
        area,
        name,
        [*_unknown_inputs(case), *contradictions, *unknown_keys(expect, CHECKS), *_problems(expect, CaseFleet(case))],
    )


def _nothing_left(case: Json) -> str:
    """Why a case asserts nothing here, where all that it asserts has no counterpart."""
    left_out = ((key, reason) for (area, key), reason in UNASSERTED.items() if area in ("", case["area"]))
    return next((why for key, why in left_out if key in case["expect"] and key != "note"), "")


def _problems(expect: Json, fleet: CaseFleet) -> Iterator[tuple[Json, Json]]:
    """Yield what differs: what was expected, and what there is."""
    run = fleet.run()
    for key, value in expect.items():
        if key in CHECKS:
            yield from CHECKS[key](value, fleet, run)
