"""What the policies in force say of a revision: a finding per violation, at the object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from muster import cel
from muster.fleet.admission.policies import Admissions, Binding, Validation
from muster.fleet.admission.request import Request, requests
from muster.fleet.faults import each
from muster.fleet.fleet import Fleet
from muster.fleet.heard import has_reports, heard
from muster.fleet.lazy import PolicyScope, cost_share
from muster.fleet.messages import finding
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.fleet.selectors import LabelSelector
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.kinds import MANAGED_CLUSTER
from muster.model.tree import Tree

_PARAM_NOT_FOUND = "no object matches spec.paramRef of {}, so nobody can say what is allowed"


@dataclass(frozen=True, slots=True)
class Admission:
    """What policies make of a revision: its objects without the reports that are refused, what is wrong with those, and
    what else is refused."""

    objects: Mapping[ObjectId, Object]
    unheard: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()


def admit(fleet: Fleet, admissions: Admissions, base: Fleet | None) -> Admission:
    """Ask the policies about every object. Without a base every one is new, and none is gone.

    An object that would be allowed but for what was reported of it is allowed without that: no agent keeps people's
    changes of its cluster from taking effect.
    """
    if not admissions.bindings:
        return Admission(fleet.objects)
    objects, unheard = dict(fleet.objects), list[Finding]()

    def judged(request: Request) -> Iterator[Finding]:
        found = list(_of_request(fleet, admissions, request))
        obj = request.object
        if obj is not None and has_reports(obj) and any(one.severity is Severity.ERROR for one in found):
            left, dropped = heard(obj, _Judge(fleet, admissions, request))
            if dropped:
                unheard.extend(dropped)
                del objects[obj.id]
                if left is None:
                    return
                if obj.kind is MANAGED_CLUSTER:  # as it was accepted, also automatically
                    left = replace(left, body={**left.body, "spec": obj.spec})
                objects[obj.id] = left
                found = list(_of_request(fleet, admissions, replace(request, object=left)))
        yield from found

    refused = tuple(each(requests(fleet, base), judged))
    return Admission(objects, tuple(unheard), refused)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Asks the policies about another form of the object that a request is about."""

    fleet: Fleet
    admissions: Admissions
    request: Request

    def __call__(self, obj: Object) -> list[Finding]:
        """Return what is refused of it."""
        found = _of_request(self.fleet, self.admissions, replace(self.request, object=obj))
        return [one for one in found if one.severity is Severity.ERROR]


def _of_request(fleet: Fleet, admissions: Admissions, request: Request) -> Iterator[Finding]:
    for binding in admissions.bindings:
        if binding.policy.match.matches(request) and binding.match.matches(request):
            yield from _judged(fleet, binding, request)


def _judged(fleet: Fleet, binding: Binding, request: Request) -> Iterator[Finding]:
    found, missing = _params(fleet, binding, request)
    if missing:
        yield _refused(binding, request, _PARAM_NOT_FOUND.format(binding.source.id))
    for params in found:
        yield from _of_policy(binding, request, _scope(fleet, binding, request, params))


def _scope(fleet: Fleet, binding: Binding, request: Request, params: Tree) -> PolicyScope:
    variables: dict[str, object] = {
        "object": None if request.object is None else request.object.body,
        "oldObject": None if request.old is None else request.old.body,
        "derived": request.derived,
        "request": request.tree(),
        "params": params,
        "namespaceObject": None,
    }
    settings = fleet.settings
    share = cost_share(settings.policy_cost, settings.expression_cost, len(fleet.objects))
    return PolicyScope(variables, binding.policy.variables, share)


def _of_policy(binding: Binding, request: Request, scope: PolicyScope) -> Iterator[Finding]:
    policy = binding.policy
    for name, guard in policy.guards:
        outcome = _outcome(guard, scope)
        if isinstance(outcome, str):
            if policy.strict:
                yield _refused(binding, request, f"matchCondition {name} failed: {outcome}")
            return
        if not outcome:
            return
    for rule in policy.validations:
        outcome = _outcome(rule.holds, scope)
        if isinstance(outcome, str):
            if policy.strict:
                yield _refused(binding, request, f"the expression {_short(rule.expression)} failed: {outcome}")
        elif not outcome:
            yield _refused(binding, request, _message(rule, scope))


def _outcome(program: cel.Program, scope: PolicyScope) -> bool | str:
    """Whether an expression holds, or why that cannot be said."""
    result = program.run(scope, budget=scope.budget)
    if result.error is not None:
        return str(result.error)
    return result.value if isinstance(result.value, bool) else f"it gave {result.value!r}, not true or false"


def _message(rule: Validation, scope: PolicyScope) -> str:
    """What is said of a violation, as upstream chooses it: computed, written, or the expression itself."""
    if rule.message.program is not None:
        said = rule.message.program.run(scope, budget=scope.budget)
        text = said.value if said.error is None and isinstance(said.value, str) else ""
        if text.strip() and "\n" not in text:
            return text
    return rule.message.literal or f"failed expression: {_short(rule.expression)}"


def _short(expression: str) -> str:
    text = " ".join(expression.split())
    return text if len(text) <= 200 else f"{text[:199]}…"


def _params(fleet: Fleet, binding: Binding, request: Request) -> tuple[list[Tree], bool]:
    """The objects that the policy reads as `params`, one after the other; whether it is refused for want of any."""
    kind, ref = binding.policy.param_kind, binding.param_ref
    if kind is None or not ref:
        return [None], False
    namespace = str(ref.get("namespace") or request.id.namespace) if kind.namespaced else ""
    if "name" in ref:
        ids = [kind.id(str(ref["name"]), namespace)]
        found = [fleet.objects[id_].body for id_ in ids if _usable(fleet, id_)]
    else:
        selector = LabelSelector.parse(ref.get("selector"))
        found = [
            obj.body for obj in fleet.of(kind) if obj.id.namespace == namespace and selector.matches(obj.labels)
        ]  # fmt: skip
    return found, not found and ref.get("parameterNotFoundAction") != "Allow"


def _usable(fleet: Fleet, id_: ObjectId) -> bool:
    return id_ in fleet.objects and id_ not in fleet.broken


def _refused(binding: Binding, request: Request, message: str) -> Finding:
    obj = request.object
    place = place_of(obj.parts, ("metadata", "name")) if obj else place_of(binding.source.parts, ("metadata", "name"))
    gone = "" if obj else f"{request.id} cannot be removed: "
    return finding(
        "MUS320",
        f"{gone}{' '.join(message.split())}",
        place,
        hint=f"{binding.policy.id} says so",
        object_=request.id,
        severity=binding.severity,
    )
