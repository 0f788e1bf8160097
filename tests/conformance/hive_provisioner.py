"""What a provisioner reports of a cluster whose cloud shows what a case has under `observed`.

Hive's controller looks at the cloud itself and writes conditions; muster reads them from a provisioner's report. So
such a case gets the report that goes with what is observed, where one glance at the cloud says it: the platform cannot
hibernate, or all machines have stopped. What takes nodes, operators and retries stays the provisioner's.
"""

from collections.abc import Mapping

from muster.data.tree import Tree, dig, mappings_at

_STOPPING = ("Stopping", "WaitingForMachinesToStop", "Hibernating")


def is_reported(case: Tree) -> bool:
    """Whether there is a report that goes with what the case observes; also where it observes nothing."""
    return not case["given"].get("observed") or _report(case) is not None


def reported(case: Tree) -> Tree:
    """The case with that report in the status of its cluster."""
    report = _report(case) if case["given"].get("observed") else None
    if report is None:
        return case
    conditions, state = report
    objects = [
        _with(obj, conditions, state, case["given"]["now"]) if _is_its(case, obj) else obj
        for obj in case["given"]["objects"]
    ]
    return {**case, "given": {**case["given"], "objects": objects}}


def _is_its(case: Tree, obj: Tree) -> bool:
    target = case["reconcile"]
    return (obj["kind"], obj["metadata"]["name"]) == (target["kind"], target["name"])


def _report(case: Tree) -> tuple[Mapping[str, tuple[str, str, str]], str] | None:
    """Conditions as (status, reason, message), and the power state."""
    seen = case["given"]["observed"]
    body: Tree = next((obj for obj in case["given"]["objects"] if _is_its(case, obj)), {})
    if seen == {"platform_supported": False}:
        return {
            "Hibernating": ("False", "Unsupported", "Unsupported platform: no actuator to handle it"),
            "Ready": ("True", "Running", "No power state actuator -- assuming running"),
        }, "Running"
    known = {c["type"]: c for c in mappings_at(body, "status", "conditions")}
    if seen == {"machines_stopped": True} and dig(known, "Hibernating", "reason") in _STOPPING:
        return {"Hibernating": ("True", "Hibernating", "Cluster is stopped")}, "Hibernating"
    return None


def _with(obj: Tree, report: Mapping[str, tuple[str, str, str]], state: str, now: str) -> Tree:
    status = obj.get("status") or {}
    before = {c["type"]: c for c in status.get("conditions") or ()}
    for type_, (said, reason, message) in report.items():
        old = before.get(type_, {})
        since = old.get("lastTransitionTime", now) if old.get("status") == said else now
        words = {"status": said, "reason": reason, "message": message}
        before[type_] = {"type": type_, **words, "lastTransitionTime": since}
    return {**obj, "status": {**status, "conditions": list(before.values()), "powerState": state}}
