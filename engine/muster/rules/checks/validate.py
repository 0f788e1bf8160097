"""Validation: schemas, then policies. An error breaks its own object and nothing else.

Checks of policies, Remedies and Placements are imported only if there are any: the pre-commit hook reads a file or two,
and these imports would take most of its time.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_TAINT_POLICY,
    FLEET,
    KARMADA_CLUSTER,
    MANIFEST_WORK_REPLICA_SET,
    MULTI_CLUSTER_INGRESS,
    PLACEMENT,
    REMEDY,
    is_cluster,
)
from muster.fleet.acceptance import with_automatic_acceptance
from muster.fleet.faults import attempt, each, guarded, is_fault
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.reading import HeldByReports
from muster.fleet.report_parts import has_reports, without_invalid_reports
from muster.fleet.schema_findings import schema_findings
from muster.rules.admission.judge import admit
from muster.rules.admission.policies import compile_admissions
from muster.rules.admission.reads import policy_reads
from muster.rules.checks.lints import (
    branch_findings,
    lease_findings,
    override_findings,
    policy_params_findings,
    request_findings,
    selector_findings,
    set_findings,
)
from muster.rules.checks.names import name_findings
from muster.rules.checks.waivers import waiver_findings
from muster.rules.policies.in_force import NOTHING, Compiled, FleetWithPolicies
from muster.rules.policies.lazy import Witness
from muster.rules.taints.lint import decided_taints, repeated_taints, taint_policy_findings

_Lint: TypeAlias = Callable[[Fleet], Iterable[Finding]]


def _freeze_findings(fleet: Fleet) -> Iterator[Finding]:
    if any("freezes" in obj.spec for obj in fleet.of(FLEET)):
        from muster.rules.effects.freeze import freeze_findings  # which needs calendars, and few fleets have freezes

        yield from freeze_findings(fleet)


#: A fault in one leaves out no other.
_LINTS: tuple[_Lint, ...] = (
    set_findings,
    selector_findings,
    lease_findings,
    request_findings,
    override_findings,
    policy_params_findings,
    branch_findings,
    _freeze_findings,
    decided_taints,
    waiver_findings,
    name_findings,
)


def every_policy(fleet: Fleet) -> Compiled:
    """Compile the fleet's policies, and the built-in ones that it does not replace."""
    from muster.rules.compiling import compile_policies

    return compile_policies(fleet)


def remedies_only(fleet: Fleet) -> Compiled:
    """Compile the Remedies alone: enough for checks if no policy has changed."""
    if not fleet.of(REMEDY):
        return NOTHING
    from muster.rules.remedies.policy import compile_remedies

    return compile_remedies(fleet)


def validate(
    fleet: Fleet,
    base: Fleet | None = None,
    policies: Callable[[Fleet], Compiled] = every_policy,
    witness: Witness | None = None,
) -> FleetWithPolicies:
    """Return the fleet with its policies compiled and every invalid object among the broken ones.

    `base`: the fleet to compare with, for rules about changes; it need not be validated. `policies` compiles all
    policies or those needed. `witness` records the evaluation of admission policies.
    """
    findings = list(fleet.findings)
    fleet, new_findings, sound = _with_sound_reports(fleet)
    findings.extend(new_findings)
    held = _held_by_invalid(new_findings)
    broken = {*fleet.broken, *held.broken}
    unchecked = (fleet.objects[id_] for id_ in sorted(fleet.objects.keys() - sound) if id_ not in broken)
    violations = list(each(unchecked, lambda obj: schema_findings(fleet.declared(obj))))
    findings.extend(violations)
    broken.update(errors_of(violations))
    checked = replace(fleet, broken=frozenset(broken))
    compiled = policies(checked)
    policy_findings = [*compiled.findings, *_own_findings(checked, compiled)]
    findings.extend(policy_findings)
    broken.update(errors_of(policy_findings))
    admissions = compile_admissions(checked)
    judged = replace(checked, broken=frozenset(broken))
    admission = admit(judged, admissions, base, witness)
    compiled = replace(compiled, reads=policy_reads(judged, admissions.bindings))
    # An object that a policy matches is not reported as ignored.
    findings = [
        finding for finding in findings if finding.code != Code.UNKNOWN_KIND or finding.place not in admission.evaluated
    ]
    findings.extend((*admissions.findings, *admission.invalid_reports, *admission.refused))
    broken.update(errors_of((*admissions.findings, *admission.refused)) & fleet.objects.keys())
    refused = _held_by_invalid(admission.invalid_reports)
    broken.update(refused.broken)
    unread = fleet.refs.unread | held.clusters | refused.clusters
    checked = replace(checked, objects=admission.objects, refs=replace(fleet.refs, unread=unread))
    if broken:
        from muster.rules.admission.unjudged import unjudged  # only broken policies leave objects unjudged

        new = list(unjudged(replace(checked, broken=frozenset(broken)), broken))
        findings.extend(new)
        broken.update(errors_of(new))
    compiled, new_findings = _with_placements(checked, compiled)
    if checked.of(MANIFEST_WORK_REPLICA_SET):
        from muster.rules.works.checks import strategy_findings

        new_findings = [
            *new_findings,
            *guarded("checking strategies", partial(strategy_findings, checked), "one check is left out"),
        ]
    findings.extend(new_findings)
    broken.update(finding.object for finding in new_findings if finding.object and is_fault(finding))
    return FleetWithPolicies.by(compiled, replace(checked, broken=frozenset(broken), findings=tuple(findings)))


def _held_by_invalid(invalid: Collection[Finding]) -> HeldByReports:
    if not invalid:
        return HeldByReports()
    from muster.fleet.unread_reports import held_by_findings  # of broken reports alone

    return held_by_findings(invalid)


def _with_sound_reports(fleet: Fleet) -> tuple[Fleet, list[Finding], set[ObjectId]]:
    """Leave out invalid reports; also return findings about them, and the objects known to be valid."""

    def wrong(obj: Object) -> list[Finding]:
        violations = schema_findings(fleet.declared(obj))
        # A missing field of a broken object may be in the unreadable file.
        return (
            [violation for violation in violations if violation.code != Code.MISSING_FIELD]
            if obj.id in fleet.broken
            else violations
        )

    objects, findings, sound = dict(fleet.objects), list[Finding](), set[ObjectId]()
    for id_, obj in sorted(fleet.objects.items()):
        if not has_reports(obj):
            continue
        outcome = attempt(obj, lambda obj=obj: without_invalid_reports(obj, wrong) if wrong(obj) else None)  # type: ignore[misc]
        if isinstance(outcome, Finding):
            continue  # the fault is reported below
        if outcome is None:
            sound.add(id_)
            continue
        reduced, report_findings = outcome
        if report_findings:
            findings.extend(report_findings)
            objects.pop(id_)
            if reduced is not None:
                objects[id_] = reduced
    if not findings:
        return fleet, findings, sound
    accepted = with_automatic_acceptance(objects, fleet.previous, fleet.settings)
    sound = {id_ for id_ in sound if accepted[id_] is fleet.objects[id_]}
    return replace(fleet, objects=accepted), findings, sound


def _with_placements(fleet: Fleet, compiled: Compiled) -> tuple[Compiled, list[Finding]]:
    if not fleet.of(PLACEMENT):
        return compiled, []
    from muster.rules.compiling import compile_placements
    from muster.rules.placements.policy import CompiledPlacement

    placements, placement_findings = compile_placements(fleet)
    return replace(compiled, policies={**compiled.policies, CompiledPlacement: placements}), placement_findings


def _own_findings(fleet: Fleet, compiled: Compiled) -> Iterator[Finding]:
    """Findings about valid objects in relation to each other."""
    yield from each(fleet.of(KARMADA_CLUSTER), repeated_taints)
    lints = _LINTS
    clusters = frozenset[str]()
    if fleet.of(REMEDY, CLUSTER_TAINT_POLICY):
        clusters = fleet.beyond.clusters.union(id_.name for id_ in fleet.objects if is_cluster(id_))
    if fleet.of(REMEDY):
        from muster.rules.remedies.policy import Remedy, lint_remedy

        yield from each(fleet.of(REMEDY), partial(lint_remedy, clusters=clusters))
        if fleet.of(MULTI_CLUSTER_INGRESS):
            from muster.rules.traffic.stage import lint_ingresses

            lints = (*lints, partial(lint_ingresses, remedies=compiled.of(Remedy)))
    if fleet.of(CLUSTER_TAINT_POLICY):
        check = partial(taint_policy_findings, settings=fleet.settings, clusters=clusters)
        yield from each(fleet.of(CLUSTER_TAINT_POLICY), check)
    if fleet.of(MANIFEST_WORK_REPLICA_SET):
        from muster.rules.works.checks import refusals

        yield from each(fleet.of(MANIFEST_WORK_REPLICA_SET), refusals)
    for lint in lints:
        yield from guarded("checking the fleet", partial(lint, fleet), "one check is left out")


def errors_of(findings: Iterable[Finding]) -> set[ObjectId]:
    """The objects with an error."""
    return {finding.object for finding in findings if finding.object and finding.severity is Severity.ERROR}
