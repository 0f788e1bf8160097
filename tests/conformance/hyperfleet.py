"""HyperFleet cases: reports, conditions, pulses, deletion, and what an adapter makes of its task.

What a case expects is compared field by field. Where this project deliberately does something else, the expectation is
replaced by a rule of `DIFFERENCES`, and the result is held against that.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from muster.agent.task import GENERATION, assess
from muster.answers.evaluate import Run
from muster.model.ids import ObjectId
from muster.model.times import format_time, parse_time
from tests.conformance.hyperfleet_repository import API, POLICY, CaseFleet, translated
from tests.conformance.report import Outcome

Json = Any

#: Decided differences: what a case expects -> what is tested instead, and why.
DIFFERENCES: Mapping[str, str] = {
    "last_transition_time": "a condition's transition is at the run that saw it, never at the time of an older report: "
    "`now` where the status changed, the earlier time where it did not",
    "last_updated_time": "no field of a condition: pulses read the reports themselves. Tested of Ready by the instant "
    "at which the next pulse is due",
    "created_time": "no field of a condition",
    "<Adapter>Successful": "not decided: `muster get reports` shows them. Tested to be absent",
    "hard_deleted": "files are people's to remove; the condition Finalized says when they may",
    "no required adapters": "Available and Ready say nothing where no adapter is required. Tested to be absent",
    "empty reports": "an expression that is true of all of nothing is not True: the policy asks for a report first",
    "payload reason": "the reason in an event is the rule's, not one text for all",
}

#: What is not run, by the input that a case has, each with its reason.
SKIPPED: Mapping[str, str] = {
    "resource_selector": "a PulsePolicy selects by label selector; there are no Sentinel instances to overlap",
    "message_decision": "a PulsePolicy has rules, not a parameter list over `condition()`; its own tests cover them",
}

_TTL = {"True": timedelta(minutes=30), "False": timedelta(seconds=10)}
_TEXTS = {
    "missing mandatory condition": "MissingCondition",
    "observed_time must not be more than": "ObservedTime",
    "duplicate": "DuplicateCondition",
}
_REJECTED = ("MissingCondition", "DuplicateCondition", "ObservedTimeAhead", "ObservedTimeTooOld", "ResourceNotFound")
_KEPT_AS_STORED = ("Accepted", "SameTime")


def run(directory: Path) -> list[Outcome]:
    """Run every case of every YAML file of this form in a directory."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Json]:
    """Yield the cases of HyperFleet's files; those of other systems are passed over."""
    for path in sorted(directory.glob("*.yaml")):
        if "hyperfleet" not in path.name:
            continue
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield from document["cases"] if isinstance(document, dict) else document


def judge(case: Json) -> Outcome:
    area = f"{case['area']} ({case['seed_status']})"
    skip = next((reason for name, reason in SKIPPED.items() if case["given"].get(name)), None)
    if skip:
        return Outcome(area, case["id"], "skipped", actual=skip)
    with TemporaryDirectory() as folder:
        try:
            check = _Task(case) if case["area"] == "adapter-task" else _Check(case, Path(folder))
            wrong = list(check.differences())
        except Exception as error:  # noqa: BLE001 - a crash is a failure like any other
            wrong = [("no crash", f"{type(error).__name__}: {error}")]
    if not wrong:
        return Outcome(area, case["id"], "passed")
    return Outcome(area, case["id"], "failed", "; ".join(w[0] for w in wrong), "; ".join(w[1] for w in wrong))


class _Task:
    """An adapter's decision about its Job."""

    def __init__(self, case: Json) -> None:
        self.expect, self.given = case["expect"], case["given"]

    def differences(self) -> Iterator[tuple[str, str]]:
        """What is not as expected: pairs of expected and actual."""
        job, resource = self.given.get("job"), self.given["resource"]
        if job is not None:
            notes = {GENERATION: str(job.get("generation", resource["generation"]))}
            job = {"metadata": {"annotations": notes}, "status": {"conditions": job.get("conditions") or []}}
        found = assess(job, resource["generation"])
        yield from _same("job_action", self.expect.get("job_action"), found.action)
        for condition in (self.expect.get("report") or {}).get("conditions", []):
            if condition["type"] == "Available":
                yield from _same("Available", condition["status"], found.available)


class _Check:
    """A case that runs through the evaluator."""

    def __init__(self, case: Json, directory: Path) -> None:
        self.case, self.expect, self.given = case, case["expect"], case["given"]
        self.fleet = CaseFleet(case, directory)
        self.posted: list[tuple[bool, str]] = []
        self._write_policies()

    def differences(self) -> Iterator[tuple[str, str]]:
        """What is not as expected: pairs of expected and actual."""
        result = self._process()
        for name, expected in self.expect.items():
            if name in _CHECKS:
                yield from _CHECKS[name](self, expected, result)

    # -- the case's own expressions, as policies

    def _write_policies(self) -> None:
        known: dict[str, str] = {}
        for name, expression in (self.given.get("expressions") or {}).items():
            known[name] = translated(expression, known)
            self._policy(f"expression-{name}", f"Expression.{name}", [
                {"name": "nothing", "when": "size(reports) == 0", "status": "False", "reason": "NoReports"},
                {"name": "it", "statusExpression": f"{known[name]} ? 'True' : 'False'", "reason": "Expression"},
            ])  # fmt: skip
        for rule in self.given.get("condition_rules") or []:
            body = {"name": "mapped", "when": translated(rule["when"]["expression"])}
            for field, part in rule["output"].items():
                body[f"{field}Expression"] = translated(part["expression"])
            self._policy(f"mapped-{rule['type'].lower()}", rule["type"], [body])
        if self.given.get("message_data") or self.given.get("topic"):
            self._event_policy()

    def _policy(self, name: str, type_: str, rules: list[Json]) -> None:
        self.fleet.write(f"policies/{name}.yaml", {
            "kind": "ConditionPolicy", "metadata": {"name": name},
            "spec": {"target": {"kind": self.fleet.kind.name}, "type": type_, "rules": rules},
        })  # fmt: skip

    def _event_policy(self) -> None:
        """The built-in pulses with the case's payload."""
        builtin = Path(__file__).parents[2] / "policies" / f"{POLICY}.yaml"
        spec = yaml.safe_load(builtin.read_text(encoding="utf-8"))["spec"]
        event = {"source": "hyperfleet-sentinel", "topic": self.given.get("topic", "")}
        if data := self.given.get("message_data"):
            event["data"] = _translated_tree(data)
        self.fleet.write("policies/pulses.yaml", {
            "kind": "PulsePolicy", "metadata": {"name": POLICY}, "spec": {**spec, "event": event},
        })  # fmt: skip

    # -- running

    def _process(self) -> Run:
        for report in self.given.get("incoming_reports") or []:
            before = self.fleet.stored()
            id_ = self.fleet.post(report)
            result = self.fleet.run()
            self.posted.append((self.fleet.stored() != before, _disposition(result, id_)))
        return result if self.posted else self.fleet.run()

    def conditions(self, result: Run) -> dict[str, Json]:
        """The resource's conditions, by type."""
        body = next(o for o in result.objects if o["kind"] == self.fleet.kind.name
                    and o["metadata"]["name"] == self.fleet.id.name)  # fmt: skip
        return {c["type"]: c for c in body.get("status", {}).get("conditions") or []}

    # -- one expectation each

    def check_conditions(self, expected: list[Json], result: Run) -> Iterator[tuple[str, str]]:
        """Conditions by type: only the listed fields."""
        found = self.conditions(result)
        required = self.given.get("required_adapters") or []
        own = {f"{''.join(part.capitalize() for part in name.split('-'))}Successful" for name in required}
        for condition in expected:
            type_ = condition["type"]
            if type_ in own or not required:  # see DIFFERENCES
                yield from _same(f"{type_} absent", True, type_ not in found)
                continue
            if type_ not in found:
                yield f"condition {type_}", f"only {sorted(found)}"
                continue
            yield from self._condition(condition, found[type_])
            if type_ == "Ready" and "last_updated_time" in condition:
                yield from self._clock_starts_at(condition)

    def _condition(self, expected: Json, found: Json) -> Iterator[tuple[str, str]]:
        type_ = expected["type"]
        yield from _same(f"{type_}.status", expected.get("status"), found["status"])
        yield from _same(
            f"{type_}.observed_generation", expected.get("observed_generation"), found.get("observedGeneration")
        )
        yield from _same(f"{type_}.reason", expected.get("upstream_reason") or expected.get("reason"), found["reason"])
        yield from _same(f"{type_}.message", expected.get("message"), found["message"])
        if "last_transition_time" in expected:
            before = self.fleet.previous(type_)
            kept = before is not None and before["status"] == found["status"]
            wanted = before["last_transition_time"] if kept else format_time(self.fleet.now)
            yield from _same(f"{type_}.last_transition_time", wanted, found["lastTransitionTime"])

    def _clock_starts_at(self, ready: Json) -> Iterator[tuple[str, str]]:
        """The age that pulses count starts at `last_updated_time`: nothing is due at the limit, but a second later."""
        limit = parse_time(ready["last_updated_time"]) + _TTL[ready["status"]]
        for instant, due in ((limit, False), (limit + timedelta(seconds=1), True)):
            pulses = self.fleet.run(instant, announced=True).pulses
            yield from _same(f"pulse due at {format_time(instant)}", due, bool(pulses))

    def check_absent(self, expected: list[str], result: Run) -> Iterator[tuple[str, str]]:
        """Conditions that must not be there."""
        yield from _same("absent conditions", [], sorted(set(expected) & self.conditions(result).keys()))

    def check_stored(self, expected: list[Json], _: Run) -> Iterator[tuple[str, str]]:
        """Accepted reports by adapter, each with exactly the listed conditions."""
        stored = self.fleet.stored()
        if not expected:
            yield from _same("stored reports", [], sorted(stored))
        for report in expected:
            found = stored.get(report["adapter"])
            if found is None:
                yield f"a report of {report['adapter']}", f"only {sorted(stored)}"
                continue
            accepted = found["accepted"]
            yield from _same("stored generation", report.get("observed_generation"), accepted["observed_generation"])
            yield from _same("stored time", report.get("last_report_time"), accepted["observed_time"])
            yield from _same("stored since", report.get("created_time"), found["createdTime"])
            yield from _same("stored data", report.get("data"), accepted.get("data"))
            by_type = {c["type"]: c for c in accepted["conditions"]}
            yield from _same("stored conditions", sorted(c["type"] for c in report["conditions"]), sorted(by_type))
            for condition in report["conditions"]:
                actual = by_type.get(condition["type"], {})
                yield from _same("stored condition", condition, {name: actual.get(name) for name in condition})

    def check_accepted(self, expected: bool, _: Run) -> Iterator[tuple[str, str]]:
        """Whether the last report replaced what was stored."""
        yield from _same("accepted", expected, self.posted[-1][0])

    def check_each(self, expected: list[bool], _: Run) -> Iterator[tuple[str, str]]:
        """The same of every report."""
        yield from _same("accepted each", expected, [accepted for accepted, _ in self.posted])

    def check_disposition(self, expected: str, _: Run) -> Iterator[tuple[str, str]]:
        """What became of the last report."""
        accepted, reason = self.posted[-1]
        if accepted:
            found = "stored"
        elif reason in _KEPT_AS_STORED:
            found = "noop"
        else:
            found = "rejected" if reason in _REJECTED or reason.startswith("MUS") else "discarded"
        yield from _same("disposition", expected, found)

    def check_error(self, expected: str, _: Run) -> Iterator[tuple[str, str]]:
        """The error of the last report: the reason that goes with upstream's text, or the schema's finding."""
        reason = self.posted[-1][1]
        wanted = next((name for text, name in _TEXTS.items() if text in expected), "MUS20")
        if not reason.startswith(wanted):
            yield f"error {wanted}", reason

    def check_publish(self, expected: bool, result: Run) -> Iterator[tuple[str, str]]:
        """Whether a pulse is due. In the area `generation` the question is whether the write itself is news."""
        reasons = [pulse.reason for pulse in result.fleet.pulses if pulse.object == self.fleet.id]
        if self.case["area"] == "generation":
            reasons = [reason for reason in reasons if reason == "spec-changed"]
        yield from _same("publish", expected, bool(reasons))
        if expected and "reason" in self.expect:
            yield from _same("reason", [self.expect["reason"]], reasons)

    def check_event(self, expected: Json, result: Run) -> Iterator[tuple[str, str]]:
        """The CloudEvent, by its listed attributes."""
        event = result.pulses[0]
        for name, value in expected.items():
            if name == "data" and value.get("reason"):
                value = {**value, "reason": result.fleet.pulses[0].reason}
            yield from _same(f"event {name}", value, event.get(name))

    def check_expressions(self, expected: Mapping[str, bool], result: Run) -> Iterator[tuple[str, str]]:
        """What the case's expressions give. Of no reports at all, none is True (see DIFFERENCES)."""
        found = self.conditions(result)
        for name, value in expected.items():
            wanted = value and bool(self.given.get("stored_reports"))
            yield from _same(f"expression {name}", str(wanted), found[f"Expression.{name}"]["status"])

    def check_resource(self, expected: Json, result: Run) -> Iterator[tuple[str, str]]:
        """The resource's own fields."""
        found = result.fleet.now(self.fleet.id, "metadata", "generation")
        yield from _same("generation", expected.get("generation"), found)

    def check_deleted(self, expected: bool, result: Run) -> Iterator[tuple[str, str]]:
        """Whether the resource may go."""
        status = self.conditions(result).get("Finalized", {}).get("status", "False")
        yield from _same("Finalized", str(expected), status)

    def check_config_error(self, expected: object, result: Run) -> Iterator[tuple[str, str]]:
        """Whether the configuration is refused."""
        yield from _same("configuration refused", bool(expected), result.failed)


_CHECKS: Mapping[str, Callable[[_Check, Json, Run], Iterator[tuple[str, str]]]] = {
    "conditions": _Check.check_conditions,
    "absent_conditions": _Check.check_absent,
    "stored_reports": _Check.check_stored,
    "accepted": _Check.check_accepted,
    "accepted_each": _Check.check_each,
    "disposition": _Check.check_disposition,
    "error_contains": _Check.check_error,
    "publish": _Check.check_publish,
    "event": _Check.check_event,
    "expressions": _Check.check_expressions,
    "resource": _Check.check_resource,
    "hard_deleted": _Check.check_deleted,
    "config_error": _Check.check_config_error,
}


def _disposition(result: Run, id_: ObjectId) -> str:
    """The reason of a report's condition `Accepted`, or the code of the finding that broke it."""
    codes = [found.code for found in result.findings if found.object == id_]
    if codes:
        return codes[0]
    accepted = result.fleet.conditions(id_)["Accepted"]
    return str(accepted["reason"])


def _translated_tree(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {name: _translated_tree(value) for name, value in tree.items()}
    return translated(tree)


def _same(what: str, expected: object, actual: object) -> Iterator[tuple[str, str]]:
    """Nothing where a field is not expected or is as expected."""
    if expected is not None and expected != actual:
        yield f"{what} {expected}", f"{what} {actual}"


__all__ = ["API", "DIFFERENCES", "SKIPPED", "cases", "run"]
