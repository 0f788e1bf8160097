"""Policies and bindings, compiled: what is wrong with a rule is found once, at its place in the file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from muster import cel
from muster.cel.types import BOOL, DYN, NULL, STRING, Field, ObjectType, Type
from muster.fleet.admission.matching import Match
from muster.fleet.environments import object_type
from muster.fleet.expressions import Compiler, Text
from muster.fleet.fleet import Fleet
from muster.fleet.messages import finding
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.kinds import BY_GROUP_KIND, VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING, Kind
from muster.model.names import did_you_mean
from muster.model.tree import Tree, dig, mapping_at, mappings_at

_GVK = ObjectType("kind", {name: Field(STRING, required=True) for name in ("group", "version", "kind")})
_GVR = ObjectType("resource", {name: Field(STRING, required=True) for name in ("group", "version", "resource")})
_REQUEST = ObjectType(
    "request",
    {
        "operation": Field(STRING, required=True),
        "name": Field(STRING, required=True),
        "namespace": Field(STRING, required=True),
        "kind": Field(_GVK, required=True),
        "resource": Field(_GVR, required=True),
        "dryRun": Field(BOOL, required=True),
    },
)


@dataclass(frozen=True, slots=True)
class Validation:
    """One rule: what must hold, and what is said where it does not."""

    holds: cel.Program
    message: Text
    expression: str
    at: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """A ValidatingAdmissionPolicy. `strict`: an expression that fails counts as a violation (`failurePolicy`)."""

    id: ObjectId
    source: Object
    match: Match
    guards: tuple[tuple[str, cel.Program], ...]
    variables: Mapping[str, cel.Program]
    validations: tuple[Validation, ...]
    strict: bool
    param_kind: Kind | None


@dataclass(frozen=True, slots=True)
class Binding:
    """A ValidatingAdmissionPolicyBinding: where its policy is in force, and what a violation does."""

    source: Object
    policy: AdmissionPolicy
    match: Match
    severity: Severity

    @property
    def param_ref(self) -> Mapping[str, Tree]:
        """Which object the policy reads as `params`."""
        return mapping_at(self.source.spec, "paramRef")


@dataclass(frozen=True, slots=True)
class Admissions:
    """The bindings in force, by name, and what is wrong with policies and bindings."""

    bindings: tuple[Binding, ...]
    findings: tuple[Finding, ...]


def compile_admissions(fleet: Fleet) -> Admissions:
    """Compile the fleet's policies and those of the bundle that it does not replace; only bound ones are in force."""
    findings: list[Finding] = []
    policies: dict[str, AdmissionPolicy] = {}
    sources = {obj.id.name: obj for obj in fleet.policies(VALIDATING_ADMISSION_POLICY)}
    for name, obj in sources.items():
        policy, found = _policy(obj)
        findings.extend(found)
        if policy is not None:
            policies[name] = policy
    bindings = []
    for obj in fleet.policies(VALIDATING_ADMISSION_POLICY_BINDING):
        name = obj.spec["policyName"]
        if name in policies:
            match = Match.parse(obj.spec.get("matchResources"))
            bindings.append(Binding(obj, policies[name], match, _severity(obj.spec["validationActions"])))
        elif name not in sources and not fleet.uncertain(VALIDATING_ADMISSION_POLICY):
            findings.append(_unknown(obj, name, sources))
    return Admissions(tuple(bindings), tuple(findings))


def _severity(actions: Iterable[str]) -> Severity:
    """The gravest of what is asked for."""
    severities = {"Deny": Severity.ERROR, "Warn": Severity.WARNING, "Audit": Severity.NOTE}
    return next(severity for action, severity in severities.items() if action in actions)


def _unknown(binding: Object, name: str, known: Iterable[str]) -> Finding:
    return finding(
        "MUS210",
        f"{binding.id} binds ValidatingAdmissionPolicy {name!r}, which does not exist",
        place_of(binding.parts, ("spec", "policyName")),
        hint=did_you_mean(name, known),
        object_=binding.id,
    )


def _policy(obj: Object) -> tuple[AdmissionPolicy | None, list[Finding]]:
    match = Match.parse(obj.spec["matchConstraints"])
    param_kind = _param_kind(obj)
    compiler = Compiler(obj, _environment(match.kinds(), param_kind))
    variables = _variables(obj, compiler)
    guards = tuple(
        (str(guard.get("name", index)), compiler.condition(("spec", "matchConditions", index, "expression")))
        for index, guard in enumerate(mappings_at(obj.spec, "matchConditions"))
    )
    validations = []
    for index, rule in enumerate(mappings_at(obj.spec, "validations")):
        at = ("spec", "validations", index)
        holds = compiler.condition((*at, "expression"))
        validations.append(Validation(holds, compiler.text(at, "message"), str(rule["expression"]), at))
    strict = obj.spec.get("failurePolicy") != "Ignore"
    policy = AdmissionPolicy(obj.id, obj, match, guards, variables, tuple(validations), strict, param_kind)
    return (None if compiler.failed else policy), compiler.findings


def _variables(obj: Object, compiler: Compiler) -> dict[str, cel.Program]:
    """Compile the policy's variables; each sees those above it, with their types, and the rules see all."""
    programs: dict[str, cel.Program] = {}
    types: dict[str, Field] = {}
    for index, variable in enumerate(mappings_at(obj.spec, "variables")):
        program = compiler.value(("spec", "variables", index, "expression"))
        programs[variable["name"]] = program
        types[variable["name"]] = Field((program.type if program else None) or DYN, required=True)
        own = ObjectType("variables", dict(types))
        known = {**compiler.environment.variables, "variables": own}
        compiler.environment = replace(compiler.environment, variables=known)
    return programs


def _environment(kinds: tuple[Kind, ...], param_kind: Kind | None) -> cel.Env:
    """What expressions see. Types are known where the policy speaks of one kind; a side that is not there is null."""
    object_: Type = object_type(kinds[0]) if len(kinds) == 1 else DYN
    return cel.Env(
        variables={
            "object": object_,
            # It may be null, which no type of an object allows for.
            "oldObject": DYN,
            "derived": object_,
            "request": _REQUEST,
            "params": DYN if param_kind is None else object_type(param_kind),
            "namespaceObject": NULL,
            "variables": ObjectType("variables", {}),
        }
    )


def _param_kind(obj: Object) -> Kind | None:
    named = mapping_at(obj.spec, "paramKind")
    group = str(named.get("apiVersion", "")).rpartition("/")[0]
    return BY_GROUP_KIND.get((group, str(dig(named, "kind"))))
