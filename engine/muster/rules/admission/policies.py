"""Compiles policies and bindings; mistakes in a rule are reported once, at its place in the file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from muster import cel
from muster.cel.types import BOOL, DYN, STRING, FieldType, ListType, MapType, ObjectType, Type, required
from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND, VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING, Kind
from muster.data.names import did_you_mean, nearest
from muster.data.tree import At, Tree, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.regex import Regex
from muster.rules.admission.matching import Match
from muster.rules.admission.resources import REGISTERED, Resources
from muster.rules.policies.expressions import Compiler, TextExpression
from muster.rules.policies.policies import Guard, guards_of, remembered
from muster.rules.policies.types import object_type


def no_authorizer(policy: Object, first: Finding) -> Finding:
    """A policy uses an authorizer; the first place."""
    return replace(
        first,
        code=Code.ADMISSION_ASKS_AUTHORIZER,
        message=f"{policy.id} uses an authorizer, and a repository has none: the git host controls access",
        hint="remove it, and use code owners and protected branches instead; the policy is not in force",
    )


def matches_nothing(policy: Object, match: Match, named: Iterable[str], plurals: Iterable[str]) -> Finding:
    """A policy in force matches no object of the repository and no known kind."""
    if not any(rule.matchable for rule in match.rules):
        problem = "matches only subresources or CONNECT, which files never request"
        hint = "name the resource itself, or take the policy out of the repository"
    else:
        names = sorted(named)
        problem = f"matches nothing: no object and no known kind is one of {', '.join(names)}"
        candidates = tuple(plurals)
        near = (name for name in names if nearest(name, candidates))
        hint = next((did_you_mean(name, candidates) for name in near), "") or "look at apiGroups, resources and scope"
    return finding_at(
        policy,
        ("spec", "matchConstraints", "resourceRules"),
        Code.ADMISSION_MATCHES_NOTHING,
        f"{policy.id} {problem}",
        hint,
    )


_GVK = ObjectType("kind", required(group=STRING, version=STRING, kind=STRING))
_GVR = ObjectType("resource", required(group=STRING, version=STRING, resource=STRING))
_STRINGS = ListType(STRING)
_USER = ObjectType("userInfo", required(username=STRING, uid=STRING, groups=_STRINGS, extra=MapType(STRING, _STRINGS)))
REQUEST = ObjectType(
    "request",
    {
        **required(operation=STRING, name=STRING),
        "namespace": FieldType(STRING),
        **required(kind=_GVK, requestKind=_GVK, resource=_GVR, requestResource=_GVR),
        "subResource": FieldType(STRING),
        "requestSubResource": FieldType(STRING),
        **required(dryRun=BOOL, userInfo=_USER),
        "options": FieldType(DYN),
    },
)

#: Messages of the compiler about the missing variable, and about upstream's functions of it.
_AUTHORIZER = Regex(r"\bauthorizer\b")
_OF_AUTHORIZER = Regex(
    r"\bfunction '(allowed|check|errored|error|fieldSelector|group|labelSelector|name|namespace|path|reason|resource|"
    r"serviceAccount|subresource)'"
)


@dataclass(frozen=True, slots=True)
class Validation:
    """One rule: what must hold, and the message if it does not."""

    holds: cel.Program
    message: TextExpression
    expression: str
    at: At


@dataclass(frozen=True, slots=True)
class AuditAnnotation:
    """An `auditAnnotations` entry."""

    key: str
    value: cel.Program
    at: At


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """A ValidatingAdmissionPolicy. `strict`: a failed expression counts as a violation (`failurePolicy`).

    `param_kind`: group and kind of its `params`; `reads_user`: it reads `request.userInfo`; `reads_namespace`: it reads
    `namespaceObject`.
    """

    id: ObjectId
    source: Object
    match: Match
    guards: tuple[Guard, ...]
    variables: Mapping[str, cel.Program]
    validations: tuple[Validation, ...]
    notes: tuple[AuditAnnotation, ...]
    strict: bool
    param_kind: tuple[str, str] | None
    reads_user: bool
    reads_namespace: bool


@dataclass(frozen=True, slots=True)
class Binding:
    """A ValidatingAdmissionPolicyBinding: where its policy is in force, and the effect of a violation."""

    source: Object
    policy: AdmissionPolicy
    match: Match
    severity: Severity

    @property
    def param_ref(self) -> Mapping[str, Tree]:
        """The reference to the object that the policy reads as `params`."""
        return mapping_at(self.source.spec, "paramRef")


@dataclass(frozen=True, slots=True)
class Admissions:
    """The bindings in force, by name, and findings about policies and bindings."""

    bindings: tuple[Binding, ...]
    findings: tuple[Finding, ...]


_compiled_policies: dict[tuple[object, ...], tuple[AdmissionPolicy | None, list[Finding]]] = {}


def compile_admissions(fleet: Fleet) -> Admissions:
    """Compile the fleet's policies, and the built-in ones that it does not replace; only bound ones are in force."""
    findings: list[Finding] = []
    policies: dict[str, AdmissionPolicy] = {}
    sources = {obj.id.name: obj for obj in fleet.policies(VALIDATING_ADMISSION_POLICY)}
    for name, obj in sources.items():
        policy, policy_findings = remembered(_compiled_policies, obj, (), partial(_policy, obj))
        policy_findings = _merge_authorizer_findings(obj, policy_findings)
        findings.extend(policy_findings)
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
    findings.extend(_unmatched_policies(fleet, bindings))
    return Admissions(tuple(bindings), tuple(findings))


def _severity(actions: Iterable[str]) -> Severity:
    severities = {"Deny": Severity.ERROR, "Warn": Severity.WARNING, "Audit": Severity.NOTE}
    return next(severity for action, severity in severities.items() if action in actions)


def _unknown(binding: Object, name: str, policies: Iterable[str]) -> Finding:
    message = f"{binding.id} binds ValidatingAdmissionPolicy {name!r}, which does not exist"
    return finding_at(binding, ("spec", "policyName"), Code.UNKNOWN_REFERENCE, message, did_you_mean(name, policies))


def _policy(obj: Object) -> tuple[AdmissionPolicy | None, list[Finding]]:
    match = Match.parse(obj.spec["matchConstraints"])
    params = param_kind(obj)
    compiler = Compiler(obj, _environment(match.kind(), params))
    variables = _variables(obj, compiler)
    guards = tuple(guards_of(obj, compiler))
    validations = []
    for index, rule in enumerate(mappings_at(obj.spec, "validations")):
        at = ("spec", "validations", index)
        holds = compiler.condition((*at, "expression"))
        validations.append(Validation(holds, compiler.text(at, "message"), str(rule["expression"]), at))
    notes = []
    for index, note in enumerate(mappings_at(obj.spec, "auditAnnotations")):
        path = ("spec", "auditAnnotations", index, "valueExpression")
        notes.append(AuditAnnotation(str(note["key"]), compiler.value(path), path))
    text = str(obj.spec)
    policy = AdmissionPolicy(
        obj.id,
        obj,
        match,
        guards,
        variables,
        tuple(validations),
        tuple(notes),
        obj.spec.get("failurePolicy") != "Ignore",
        params,
        reads_user="userInfo" in text,
        reads_namespace="namespaceObject" in text,
    )
    return (None if compiler.failed else policy), compiler.findings


def _variables(obj: Object, compiler: Compiler) -> dict[str, cel.Program]:
    """Compile the policy's variables; each sees those above it with their types, rules see all."""
    programs: dict[str, cel.Program] = {}
    types: dict[str, FieldType] = {}
    for index, variable in enumerate(mappings_at(obj.spec, "variables")):
        program = compiler.value(("spec", "variables", index, "expression"))
        programs[variable["name"]] = program
        types[variable["name"]] = FieldType(program.type or DYN, required=True)
        variables_type = ObjectType("variables", dict(types))
        declared = {**compiler.environment.variables, "variables": variables_type}
        compiler.environment = replace(compiler.environment, variables=declared)
    return programs


def _environment(kind: Kind | None, param_kind: tuple[str, str] | None) -> cel.Env:
    """The variables of expressions. Types are known if the policy matches one kind; a missing side is null."""
    object_: Type = DYN if kind is None else object_type(kind)
    registered = None if param_kind is None else BY_GROUP_KIND.get(param_kind)
    return cel.Env(
        variables={
            "object": object_,
            # It may be null, which no object type allows.
            "oldObject": DYN,
            "derived": object_,
            "request": REQUEST,
            "params": DYN if registered is None else object_type(registered),
            "namespaceObject": DYN,
            "files": _STRINGS,
            "variables": ObjectType("variables", {}),
        }
    )


def param_kind(obj: Object) -> tuple[str, str] | None:
    """Return group and kind of a policy's parameters; None if it has none."""
    named = mapping_at(obj.spec, "paramKind")
    return (str(named["apiVersion"]).rpartition("/")[0], str(named["kind"])) if named else None


def _merge_authorizer_findings(obj: Object, findings: list[Finding]) -> list[Finding]:
    """Findings about a policy; all that concern an authorizer are merged into one."""
    of_authorizer = [
        finding for finding in findings if finding.code == Code.CEL_TYPE and _AUTHORIZER.search(finding.message)
    ]
    if not of_authorizer:
        return findings
    rest = (
        finding for finding in findings if finding not in of_authorizer and not _OF_AUTHORIZER.search(finding.message)
    )
    return [no_authorizer(obj, of_authorizer[0]), *rest]


def _unmatched_policies(fleet: Fleet, bindings: Iterable[Binding]) -> Iterator[Finding]:
    """Yield findings about policies in force that match no object and no known kind."""
    resources = Resources(fleet.read.foreign)
    policies = {binding.policy.id: binding.policy for binding in bindings}
    for policy in policies.values():
        match = policy.match
        if (
            policy.id in fleet.read.builtin
            or match.can_match_any(REGISTERED)
            or match.can_match_any(resources.present())
        ):
            continue
        groups = {group for rule in match.rules for group in rule.groups}
        if not match.can_match_any(resources.possible(groups)):
            named = {name for rule in match.rules for name in rule.resources}
            plurals = {
                plural
                for resource in (*REGISTERED, *resources.present(), *resources.possible(groups))
                for plural in resource.plurals
            }
            yield matches_nothing(fleet.objects[policy.id], match, named, plurals)  # a kept policy's file may be gone
