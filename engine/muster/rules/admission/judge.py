"""Evaluates the policies in force for a revision: a finding per violation, at the object."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from muster import cel
from muster.data.codes import Severity
from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    MANAGED_CLUSTER,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    of_kinds,
)
from muster.data.source import Place
from muster.data.tree import At, Tree, mappings_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.report_parts import has_reports, without_invalid_reports
from muster.fleet.schema_findings import schema_findings
from muster.fleet.schemas import is_sound
from muster.rules.admission.foreign import ForeignObjects, foreign_requests
from muster.rules.admission.inputs import AdmissionInputs
from muster.rules.admission.messages import NAME, audit_annotations, fields_read, place_in, refused, short
from muster.rules.admission.policies import AdmissionPolicy, Admissions, Binding, Validation
from muster.rules.admission.request import UNKNOWN_USER, AdmissionRequest, operation, requests
from muster.rules.admission.resources import Resource
from muster.rules.policies.lazy import PolicyScope, Witness, WitnessedScope, WitnessNote

_ADMISSION: Final = (VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING)
#: Operations on present objects: in a run there are no others, as it has no base.
_WRITES: Final = frozenset(("CREATE", "UPDATE"))
#: Variables that stay while another form of the object is tried.
_UNCHANGED: Final = ("oldObject", "derived", "request", "params", "namespaceObject", "files")


def judges_removals(fleet: Fleet) -> bool:
    """Does one of the fleet's own policies match a DELETE? It compares with other objects."""
    policies = [fleet.objects[id_] for id_ in of_kinds(fleet.objects, VALIDATING_ADMISSION_POLICY)]
    rules = [rule for obj in policies for rule in mappings_at(obj.spec, "matchConstraints", "resourceRules")]
    return any(not _WRITES.issuperset(rule.get("operations") or ("*",)) for rule in rules)


def reads_users(fleet: Fleet) -> bool:
    """Does one of the fleet's own policies or bindings read who changed an object last?"""
    return any("userInfo" in str(fleet.objects[id_].spec) for id_ in of_kinds(fleet.objects, *_ADMISSION))


@dataclass(frozen=True, slots=True)
class Admission:
    """The result for a revision: its objects without refused reports, findings about those, and other refusals.
    `evaluated`: the places of the foreign objects that policies match."""

    objects: Mapping[ObjectId, Object]
    invalid_reports: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()
    evaluated: frozenset[Place] = frozenset()


def admit(fleet: Fleet, admissions: Admissions, base: Fleet | None, witness: Witness | None = None) -> Admission:
    """Evaluate the policies for every object. Without a base every object is new, and none is removed.

    If an object is refused only because of its reports, they are ignored: no agent can block people's changes of its
    cluster.
    """
    if not admissions.bindings:
        return Admission(fleet.objects)
    objects, invalid_reports = dict(fleet.objects), list[Finding]()
    foreigners, earlier = ForeignObjects.of(fleet, base)
    surroundings = AdmissionInputs(fleet, foreigners, witness, base)
    matched_kinds = _matched_kinds(foreigners, earlier, admissions)

    @cache
    def matched(resource: Resource) -> bool:
        return any(
            binding.policy.match.covers(resource) and binding.match.covers(resource) for binding in admissions.bindings
        )

    def evaluate(request: AdmissionRequest) -> Iterator[Finding]:
        findings = list(_of_request(surroundings, admissions, request))
        obj = request.object
        in_fleet = obj is not None and obj.id in fleet.objects
        if obj and in_fleet and has_reports(obj) and any(finding.severity is Severity.ERROR for finding in findings):
            reduced, dropped = without_invalid_reports(obj, _Recheck(surroundings, admissions, request))
            if dropped:
                invalid_reports.extend(dropped)
                del objects[obj.id]
                if reduced is None:
                    return
                if obj.kind is MANAGED_CLUSTER:  # keeps automatic acceptance
                    reduced = replace(reduced, body={**reduced.body, "spec": obj.spec})
                objects[obj.id] = reduced
                findings = list(_of_request(surroundings, admissions, replace(request, object=reduced)))
        yield from findings

    matching = (request for request in requests(fleet, base) if matched(request.resource))
    of_known_kinds = each(matching if base is None else _in_force(base, matching), evaluate)
    of_foreign_kinds = each(
        foreign_requests(foreigners, earlier, matched_kinds), lambda change: evaluate(change.request())
    )
    findings = (*of_known_kinds, *of_foreign_kinds)
    return Admission(objects, tuple(invalid_reports), findings, _places(fleet, matched_kinds, admissions))


def _matched_kinds(now: ForeignObjects, base: ForeignObjects | None, admissions: Admissions) -> list[Resource]:
    kinds = {*now.fleet.read.foreign, *(base.fleet.read.foreign if base is not None else ())}
    resources = (now.resources.of(*kind) for kind in sorted(kinds))
    bindings = admissions.bindings
    return [
        resource
        for resource in resources
        if any(binding.policy.match.covers(resource) and binding.match.covers(resource) for binding in bindings)
    ]


def _places(fleet: Fleet, matched_kinds: list[Resource], admissions: Admissions) -> frozenset[Place]:
    """The places of foreign objects that policies match or read as parameters."""
    kinds = {(resource.group, resource.kind) for resource in matched_kinds}
    kinds |= {binding.policy.param_kind for binding in admissions.bindings if binding.policy.param_kind is not None}
    if kinds:
        kinds.add(("", "Namespace"))
    documents = (document for kind in kinds for document in fleet.read.foreign.get(kind, ()))
    return frozenset(Place(document.source.label, document.line, 1) for document in documents)


def _in_force(base: Fleet, admission_requests: Iterable[AdmissionRequest]) -> Iterator[AdmissionRequest]:
    """The requests with each old object as it was in force: an invalid one never existed for an API server."""
    for request in admission_requests:
        old = request.old
        if old is not None and not is_sound(old.kind, base.declared(old).body):
            reduced, _ = without_invalid_reports(old, lambda candidate: schema_findings(base.declared(candidate)))
            old = reduced if reduced is not None and is_sound(reduced.kind, base.declared(reduced).body) else None
            if old is None and request.object is None:
                continue
            request = replace(request, old=old, operation=operation(request.object, old))
        yield request


@dataclass(frozen=True, slots=True)
class _Recheck:
    """Evaluates the policies for another form of a request's object."""

    surroundings: AdmissionInputs
    admissions: Admissions
    request: AdmissionRequest

    def __call__(self, obj: Object) -> list[Finding]:
        findings = _of_request(self.surroundings, self.admissions, replace(self.request, object=obj))
        return [finding for finding in findings if finding.severity is Severity.ERROR]


def _of_request(inputs: AdmissionInputs, admissions: Admissions, request: AdmissionRequest) -> Iterator[Finding]:
    for binding in admissions.bindings:
        if all(match.matches(request, inputs.namespace_labels) for match in (binding.policy.match, binding.match)):
            yield from _of_binding(inputs, binding, request)


def _of_binding(inputs: AdmissionInputs, binding: Binding, request: AdmissionRequest) -> Iterator[Finding]:
    params = inputs.params(binding, request)
    if params.refused and binding.policy.strict:
        yield _refused(binding, request, params.refused)
    for body in params.bodies:
        yield from _of_policy(binding, request, _scope(inputs, binding, request, body))


def _scope(inputs: AdmissionInputs, binding: Binding, request: AdmissionRequest, params: Tree) -> PolicyScope:
    user = inputs.user(request) if binding.policy.reads_user else UNKNOWN_USER
    variables: dict[str, object] = {
        "object": None if request.object is None else inputs.fleet.declared(request.object).body,
        "oldObject": None if request.old is None else request.old.body,
        "derived": request.derived,
        "request": request.tree(user),
        "params": params,
        "namespaceObject": inputs.namespace(request),
        "files": sorted(request.files),
    }
    policy, witness = binding.policy, inputs.witness
    if witness is None or not witness.about(request.id):
        return PolicyScope(variables, policy.variables, inputs.share)
    return WitnessedScope(variables, policy.variables, inputs.share, WitnessNote(witness, request.id, policy.id))


def _of_policy(binding: Binding, request: AdmissionRequest, scope: PolicyScope) -> Iterator[Finding]:
    policy = binding.policy
    unsaid = _skipped(policy, scope)
    if unsaid is not None:
        if unsaid and policy.strict:
            yield _refused(binding, request, unsaid)
        return
    for rule in policy.validations:
        outcome = _outcome(rule.holds, scope, (*rule.at, "expression"))
        if isinstance(outcome, str):
            if policy.strict:
                yield _refused(binding, request, f"the expression {short(rule.expression)} failed: {outcome}")
        elif not outcome:
            yield _refused(binding, request, _message(rule, scope), _place(policy, rule, request, scope))
    yield from _audit_annotations(binding, request, scope)


def _place(policy: AdmissionPolicy, rule: Validation, request: AdmissionRequest, scope: PolicyScope) -> Path | At:
    """The path in the object that a rule refuses."""
    if request.object is None:
        return NAME

    def refuses(body: Tree) -> bool:
        unchanged = {name: scope[name] for name in _UNCHANGED}
        trial = PolicyScope({**unchanged, "object": body}, policy.variables, cel.EXPRESSION_LIMIT)
        return _outcome(rule.holds, trial, (*rule.at, "expression")) is False

    return place_in(request.object, fields_read(rule.holds, policy.variables), refuses)


def _skipped(policy: AdmissionPolicy, scope: PolicyScope) -> str | None:
    """Why the policy does not apply: empty if a match condition is false, else the one that failed; None if all hold. A
    false one has priority over a failed one, as upstream."""
    failed = None
    for guard in policy.guards:
        outcome = _outcome(guard.when, scope, guard.at)
        if isinstance(outcome, str):
            failed = failed or f"matchCondition {guard.name} failed: {outcome}"
        elif not outcome:
            return ""
    return failed


def _audit_annotations(binding: Binding, request: AdmissionRequest, scope: PolicyScope) -> Iterator[Finding]:
    """The policy's audit annotations. A failed one counts as a violation if `failurePolicy` says so."""
    policy, annotations = binding.policy, dict[str, str]()
    for note in policy.notes:
        try:
            value = scope.evaluate(note.value, note.at)
        except cel.EvaluationError as error:
            if policy.strict:
                yield _refused(binding, request, f"the audit annotation {note.key} failed: {error}")
            continue
        if isinstance(value, str) and value.strip():
            annotations[note.key] = value
    yield from audit_annotations(policy.id, request.id, request.object, binding.source, annotations)


def _outcome(program: cel.Program, scope: PolicyScope, at: At) -> bool | str:
    """Does the expression hold? A text if it failed."""
    try:
        value = scope.evaluate(program, at)
    except cel.EvaluationError as error:
        return str(error)
    return value if isinstance(value, bool) else f"it gave {value!r}, not true or false"


def _message(rule: Validation, scope: PolicyScope) -> str:
    """The message of a violation, as upstream: computed, literal, or the expression itself."""
    if rule.message.program is not None:
        try:
            text = scope.evaluate(rule.message.program, (*rule.at, "messageExpression"))
        except cel.EvaluationError:
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text
    return rule.message.literal or f"failed expression: {short(rule.expression)}"


def _refused(binding: Binding, request: AdmissionRequest, message: str, at: Path | At = NAME) -> Finding:
    return refused(binding.policy.id, binding.severity, request.id, request.object, binding.source, message, at)
