"""What the policies in force say of a revision: a finding per violation, at the object."""

from collections.abc import Iterator, Mapping

from muster import cel
from muster.fleet.admission.policies import Admissions, Binding, Validation
from muster.fleet.admission.request import Request, requests
from muster.fleet.faults import each
from muster.fleet.fleet import Fleet
from muster.fleet.lazy import LazyVariables
from muster.fleet.messages import finding
from muster.fleet.places import place_of
from muster.fleet.selectors import LabelSelector
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.tree import Tree

_PARAM_NOT_FOUND = "no object matches spec.paramRef of {}, so nobody can say what is allowed"


def admission_findings(fleet: Fleet, admissions: Admissions, base: Fleet | None) -> Iterator[Finding]:
    """Yield what is refused, by object. Without a base every object is new, and none is gone."""
    if not admissions.bindings:
        return

    def judged(request: Request) -> Iterator[Finding]:
        for binding in admissions.bindings:
            if binding.policy.match.matches(request) and binding.match.matches(request):
                yield from _judged(fleet, binding, request)

    yield from each(requests(fleet, base), judged)


def _judged(fleet: Fleet, binding: Binding, request: Request) -> Iterator[Finding]:
    found, missing = _params(fleet, binding, request)
    if missing:
        yield _refused(binding, request, _PARAM_NOT_FOUND.format(binding.source.id))
    for params in found:
        yield from _of_policy(binding, request, _scope(binding, request, params))


def _scope(binding: Binding, request: Request, params: Tree) -> dict[str, object]:
    scope: dict[str, object] = {
        "object": None if request.object is None else request.object.body,
        "oldObject": None if request.old is None else request.old.body,
        "derived": request.derived,
        "request": request.tree(),
        "params": params,
        "namespaceObject": None,
    }
    scope["variables"] = LazyVariables(binding.policy.variables, scope)
    return scope


def _of_policy(binding: Binding, request: Request, scope: Mapping[str, object]) -> Iterator[Finding]:
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


def _outcome(program: cel.Program, scope: Mapping[str, object]) -> bool | str:
    """Whether an expression holds, or why that cannot be said."""
    result = program.run(scope)
    if result.error is not None:
        return str(result.error)
    return result.value if isinstance(result.value, bool) else f"it gave {result.value!r}, not true or false"


def _message(rule: Validation, scope: Mapping[str, object]) -> str:
    """What is said of a violation, as upstream chooses it: computed, written, or the expression itself."""
    if rule.message.program is not None:
        said = rule.message.program.run(scope)
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
