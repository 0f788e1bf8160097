"""HyperFleet cases: reports, conditions, pulses, deletion, and what an adapter makes of its task.

What a case expects is compared field by field. Where this project deliberately does something else (the table of
docs/hyperfleet.md), `DIFFERENCES` says what: then the case is held to upstream's rule, and the result to ours.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from muster.agents.report.job import GENERATION, assess
from muster.agents.report.report import ReportCondition, report_object
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.times import format_time, parse_time
from muster.run.run import Run
from tests.conformance.hyperfleet_repository import API, POLICY, CaseFleet, mapped, translated
from tests.conformance.hyperfleet_texts import MAPPING_ERROR, PULSE_TEXTS, TEXTS, message_mismatch
from tests.conformance.reading import Doubt, careful, cases_in, outcome, unknown_inputs, unknown_keys
from tests.conformance.report import Outcome

Json = Any

#: Decided differences, by the words with which docs/hyperfleet.md tells users of them -> what is tested instead.
DIFFERENCES: Mapping[str, str] = {
    "`lastTransitionTime` may be an older report's time": "`now`, the run that saw it, where the status "
    "changed and the case gives an older instant",
    "`last_updated_time` on conditions": "of Ready by the instant at which the next pulse is due, of others to be "
    "one of the case's instants",
    "`created_time` on conditions": "to be one of the case's instants",
    "a condition `<Adapter>Successful` per adapter": "to be absent, and to be what the report says that counts",
    "a finalized object is deleted": "the condition Finalized, and that no pulse is due",
    "without required adapters both conditions are False": "to be absent",
    "an expression over all of no reports is True": "to be False",
    "every event's reason is `message decision matched`": "the reason of the rule",
    "an expression that fails is an outcome of its own": "that there is no pulse",
    "an extra condition that fails, or with another status than True or False, takes back the report": "that the "
    "report counts, and that the condition is Unknown with the reason PolicyError",
}
#: Upstream's names today for the seed's.
UPSTREAM_TYPES: Mapping[str, str] = {"Ready": "Reconciled", "Available": "LastKnownReconciled"}
#: The one reason that upstream gives in every event.
_PAYLOAD_REASON = "message decision matched"

#: What is not run, by the input that a case has, each with its reason.
SKIPPED: Mapping[str, str] = {
    "resource_selector": "a PulsePolicy selects by label selector; there are no Sentinel instances to overlap",
    "message_decision": "a PulsePolicy has rules, not a parameter list over `condition()`; its own tests cover them",
}

_TTL = {"True": timedelta(minutes=30), "False": timedelta(seconds=10)}
_RESERVED = "MUS313"
_REJECTED = ("MissingCondition", "DuplicateCondition", "ObservedTimeAhead", "ObservedTimeTooOld", "ResourceNotFound")
_KEPT_AS_STORED = ("Accepted", "SameTime")


def run(directory: Path) -> list[Outcome]:
    """Run every case of every YAML file of this form in a directory."""
    return [judge(case) for case in cases(directory)]


def cases(directory: Path) -> Iterator[Json]:
    """Yield the cases of files named after HyperFleet; those of other systems are passed over."""
    yield from cases_in(directory, "hyperfleet")


@careful
def judge(case: Json) -> Outcome:
    """Run one case."""
    area = f"{case['area']} ({case.get('seed_status', 'silent')})"
    skip = next((reason for name, reason in SKIPPED.items() if case["given"].get(name)), None)
    if skip:
        return Outcome(area, case["id"], "skipped", actual=skip)
    if case["area"] not in _AREAS:
        return Outcome(area, case["id"], "failed", f"one of the areas {sorted(_AREAS)}", f"area {case['area']}")
    check = _Task(case) if case["area"] == "adapter-task" else _Check(case)
    return outcome(area, case["id"], [*unknown_inputs(case, _GIVEN, "upstream_expect"), *check.differences()])


#: What a case may give.
_GIVEN = (
    "now",
    "resource",
    "required_adapters",
    "stored_reports",
    "incoming_reports",
    "recompute",
    "last_pulse",
    "expressions",
    "condition_rules",
    "message_decision",
    "message_data",
    "topic",
    "resource_selector",
    "adapter",
    "job",
    "update",
)
_AREAS = frozenset(
    {"acceptance", "adapter-task", "aggregation", "deletion", "expressions", "extra-conditions", "generation"}
    | {"pulse", "pulse-config"}
)


class _Task:
    """An adapter's decision about its Job."""

    def __init__(self, case: Json) -> None:
        self.case, self.expect, self.given = case, case["expect"], case["given"]

    def differences(self) -> Iterator[tuple[str, str]]:
        """What is not as expected: pairs of expected and actual."""
        if beside := {key: value for key, value in self.expect.items() if key not in ("job_action", "report")}:
            yield from _Check({**self.case, "expect": beside}).differences()
        job, resource = self.given.get("job"), self.given["resource"]
        if job is not None:
            notes = {GENERATION: str(job.get("generation", resource["generation"]))}
            job = {"metadata": {"annotations": notes}, "status": {"conditions": job.get("conditions") or []}}
        found = assess(job, resource["generation"])
        yield from _same("job_action", self.expect.get("job_action"), found.action)
        if (wanted := self.expect.get("report")) is not None:
            report = self._report(found.available)
            yield from unknown_keys(wanted, report, "expect.report")
            for name in wanted.keys() & report.keys() - {"conditions"}:
                yield from _same(name, wanted[name], report[name])
            yield from self._conditions(wanted.get("conditions") or [], report["conditions"])

    @staticmethod
    def _conditions(expected: list[Json], have: list[Json]) -> Iterator[tuple[str, str]]:
        """The same types with the same statuses; the reason of a failure is the adapter's to give."""
        types = [{"type": condition["type"]} for condition in expected]
        yield from _same("report", _by_type(types), _by_type([{"type": condition["type"]} for condition in have]))
        stated = {condition["type"]: condition["status"] for condition in have}
        wanted = {condition["type"]: condition["status"] for condition in expected if "status" in condition}
        yield from _same("report", wanted, {type_: stated.get(type_) for type_ in wanted})
        for condition in expected:
            words = ("reason", "message", "upstream_reason", "upstream_message")
            yield from unknown_keys(condition, ("type", "status", *words), "expect.report.conditions[]")
            if any(condition.get(word) for word in words):
                yield str(condition), Doubt("which reason a report gives is the adapter's own")

    def _report(self, available: str) -> Json:
        """What `muster report --job` sends, or with an Unknown would."""
        fleet, now = CaseFleet({"given": self.given}), parse_time(self.given["now"])
        said, adapter = [ReportCondition("Available", available)], self.given["adapter"]
        body = report_object(fleet.id, fleet.cluster, adapter, fleet.resource["generation"], now, said)
        return body["spec"]


class _Check:
    """A case that runs through the evaluator."""

    def __init__(self, case: Json) -> None:
        self.case, self.expect, self.given = case, case["expect"], case["given"]
        self.fleet = CaseFleet(case)
        self.posted: list[tuple[bool, str]] = []
        self.findings: list[Finding] = []
        self._write_policies()

    def differences(self) -> Iterator[tuple[str, str]]:
        """What is not as expected: pairs of expected and actual."""
        yield from unknown_keys(self.expect, _CHECKS)
        result = self._process()
        if self.case["area"] == "extra-conditions" and self._is_taken_back():
            yield from self._kept(result)
            return
        for name, expected in self.expect.items():
            if name in _CHECKS:
                yield from _CHECKS[name](self, expected, result)

    def _is_taken_back(self) -> bool:
        """Whether upstream gives up on a report because of an extra condition (see DIFFERENCES)."""
        said = str(self.expect.get("error_contains", ""))
        return self.expect.get("disposition") == "error" or re.fullmatch(MAPPING_ERROR, said) is not None

    def _kept(self, result: Run) -> Iterator[tuple[str, str]]:
        """What muster does instead; upstream keeps all as it was, so what else the case lists is what was given."""
        said = self.expect.get("error_contains")
        if said is not None and not re.fullmatch(MAPPING_ERROR, said):
            yield said, Doubt(f"no extra condition is known to fail with {said!r}")
        yield from _same("accepted by upstream", self.expect.get("accepted"), False)
        yield from _same("disposition of upstream", self.expect.get("disposition"), "error")
        failed = [condition for condition in self.conditions(result).values() if condition["reason"] == "PolicyError"]
        broken = {rule["type"] for rule in self.given.get("condition_rules") or ()}
        told = [f"{found.code} {found.message}" for found in result.findings]
        yield from _same("extra condition fails", True, bool(told) and broken >= {one["type"] for one in failed})
        yield from _same("accepted", [True] * len(self.posted), [accepted for accepted, _ in self.posted])

    # -- the case's own expressions, as policies

    def _write_policies(self) -> None:
        known: dict[str, str] = {}
        for name, expression in (self.given.get("expressions") or {}).items():
            known[name] = translated(expression, known)
            self._policy(
                f"expression-{name}",
                f"Expression.{name}",
                [
                    {"name": "nothing", "when": "size(reports) == 0", "status": "False", "reason": "NoReports"},
                    {"name": "it", "statusExpression": f"{known[name]} ? 'True' : 'False'", "reason": "Expression"},
                ],
            )
        for index, rule in enumerate(self.given.get("condition_rules") or []):
            self._policy(f"mapped-{index}", rule["type"], [{"name": "mapped", **mapped(rule)}])
        if self.given.get("message_data") or self.given.get("topic"):
            self._event_policy()

    def _policy(self, name: str, type_: str, rules: list[Json]) -> None:
        self.fleet.write(
            f"policies/{name}.yaml",
            {
                "kind": "ConditionPolicy",
                "metadata": {"name": name},
                "spec": {"target": {"kind": self.fleet.kind.name}, "type": type_, "rules": rules},
            },
        )

    def _event_policy(self) -> None:
        """The built-in pulses with the case's payload."""
        builtin = Path(__file__).parents[2] / "policies" / f"{POLICY}.yaml"
        spec = yaml.safe_load(builtin.read_text(encoding="utf-8"))["spec"]
        event = {"source": "hyperfleet-sentinel", "topic": self.given.get("topic", "")}
        if data := self.given.get("message_data"):
            event["data"] = _translated_tree(data)
        self.fleet.write(
            "policies/pulses.yaml",
            {
                "kind": "PulsePolicy",
                "metadata": {"name": POLICY},
                "spec": {**spec, "event": event},
            },
        )

    # -- running

    def _process(self) -> Run:
        for report in self.given.get("incoming_reports") or []:
            before = self.fleet.stored()
            id_ = self.fleet.post(report)
            result = self.fleet.run()
            self.posted.append((self.fleet.stored() != before, _disposition(result, id_)))
            self.findings = [found for found in result.findings if found.object == id_]
        return result if self.posted else self.fleet.run()

    def _body(self, result: Run) -> Json:
        mine = (body for body in result.objects if body["kind"] == self.fleet.kind.name)
        return next((body for body in mine if body["metadata"]["name"] == self.fleet.id.name), {"metadata": {}})

    def _reports(self) -> list[Json]:
        return [*(self.given.get("stored_reports") or ()), *(self.given.get("incoming_reports") or ())]

    def conditions(self, result: Run) -> dict[str, Json]:
        """The resource's conditions, by type."""
        body = self._body(result)
        return {c["type"]: c for c in body.get("status", {}).get("conditions") or []}

    # -- one expectation each

    def check_conditions(self, expected: list[Json], result: Run) -> Iterator[tuple[str, str]]:
        """Conditions by type: only the listed fields."""
        found = self.conditions(result)
        required = self.given.get("required_adapters") or []
        own = {f"{_pascal(name)}Successful": name for name in required}
        for condition in expected:
            type_ = condition["type"]
            yield from unknown_keys(condition, _CONDITION_FIELDS, f"expect.conditions[{type_}]")
            if type_ in own or not required:  # see DIFFERENCES
                yield from _same(f"{type_} absent", True, type_ not in found)
                if type_ in own:
                    yield from self._of_report(condition, own[type_])
                continue
            if type_ not in found:
                yield f"condition {type_}", f"only {sorted(found)}"
                continue
            yield from self._condition(condition, found[type_])
            yield from self._present_name(condition)
            if type_ == "Ready" and "last_updated_time" in condition:
                yield from self._clock_starts_at({**condition, "status": found[type_]["status"]})

    def _present_name(self, expected: Json) -> Iterator[tuple[str, str]]:
        """By upstream's name of today, the condition says the same in a fleet that speaks those names."""
        if (name := expected.get("upstream_type")) is None:
            return
        found = self.conditions(self.fleet.in_present_names()).get(name, {})
        yield from _same(f"{name}.status", expected.get("status"), found.get("status"))
        yield from _same(f"{name}.generation", expected.get("observed_generation"), found.get("observedGeneration"))

    def _of_report(self, expected: Json, adapter: str) -> Iterator[tuple[str, str]]:
        """What upstream shows as a condition per adapter is what the report says that counts."""
        report = self.fleet.stored()[adapter]["accepted"]
        said = next(c for c in report["conditions"] if c["type"] == "Available")
        yield from _same(f"{adapter} status", expected.get("status"), said["status"])
        for key in ("reason", "message"):
            for word in (key, f"upstream_{key}"):
                yield from _same(f"{adapter} {word}", expected.get(word), said.get(key))
        generation = report["observed_generation"]
        yield from _same(f"{adapter} generation", expected.get("observed_generation"), generation)
        yield from _same(f"{adapter} updated", expected.get("last_updated_time"), report["observed_time"])
        changed = said.get("last_transition_time", report["observed_time"])
        if (before := self.fleet.previous(expected["type"])) is not None and before["status"] == said["status"]:
            changed = before.get("last_transition_time", changed)
        yield from _same(f"{adapter} changed", expected.get("last_transition_time"), changed)
        yield from self._instant(f"{adapter} created_time", expected.get("created_time"))

    def _instant(self, what: str, expected: str | None) -> Iterator[tuple[str, str]]:
        """A time that muster has no field for is at least one that the case speaks of."""
        if expected is not None and expected not in (known := set(_instants(self.given))):
            yield f"{what} {expected}", f"one of {sorted(known)}"

    def _condition(self, expected: Json, found: Json) -> Iterator[tuple[str, str]]:
        type_ = expected["type"]
        yield from _same(f"{type_}.status", expected.get("status"), found["status"])
        yield from _same(
            f"{type_}.observed_generation", expected.get("observed_generation"), found.get("observedGeneration")
        )
        for key in ("reason", "upstream_reason"):
            yield from _same(f"{type_}.{key}", expected.get(key), found["reason"])
        yield from _same(f"{type_}.message", expected.get("message"), found["message"])
        yield from message_mismatch(expected.get("upstream_message"), found["message"])
        yield from self._instant(f"{type_}.last_updated_time", expected.get("last_updated_time"))
        yield from self._instant(f"{type_}.created_time", expected.get("created_time"))
        if "last_transition_time" in expected:
            yield from self._transition(expected, found)

    def _transition(self, expected: Json, found: Json) -> Iterator[tuple[str, str]]:
        """As the case has it; or, where the status is another now, at `now`, and the case's is upstream's: the time of
        the oldest report or of the change of the spec."""
        type_, wanted, have = expected["type"], expected["last_transition_time"], found["lastTransitionTime"]
        before = self.fleet.previous(type_)
        moved = before is None or before["status"] != found["status"]
        theirs = {expected.get("last_updated_time", wanted), self.fleet.changed} & set(_instants(self.given))
        if wanted != have and not (moved and have == format_time(self.fleet.now) and wanted in theirs):
            yield f"{type_}.last_transition_time {wanted}", f"{type_}.last_transition_time {have}"

    def _clock_starts_at(self, ready: Json) -> Iterator[tuple[str, str]]:
        """The age that pulses count starts at `last_updated_time`: nothing is due at the limit, but a second later.
        Of what is Ready while it is being deleted, which upstream removes, nothing is due at all."""
        limit = parse_time(ready["last_updated_time"]) + _TTL[ready["status"]]
        there = not (self.fleet.resource.get("deleted_time") and ready["status"] == "True")
        for instant, due in ((limit, False), (limit + timedelta(seconds=1), there)):
            pulses = self.fleet.run(instant, announced=True).pulses
            yield from _same(f"pulse due at {format_time(instant)}", due, bool(pulses))

    def check_absent(self, expected: list[str], result: Run) -> Iterator[tuple[str, str]]:
        """Conditions that must not be there, each of them one that something in the case could have brought about."""
        adapters = [report["adapter"] for report in self._reports() if report.get("adapter")]
        possible = {c["type"] for report in self._reports() for c in report.get("conditions") or ()}
        possible |= {f"{_pascal(name)}Successful" for name in (*adapters, *(self.given.get("required_adapters") or ()))}
        possible |= {rule["type"] for rule in self.given.get("condition_rules") or ()}
        possible |= {c["type"] for c in (self.given.get("resource") or {}).get("status", {}).get("conditions") or ()}
        possible |= {*UPSTREAM_TYPES, *UPSTREAM_TYPES.values(), "Finalized"}
        yield from _same("absence of", [], sorted(set(expected) - possible))
        failed = {
            c["type"] for c in self.conditions(result).values() if c["reason"] == "PolicyError"
        }  # see DIFFERENCES
        yield from _same("absent conditions", [], sorted(set(expected) & self.conditions(result).keys() - failed))

    def check_stored(self, expected: list[Json], _: Run) -> Iterator[tuple[str, str]]:
        """Accepted reports by adapter, each with exactly the listed conditions."""
        stored = self.fleet.stored()
        if not expected:
            yield from _same("stored reports", [], sorted(stored))
        for report in expected:
            yield from unknown_keys(report, _REPORT_FIELDS, f"expect.stored_reports[{report['adapter']}]")
            found = stored.get(report["adapter"])
            if found is None:
                yield f"a report of {report['adapter']}", f"only {sorted(stored)}"
                continue
            accepted = found["accepted"]
            yield from _same("stored generation", report.get("observed_generation"), accepted["observed_generation"])
            yield from _same("stored time", report.get("last_report_time"), accepted["observed_time"])
            yield from _same("stored since", report.get("created_time"), found["createdTime"])
            yield from _same("stored data", report.get("data"), accepted.get("data"))
            yield from _same("stored metadata", report.get("metadata"), accepted.get("metadata"))
            by_type = {c["type"]: c for c in accepted["conditions"]}
            if "conditions" in report:
                yield from _same("stored conditions", sorted(c["type"] for c in report["conditions"]), sorted(by_type))
            for condition in report.get("conditions") or ():
                actual = by_type.get(condition["type"], {})
                told = {name: actual.get(name.removeprefix("upstream_")) for name in condition}
                yield from _same("stored condition", condition, told)

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
        for text, wanted, says in TEXTS:
            if re.fullmatch(text, expected):
                said = [found.message for found in self.findings if found.code == reason]
                if not re.fullmatch(wanted, reason) or not all(re.search(says, message) for message in said):
                    yield f"error {wanted} {says}", f"{reason} {said}"
                return
        yield expected, Doubt(f"no reason or finding is known to say {expected!r}")

    def check_publish(self, expected: bool, result: Run) -> Iterator[tuple[str, str]]:
        """Whether a pulse is due. In the area `generation` the question is whether the write itself is news."""
        yield from _same("publish", expected, bool(self._reasons(result)))

    def _reasons(self, result: Run) -> list[str]:
        """Of the pulses that are due."""
        reasons = [pulse.reason for pulse in result.fleet.pulses if pulse.object == self.fleet.id]
        return reasons if self.case["area"] != "generation" else [one for one in reasons if one == "spec-changed"]

    def check_reason(self, expected: str, result: Run) -> Iterator[tuple[str, str]]:
        """Why a pulse is due, or that none is."""
        quiet = expected if expected in ("fresh", "evaluation-error") else "fresh"
        yield from _same("reason", [expected], self._reasons(result) or [quiet])

    def check_upstream_reason(self, expected: str, result: Run) -> Iterator[tuple[str, str]]:
        """What upstream's Sentinel says of its decision: whether a pulse is due."""
        for text, due in PULSE_TEXTS:
            if re.fullmatch(text, expected):
                yield from _same(f"publish ({expected})", due, bool(self._reasons(result)))
                return
        yield expected, Doubt(f"no pulse is known to go with {expected!r}")

    def check_event(self, expected: Json, result: Run) -> Iterator[tuple[str, str]]:
        """The CloudEvent, by its listed attributes."""
        event = result.pulses[0]
        for name, value in expected.items():
            if name == "data" and value.get("reason") == _PAYLOAD_REASON:  # see DIFFERENCES
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
        places = {"generation": "generation", "deleted_time": "deletionTimestamp", "labels": "labels", "name": "name"}
        yield from unknown_keys(expected, places, "expect.resource")
        metadata = self._body(result)["metadata"]
        for name in expected.keys() & places.keys():
            yield from _same(name, expected[name], metadata.get(places[name]))

    def check_deleted(self, expected: bool, result: Run) -> Iterator[tuple[str, str]]:
        """Whether the resource may go."""
        status = self.conditions(result).get("Finalized", {}).get("status", "False")
        yield from _same("Finalized", str(expected), status)

    def check_config_error(self, expected: object, result: Run) -> Iterator[tuple[str, str]]:
        """Whether the configuration is refused. A type `<Adapter>Successful` is free here (see DIFFERENCES)."""
        rejected = self.expect.get("rejected_types")
        refused = bool(expected) and (not rejected or bool(set(rejected) - self._free_types()))
        failed = result.failed or self.fleet.in_present_names().failed
        yield from _same("configuration refused", refused, failed)

    def check_rejected(self, expected: list[str], result: Run) -> Iterator[tuple[str, str]]:
        """The condition types that no rule may give: those of the built-in policies, by either vocabulary."""
        types = {f"mapped-{index}": rule["type"] for index, rule in enumerate(self.given.get("condition_rules") or [])}
        findings = (*result.findings, *self.fleet.in_present_names().findings)
        refused = {types.get(found.object.name) for found in findings if found.object and found.code == _RESERVED}
        known = set(types.values())
        if stray := set(expected) - known:
            yield f"rejected {sorted(stray)}", f"rules of {sorted(known)}"
        yield from _same("rejected types", sorted(set(expected) - self._free_types()), sorted(filter(None, refused)))

    def _free_types(self) -> set[str]:
        """The types of upstream's conditions per adapter, which are none here."""
        return {f"{_pascal(name)}Successful" for name in self.given.get("required_adapters") or []}


_REPORT_FIELDS = (
    "adapter",
    "observed_generation",
    "last_report_time",
    "created_time",
    "conditions",
    "data",
    "metadata",
)
_CONDITION_FIELDS = (
    "type",
    "upstream_type",
    "status",
    "reason",
    "upstream_reason",
    "message",
    "upstream_message",
    "observed_generation",
    "last_updated_time",
    "last_transition_time",
    "created_time",
)


_CHECKS: Mapping[str, Callable[[_Check, Json, Run], Iterator[tuple[str, str]]]] = {
    "conditions": _Check.check_conditions,
    "absent_conditions": _Check.check_absent,
    "stored_reports": _Check.check_stored,
    "accepted": _Check.check_accepted,
    "accepted_each": _Check.check_each,
    "disposition": _Check.check_disposition,
    "error_contains": _Check.check_error,
    "publish": _Check.check_publish,
    "reason": _Check.check_reason,
    "upstream_reason": _Check.check_upstream_reason,
    "event": _Check.check_event,
    "expressions": _Check.check_expressions,
    "resource": _Check.check_resource,
    "hard_deleted": _Check.check_deleted,
    "config_error": _Check.check_config_error,
    "rejected_types": _Check.check_rejected,
}


def _disposition(result: Run, id_: ObjectId) -> str:
    """The reason of a report's condition `Accepted`, or the code of the finding that broke it."""
    codes = [found.code for found in result.findings if found.object == id_]
    if codes:
        return codes[0]
    accepted = result.fleet.conditions(id_)["Accepted"]
    return str(accepted["reason"])


def _by_type(conditions: list[Json]) -> list[Json]:
    return sorted(conditions, key=lambda condition: str(condition["type"]))


def _pascal(adapter: str) -> str:
    return "".join(part.capitalize() for part in adapter.split("-"))


def _instants(tree: Json) -> Iterator[str]:
    """Every instant that a tree holds."""
    if isinstance(tree, dict | list):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from _instants(child)
    elif isinstance(tree, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", tree):
        yield tree


def _translated_tree(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {name: _translated_tree(value) for name, value in tree.items()}
    return translated(tree)


def _same(what: str, expected: object, actual: object) -> Iterator[tuple[str, str]]:
    """Nothing where a field is not expected or is as expected."""
    if expected is not None and expected != actual:
        yield f"{what} {expected}", f"{what} {actual}"


__all__ = ["API", "DIFFERENCES", "SKIPPED", "cases", "run"]
