"""Validation: schemas, then policies. What is wrong breaks the object that it is wrong with, and nothing else."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from muster.check.admission import admit
from muster.check.awaited import awaited_findings
from muster.check.cluster_taints import decided_taints, repeated_taints
from muster.check.ingresses import lint_ingresses
from muster.check.overrides import override_findings
from muster.check.policy_params import policy_params_findings
from muster.check.remedies import lint_remedy
from muster.check.requests import request_findings
from muster.check.schema_findings import schema_findings
from muster.check.sets import set_findings
from muster.check.taint_policies import taint_policy_findings
from muster.fleet import messages
from muster.fleet.acceptance import with_automatic_acceptance
from muster.fleet.builtin import builtin_objects
from muster.fleet.faults import attempt, each, guarded, is_fault
from muster.fleet.fleet import Fleet
from muster.fleet.heard import has_reports, heard
from muster.fleet.merge import overlay
from muster.fleet.objects import Object
from muster.fleet.vocabulary import NAMES, seed_name, type_of
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.kinds import (
    ALL,
    CLUSTER_DEPLOYMENT,
    CLUSTER_TAINT_POLICY,
    CONDITION_POLICY,
    KARMADA_CLUSTER,
    PLACEMENT,
    PULSE_POLICY,
    REMEDY,
    TAINT_POLICY,
    is_cluster,
)
from muster.model.source import Layer
from muster.policy.admission.policies import compile_admissions
from muster.policy.environments import Bounds
from muster.policy.placements import CompiledPlacement, compile_placement
from muster.policy.policies import (
    Compiled,
    ConditionPolicy,
    Policy,
    PulsePolicy,
    TaintPolicy,
    compile_condition_policy,
    compile_pulse_policy,
    compile_taint_policy,
    in_reading_order,
)
from muster.policy.remedies import Remedy, compile_remedy
from muster.policy.ruled import Ruled

_P = TypeVar("_P")


def validate(fleet: Fleet, base: Fleet | None = None) -> Ruled:
    """Return the fleet with its policies compiled and every invalid object among the broken ones.

    `base` is the fleet that it is compared with, for rules that speak of changes; as assembled is enough.
    """
    findings = list(fleet.findings)
    fleet, found = _with_sound_reports(fleet)
    findings.extend(found)
    broken = set(fleet.broken)
    sound = (fleet.objects[id_] for id_ in sorted(fleet.objects) if id_ not in broken)
    violations = list(each(sound, lambda obj: schema_findings(_as_declared(fleet, obj))))
    findings.extend(violations)
    broken.update(errors_of(violations))
    checked = replace(fleet, broken=frozenset(broken))
    compiled = compile_policies(checked)
    own = [*compiled.findings, *_own_findings(checked, compiled)]
    findings.extend(own)
    broken.update(errors_of(own))
    admissions = compile_admissions(checked)
    admission = admit(replace(checked, broken=frozenset(broken)), admissions, base)
    # Of what policies speak, nobody says that it is ignored.
    findings = [one for one in findings if one.code != "MUS102" or one.place not in admission.judged]
    findings.extend((*admissions.findings, *admission.unheard, *admission.refused))
    broken.update(errors_of((*admissions.findings, *admission.refused)) & fleet.objects.keys())
    checked = replace(checked, objects=admission.objects)
    placements, found = compile_placements(checked)
    findings.extend(found)
    broken.update(one.object for one in found if one.object and is_fault(one))
    compiled = replace(compiled, placements=placements)
    return Ruled.by(compiled, replace(checked, broken=frozenset(broken), findings=tuple(findings)))


def _with_sound_reports(fleet: Fleet) -> tuple[Fleet, list[Finding]]:
    """Leave out the reports that no schema allows; also return what is wrong with them."""

    def wrong(obj: Object) -> list[Finding]:
        found = schema_findings(_as_declared(fleet, obj))
        # What is missing in a broken object may be in the file that cannot be read.
        return [one for one in found if one.code != "MUS204"] if obj.id in fleet.broken else found

    objects, findings = dict(fleet.objects), list[Finding]()
    for id_, obj in sorted(fleet.objects.items()):
        if not has_reports(obj):
            continue
        outcome = attempt(obj, lambda obj=obj: heard(obj, wrong) if wrong(obj) else (obj, []))  # type: ignore[misc]
        if isinstance(outcome, Finding):
            continue  # where muster fails on it, that is found below
        left, found = outcome
        if found:
            findings.extend(found)
            objects.pop(id_)
            if left is not None:
                objects[id_] = left
    if not findings:
        return fleet, findings
    return replace(fleet, objects=with_automatic_acceptance(objects, fleet.previous, fleet.settings)), findings


def _own_findings(fleet: Fleet, compiled: Compiled) -> Iterator[Finding]:
    """What is wrong with sound objects beside each other."""
    yield from each(fleet.of(KARMADA_CLUSTER), repeated_taints)
    yield from each(fleet.of(CLUSTER_TAINT_POLICY), lambda obj: taint_policy_findings(obj, fleet.settings))
    lints: tuple[Callable[[], Iterable[Finding]], ...] = (
        lambda: set_findings(fleet),
        lambda: request_findings(fleet),
        lambda: override_findings(fleet),
        lambda: policy_params_findings(fleet),
        lambda: awaited_findings(fleet),
        lambda: decided_taints(fleet),
        lambda: lint_ingresses(fleet, compiled.remedies),
    )
    for lint in lints:
        yield from guarded("checking the fleet", lint, "one check is left out")


def _as_declared(fleet: Fleet, obj: Object) -> Object:
    """The object that a schema speaks of: where muster declares it, reports are only a part of it."""
    if obj.kind is not CLUSTER_DEPLOYMENT or (derived := fleet.previous.get(obj.id)) is None:
        return obj
    manifest = {name: part for name, part in derived.items() if name != "status"}
    return replace(obj, body=overlay(obj.body, manifest, obj.kind.list_keys))


def errors_of(findings: Iterable[Finding]) -> set[ObjectId]:
    """The objects that an error speaks of."""
    return {found.object for found in findings if found.object and found.severity is Severity.ERROR}


def compile_policies(fleet: Fleet) -> Compiled:
    """Compile the policies of the fleet and, where it does not replace them, of the bundle.

    A policy that a fleet breaks does not bring its built-in namesake back: what it decided is kept.
    """
    findings: list[Finding] = []
    conditions: list[ConditionPolicy] = []
    of_all = Bounds(fleet.settings.expression_cost)
    of_own = replace(of_all, known=known_conditions(fleet))

    def bounds(obj: Object) -> Bounds:
        """Only a fleet's own policies are doubted: the bundle's read what a fleet may not have."""
        return of_all if obj.id in fleet.builtin else of_own

    for obj in fleet.policies(CONDITION_POLICY):
        policy, found = _compiled(obj, partial(compile_condition_policy, obj, bounds(obj)))
        findings.extend(found)
        if policy is not None:
            conditions.append(policy)
    taints: list[TaintPolicy] = []
    for obj in fleet.policies(TAINT_POLICY):
        taint_policy, found = _compiled(obj, partial(compile_taint_policy, obj, bounds(obj)))
        findings.extend(found)
        if taint_policy is not None:
            taints.append(taint_policy)
    remedies = _compile_remedies(fleet, findings)
    pulses: list[PulsePolicy] = []
    for obj in fleet.policies(PULSE_POLICY):
        pulse_policy, found = _compiled(obj, partial(compile_pulse_policy, obj, bounds(obj)))
        findings.extend(found)
        if pulse_policy is not None:
            pulses.append(pulse_policy)
    conditions, rivals = _without_rivals(conditions)
    ordered, circle = in_reading_order(conditions)
    findings.extend(rivals)
    findings.extend(messages.policy_circle(policy.source, circle) for policy in circle)
    return Compiled(tuple(ordered), tuple(taints), tuple(findings), remedies, pulses=tuple(pulses))


def _compiled(
    obj: Object, compile_: Callable[[], tuple[_P | None, Iterable[Finding]]]
) -> tuple[_P | None, list[Finding]]:
    """What compiling an object gives; a fault of ours in it is a finding, and it counts as not compiled."""
    done = attempt(obj, compile_)
    return (None, [done]) if isinstance(done, Finding) else (done[0], list(done[1]))


def known_conditions(fleet: Fleet) -> frozenset[str]:
    """The condition types that some policy decides, registration decides, or anything in the fleet reports."""
    always = {type_ for kind in ALL for type_ in (kind.headline, *kind.conditions)}
    decided = {type_of(obj) for obj in fleet.policies(CONDITION_POLICY)}
    reported = {type_ for id_ in fleet.objects for type_ in fleet.reported(id_)}
    derived = {type_ for id_ in fleet.previous for type_ in fleet.conditions_before(id_)}
    return frozenset((decided | reported | derived | always) - {""})


def _compile_remedies(fleet: Fleet, findings: list[Finding]) -> tuple[Remedy, ...]:
    known = {id_.name for id_ in fleet.objects if is_cluster(id_)}
    remedies = []
    for obj in fleet.of(REMEDY):
        remedy, found = _compiled(obj, partial(compile_remedy, obj))
        findings.extend((*found, *each([obj], partial(lint_remedy, clusters=known))))
        if remedy is not None:
            remedies.append(remedy)
    return tuple(remedies)


def compile_placements(fleet: Fleet) -> tuple[dict[ObjectId, CompiledPlacement], list[Finding]]:
    """Compile the Placements. One with a mistake is not broken: it is misconfigured, and says so in its condition."""
    placements: dict[ObjectId, CompiledPlacement] = {}
    findings: list[Finding] = []
    for obj in fleet.of(PLACEMENT):
        placement, found = _compiled(obj, partial(compile_placement, obj))
        findings.extend(found)
        if placement is not None:
            placements[obj.id] = placement
    return placements, findings


#: Conditions on which people and pulses rely: no accident changes what they mean, only a policy that replaces the
#: built-in one by name (seed 004: "keep `Available` and `Ready` with our current logic").
_RESERVED = NAMES


def _without_rivals(policies: list[ConditionPolicy]) -> tuple[list[ConditionPolicy], list[Finding]]:
    """Two policies may share a condition only where their targets cannot meet; the later by name loses.

    A built-in one never loses. Built-in ones may meet among themselves: `matchConditions` keep them apart, and where
    several speak of one object, the first by name decides (`muster.decide.conditions`).
    """
    kept = [policy for policy in policies if _is_builtin(policy)]
    findings = [found for policy in kept for found in _replacement(policy)]
    for policy in sorted((p for p in policies if not _is_builtin(p)), key=lambda candidate: candidate.id):
        rivals = [other for other in kept if other.type == policy.type and _share_kinds(other, policy)]
        reserved = next((other for other in rivals if other.type in _RESERVED and _is_builtin(other)), None)
        rival = next((other for other in rivals if _meet(other, policy)), None)
        if reserved is not None:
            findings.append(messages.reserved_condition(policy.source, reserved.source, policy.type))
        elif rival is not None:
            findings.append(messages.rival_policies(policy.source, rival.source, policy.type))
        else:
            kept.append(policy)
    return kept, findings


def _is_builtin(policy: ConditionPolicy) -> bool:
    """Whether it is a built-in policy, or stands in for one: it has its name and decides the same condition."""
    if policy.source.parts[0].layer is Layer.BUILTIN:
        return True
    namesake = builtin_objects().get(policy.id)
    return namesake is not None and seed_name(type_of(namesake)) == seed_name(policy.type)


def _replacement(policy: ConditionPolicy) -> Iterator[Finding]:
    """A fleet that replaces a policy on which pulses rest is told so."""
    if policy.type in _RESERVED and policy.source.parts[0].layer is not Layer.BUILTIN:
        yield messages.replaces_builtin(policy.source)


def _meet(one: Policy, other: Policy) -> bool:
    """Whether two policies may speak of one object, as far as kinds and namespaces tell.

    Label selectors are not compared: two of them may well be disjoint, and the pipeline lets the first win.
    """
    if not _share_kinds(one, other):
        return False
    spaces, others = one.target.namespaces, other.target.namespaces
    selective = bool(one.target.selector.requirements or other.target.selector.requirements)
    return (not spaces or not others or bool(spaces & others)) and not selective


def _share_kinds(one: Policy, other: Policy) -> bool:
    return bool(set(one.target.kinds) & set(other.target.kinds))
