"""PolicyTests: state objects, and check the results of policies, step by step.

Each case is independent: its objects are put into an empty repository in memory (or on agent refs) with the fleet's
policies and none of its other objects, and evaluated at each step's instant; derived files are kept for the next step.
Admission policies check what a step changes, as in `muster validate`. A test cannot pass by accident: an unknown policy
is an error, a listed policy that decides nothing in any case fails the test, and an error in the stated objects fails
the case.

Notification policies see what a step changes in the derived files, as in a repository. A message that waits, for its
window or the end of quiet hours, is due at a later step. Nothing is sent.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field

from muster import cel
from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    FLEET,
    NOTIFICATION_POLICY,
    POLICIES,
    POLICY_TEST,
    ROLLOUT,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
from muster.data.names import did_you_mean
from muster.data.notices import Message
from muster.data.snapshot import Snapshot
from muster.data.source import Place, SourceFile
from muster.data.times import format_time, parse_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.features.test.branches import branches_of
from muster.features.test.coverage import Coverage, rules_of
from muster.features.test.memory import Stated, derived_texts, objects_of
from muster.fleet.assemble import builtin_tests_of
from muster.fleet.files import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.merge import overlay
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.rules.notifications.transitions import change_tree, messages
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.lazy import Witness
from muster.run.checking import check_snapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from muster.run.transitions.notices import notices_of


@dataclass
class CaseNotifications:
    """The waiting messages of a case; `policies`: those that have had a message so far (`Kind/name`)."""

    waiting: tuple[Message, ...] = ()
    policies: set[str] = field(default_factory=set)

    def due(self, run: Run, derived: Mapping[str, str]) -> list[Tree]:
        """Return the messages that are due after a run over these derived files, by policy and group: their sinks and
        transitions."""
        notices = [
            notice
            for path, text in sorted(run.files.items())
            for notice in notices_of(path, _body(path, derived.get(path)), _body(path, text), str(run.now), run.now)
        ]
        found_messages = messages(run.fleet, notices, self.waiting, run.now)
        self.policies.update(f"{NOTIFICATION_POLICY.name}/{message.policy}" for message in found_messages)
        self.waiting = tuple(message for message in found_messages if message.due > run.now)
        all_ = [str(sink.get("name")) for sink in mappings_at(run.fleet.settings.spec, "notifications", "sinks")]
        due = sorted(
            (each for each in found_messages if each.due <= run.now), key=lambda each: (each.policy, each.key, each.due)
        )
        return [_tree(message, all_) for message in due]


def _body(path: str, text: str | None) -> Tree:
    return None if text is None else first_body(text.encode(), path)


def _tree(message: Message, sinks: list[str]) -> Tree:
    return {
        "policy": message.policy,
        "severity": message.severity,
        "group": message.key,
        "sinks": sorted(message.sinks or sinks),
        "transitions": [
            {
                **change_tree(notice),
                "object": "/".join(filter(None, (notice.object.kind, notice.object.namespace, notice.object.name))),
            }
            for notice in message.notices
        ],
    }


def unexpected_notifications(sent: list[Tree], step: Tree) -> Iterator[str]:
    """Compare a step's messages with the expected ones; only fields that are written are compared."""
    if "notifications" not in step:
        return
    wanted = mappings_at(step, "notifications")
    if len(sent) != len(wanted) or not all(map(_matches, sent, wanted)):
        yield f"notifications are {_text(sent)}, expected {_text(wanted)}"


def _matches(have: Tree, wanted: Tree) -> bool:
    for name, value in wanted.items():
        if name == "transitions":
            if len(have[name]) != len(value) or any(
                one | want != one for one, want in zip(have[name], value, strict=True)
            ):
                return False
        elif (sorted(value) if name == "sinks" else value) != have[name]:
            return False
    return True


TESTED = (*POLICIES, VALIDATING_ADMISSION_POLICY, NOTIFICATION_POLICY, ROLLOUT)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case: `failures` say what was expected and found; without any it has passed."""

    test: str
    case: str
    place: Place
    failures: tuple[str, ...]


def run_tests(
    fleet: FleetWithPolicies,
    *,
    builtin: bool = False,
    only: str = "",
    coverage: Coverage | None = None,
    tests: Collection[ObjectId] | None = None,
) -> list[CaseResult]:
    """Run the fleet's PolicyTests, with `builtin` also the built-in ones; sorted by test, cases in their order.

    `only`: tests and cases with this in their names; `tests`: these tests. `coverage` gets the branches of the fleet's
    policies, with `builtin` also of built-in ones, and of policies that tests name; with `only` just of the last.
    """
    all_tests = (*fleet.of(POLICY_TEST), *(builtin_tests_of(fleet) if builtin else ()))
    selected = (test for test in all_tests if _is_selected(test, only) and (tests is None or test.id in tests))
    chosen = sorted(selected, key=lambda test: test.id)
    if coverage is not None:
        named = {name for test in chosen for name in test.spec["policies"]}
        branches = branches_of(fleet).items()
        coverage.declare(
            {
                id_: found
                for id_, found in branches
                if str(id_) in named or (not only and (builtin or id_ not in fleet.read.builtin))
            },
            named,
        )
    results_by_test = (_test(fleet, test, only, coverage) for test in chosen)
    return [result for results in results_by_test for result in results]


def affected_tests(before: Fleet, after: Fleet, paths: Collection[str]) -> frozenset[ObjectId]:
    """Return the tests that a change of files affects: those in the files; all if the files have, or had, policies, as
    every case has all policies."""
    tests = after.of(POLICY_TEST)
    named = {name for test in tests for name in test.spec["policies"]}
    policies = {source.path for fleet in (before, after) for source in _policy_files(fleet, named)}
    if not policies.isdisjoint(paths):
        return frozenset(test.id for test in (*tests, *builtin_tests_of(after)))
    return frozenset(test.id for test in tests if any(part.source.path in paths for part in test.parts))


def _is_selected(test: Object, only: str) -> bool:
    names = (test.id.name, *(str(case.get("name")) for case in mappings_at(test.spec, "cases")))
    return any(_has(name, only) for name in names)


def _has(name: str, text: str) -> bool:
    return text.casefold() in name.casefold()


def _policy_files(fleet: Fleet, named: Collection[str] = (), *, builtin: bool = False) -> tuple[SourceFile, ...]:
    """The files with the fleet's own policies, with any other objects in them. Of Rollouts and admission policies only
    those that are `named`: others would refuse what the test states. With `builtin` only those that replace built-in
    policies: a test of these knows no others."""
    admitting = {name.partition("/")[2] for name in named if name.startswith(f"{VALIDATING_ADMISSION_POLICY.name}/")}

    def is_wanted(obj: Object) -> bool:
        if builtin:
            return obj.id in builtin_objects()
        if obj.kind is VALIDATING_ADMISSION_POLICY_BINDING:
            return dig(obj.spec, "policyName") in admitting
        return obj.kind not in (ROLLOUT, VALIDATING_ADMISSION_POLICY) or str(obj.id) in named

    chosen = filter(is_wanted, fleet.of(*TESTED, VALIDATING_ADMISSION_POLICY_BINDING))
    files = {part.source.path: part.source for obj in chosen for part in obj.parts}
    return tuple(source for _, source in sorted(files.items()))


def _test(fleet: Fleet, test: Object, only: str, coverage: Coverage | None) -> Iterator[CaseResult]:
    policies = _policy_files(fleet, test.spec["policies"], builtin=test.id not in fleet.objects)
    whole = _has(test.id.name, only)
    listed: list[str] = list(test.spec["policies"])
    tested = {str(obj.id) for kind in TESTED for obj in fleet.policies(kind)}
    for index, name in enumerate(listed):
        if name not in tested:
            text = f"there is no policy {name}; {did_you_mean(name, tested)}".rstrip("; ")
            yield CaseResult(str(test.id), "", place_of(test.parts, ("spec", "policies", index)), (text,))
    deciding: set[str] = set()
    for index, case in enumerate(mappings_at(test.spec, "cases")):
        if not whole and not _has(str(case.get("name")), only):
            continue
        place = place_of(test.parts, ("spec", "cases", index, "name"))
        failures = tuple(_case(test, case, policies, deciding, coverage))
        yield CaseResult(str(test.id), str(case.get("name")), place, failures)
    for index, name in enumerate(listed if whole else ()):
        if name in tested and name not in deciding:
            text = f"{name} decides nothing in any case, so it is not tested"
            yield CaseResult(str(test.id), "", place_of(test.parts, ("spec", "policies", index)), (text,))


def _case(
    test: Object, case: Tree, policies: tuple[SourceFile, ...], deciding: set[str], coverage: Coverage | None
) -> Iterator[str]:
    """Run the steps; yield failures."""
    listed: list[str] = list(test.spec["policies"])
    admits = any(name.startswith(f"{VALIDATING_ADMISSION_POLICY.name}/") for name in listed)
    stated = Stated().after(mapping_at(test.spec, "given")).after(mapping_at(case, "given"))
    settings = overlay(mapping_at(test.spec, "given", "fleet"), mapping_at(case, "given", "fleet"), {})
    stated = stated.after({"objects": [FLEET.body({"name": "test"}, spec=settings)]})
    before = objects_of({}, (*mappings_at(test.spec, "given", "derived"), *mappings_at(case, "given", "derived")))
    derived = derived_texts(before.items())
    base: Snapshot | None = None
    notifications = CaseNotifications()
    last = ""
    for step in mappings_at(case, "steps"):
        if last and parse_time(step["at"]) < parse_time(last):
            yield f"at {step['at']}: the step before is later, at {last}"
        last, change = step["at"], mapping_at(step, "change")
        stated = stated.after(change).without(change.get("remove") or ())
        snapshot = stated.snapshot(derived, policies)
        witness = None if coverage is None else Witness(lambda _: True)
        run = evaluate_snapshot(snapshot, parse_time(step["at"]), witness=witness)
        judged = check_snapshot(snapshot, base, witness).sorted_findings() if admits else []
        base = snapshot
        sent = notifications.due(run, derived)
        deciding.update(notifications.policies)
        deciding.update(rule.partition("#")[0] for rule in rules_of(run))
        deciding.update(str(finding.policy) for finding in judged if finding.policy)
        if coverage is not None and witness is not None:
            coverage.take(run, witness.seen, listed)
        yield from (
            f"at {step['at']}: {failure}"
            for failure in (*_check(run, judged, step, stated), *unexpected_notifications(sent, step))
        )
        derived = {path: text for path, text in {**derived, **run.files}.items() if text is not None}


def _check(run: Run, judged: Sequence[Finding], step: Tree, stated: Stated) -> Iterator[str]:
    bodies = {_label(body): body for body in run.objects}
    expected = set(step.get("findings") or ())
    with_violations = {expect["object"] for expect in mappings_at(step, "expect") if "violations" in expect}
    for finding in sorted({*run.findings, *judged}, key=Finding.sort_key):
        is_expected = finding.policy and str(finding.object) in with_violations
        if finding.severity is Severity.ERROR and finding.code not in expected and not is_expected:
            yield f"unexpected {finding.code}: {finding.message}"
    for code in sorted(expected - {finding.code for finding in (*run.findings, *judged)}):
        yield f"{code} was expected, but not found"
    if "horizon" in step:
        horizon = None if run.horizon is None else format_time(run.horizon)
        if horizon != step["horizon"]:
            yield f"horizon is {horizon}, expected {step['horizon']}"
    for expect in mappings_at(step, "expect"):
        expected_of = _expectation(run, bodies.get(expect["object"]), expect, stated)
        failures = (*_violations(judged, expect), *expected_of)
        yield from (f"{expect['object']}: {failure}" for failure in failures)


def _expectation(run: Run, body: Tree, expect: Tree, stated: Stated) -> Iterator[str]:
    if expect.get("absent") is True:
        if body is not None:
            yield "is there, expected to be absent"
        return
    if body is None:
        if expect.keys() - {"object", "violations"}:
            yield f"is absent: {stated.why_absent(expect['object'])}"
        return
    conditions = {c.get("type"): c for c in mappings_at(body, "status", "conditions")}
    taints = mappings_at(body, "spec", "taints")
    for wanted in mappings_at(expect, "conditions"):
        yield from _fields(f"condition {wanted['type']}", conditions.get(wanted["type"]), wanted)
    for type_ in expect.get("absentConditions") or ():
        if type_ in conditions:
            yield f"has condition {type_} ({conditions[type_].get('status')}), expected none"
    for wanted in mappings_at(expect, "taints"):
        alike = [t for t in taints if (t.get("key"), t.get("effect")) == (wanted["key"], wanted["effect"])]
        exact = (t for t in alike if (t.get("value") or "") == (wanted.get("value") or ""))
        match = next(exact, alike[0] if alike else None)
        yield from _fields(f"taint {wanted['key']}:{wanted['effect']}", match, wanted)
    for wanted in mappings_at(expect, "absentTaints"):
        if any(t.get("key") == wanted["key"] and wanted.get("effect") in (None, t.get("effect")) for t in taints):
            yield f"has taint {wanted['key']}, expected none"
    entries = mapping_at(body, "status", "muster", "rollouts")
    for wanted in mappings_at(expect, "rollouts"):
        name, entry = wanted["rollout"], entries.get(wanted["rollout"])
        state = None if entry is None else {"gate": "", **entry, "rollout": name}
        yield from _fields(f"state in Rollout {name}", state, wanted)
    scores = {score.get("name"): score for score in mappings_at(body, "status", "scores")}
    for wanted in mappings_at(expect, "scores"):
        yield from _fields(f"score {wanted['name']}", scores.get(wanted["name"]), wanted)
    if "remedyActions" in expect and (have := dig(body, "status", "remedyActions") or []) != expect["remedyActions"]:
        yield f"remedyActions are {_text(have)}, expected {_text(expect['remedyActions'])}"
    yield from _pulses(run, expect)
    if (
        "held" in expect
        and (have := [h.effect for h in run.fleet.held if str(h.object) == expect["object"]]) != expect["held"]
    ):
        yield f"held are {_text(have)}, expected {_text(expect['held'])}"
    for text in expect.get("assertions") or ():
        yield from _assertion(text, body, run)


def _fields(what: str, have: Tree, wanted: Tree) -> Iterator[str]:
    """Only the fields that are written are compared."""
    if have is None:
        yield f"has no {what}"
        return
    for name in sorted(wanted):
        if have.get(name) != wanted[name]:
            yield f"{what}: {name} is {_text(have.get(name))}, expected {_text(wanted[name])}"


def _pulses(run: Run, expect: Tree) -> Iterator[str]:
    if "pulses" not in expect:
        return
    have = [p.because for p in run.fleet.pulses if str(p.object) == expect["object"]]
    wanted = mappings_at(expect, "pulses")
    shown = [f"{b.rule.partition('#')[0]} {b.text}".strip() for b in have]
    matched = len(have) == len(wanted) and all(
        w.get("policy") in (None, b.rule.partition("#")[0].rpartition("/")[2]) and w.get("reason") in (None, b.text)
        for b, w in zip(have, wanted, strict=True)
    )
    if not matched:
        yield f"pulses are {_text(shown)}, expected {_text(wanted)}"


def _violations(judged: Sequence[Finding], expect: Tree) -> Iterator[str]:
    if "violations" not in expect:
        return
    have = [
        {"policy": finding.policy.name, "message": finding.message}
        for finding in judged
        if str(finding.object) == expect["object"] and finding.policy
    ]
    wanted = mappings_at(expect, "violations")
    if len(have) != len(wanted) or any(one | w != one for one, w in zip(have, wanted, strict=True)):
        yield f"violations are {_text(have)}, expected {_text(wanted)}"


def _assertion(text: str, body: Tree, run: Run) -> Iterator[str]:
    try:
        result = cel.compile(text).run({"object": body, "now": run.now}, trace=True)
    except cel.CompileError as error:
        yield f"{text}: {error.issues[0].message}"
        return
    if result.error is not None:
        yield f"{text}: {result.error.message}"
    elif result.value is not True:
        yield f"does not hold:\n{result.trace}"


def _text(value: Tree | Sequence[Tree]) -> str:
    """A value as one line of YAML, which JSON is."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _label(body: Tree) -> str:
    metadata = body["metadata"]
    return "/".join(part for part in (body["kind"], metadata.get("namespace"), metadata["name"]) if part)
