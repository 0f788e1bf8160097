"""Compiles the policies of a fleet."""

from dataclasses import replace

from muster.data.finding import Finding
from muster.data.kinds import ALL, CALENDAR, CONDITION_POLICY, DRILL, PLACEMENT, PROJECTION, ROLLOUT
from muster.fleet.fleet import Fleet
from muster.fleet.vocabulary import type_of
from muster.rules.calendars.calendar import Calendar, compile_calendar
from muster.rules.conditions import conflicts as messages
from muster.rules.conditions.conflicts import without_conflicts
from muster.rules.conditions.policy import CONDITION_POLICIES, ConditionPolicy, in_dependency_order
from muster.rules.drills.policy import Drill, compile_drill
from muster.rules.notifications.policy import NOTIFICATION_POLICIES, NotificationPolicy
from muster.rules.placements.policy import CompiledPlacement, compile_placement
from muster.rules.policies.environments import Bounds
from muster.rules.policies.in_force import Compiled, compile_each
from muster.rules.policies.policies import P, PolicyKind
from muster.rules.projections.policy import Projection, compile_projection
from muster.rules.pulses.policy import PULSE_POLICIES, PulsePolicy
from muster.rules.remedies.policy import Remedy, compile_remedies
from muster.rules.rollouts.policy import Rollout, compile_rollout
from muster.rules.scores.policy import SCORE_POLICIES, ScorePolicy
from muster.rules.taints.policy import TAINT_POLICIES, TaintPolicy


def compile_policies(fleet: Fleet) -> Compiled:
    """Compile the fleet's policies, and the built-in ones that it does not replace.

    A broken policy does not bring back the built-in one of its name: what it decided last holds.
    """
    findings: list[Finding] = []
    of_all = Bounds(fleet.settings.expression_cost)
    calendars = frozenset(obj.id.name for obj in fleet.of(CALENDAR))
    of_own = replace(of_all, conditions=known_conditions(fleet), calendars=calendars)

    def policies(sort: PolicyKind[P]) -> list[P]:
        """Only a fleet's own policies are checked for unknown conditions: built-in ones may read conditions the fleet
        lacks."""
        sources = fleet.policies(sort.kind)
        compiled_objects = compile_each(
            sources, lambda obj: sort.compile(obj, of_all if obj.id in fleet.read.builtin else of_own), findings
        )
        return [policy for _, policy in compiled_objects]

    projections = compile_each(fleet.of(PROJECTION), lambda obj: compile_projection(obj, of_own), findings)
    conditions, rivals = without_conflicts(policies(CONDITION_POLICIES))
    ordered, circle = in_dependency_order(conditions)
    remedies = compile_remedies(fleet)
    findings.extend((*remedies.findings, *rivals))
    findings.extend(messages.policy_circle(policy.source, circle) for policy in circle)
    compiled = {
        ConditionPolicy: tuple(ordered),
        TaintPolicy: tuple(policies(TAINT_POLICIES)),
        PulsePolicy: tuple(policies(PULSE_POLICIES)),
        NotificationPolicy: tuple(policies(NOTIFICATION_POLICIES)),
        ScorePolicy: tuple(policies(SCORE_POLICIES)),
        Remedy: remedies.of(Remedy),
        Rollout: _rollouts(fleet, of_own, findings),
        Projection: tuple(projection for _, projection in projections),
        Calendar: tuple(calendar for _, calendar in compile_each(fleet.of(CALENDAR), compile_calendar, findings)),
        Drill: tuple(
            drill for _, drill in compile_each(fleet.of(DRILL), lambda obj: compile_drill(obj, of_own), findings)
        ),
    }
    return Compiled(compiled, tuple(findings))


def _rollouts(fleet: Fleet, bounds: Bounds, findings: list[Finding]) -> tuple[Rollout, ...]:
    compiled_objects = compile_each(fleet.of(ROLLOUT), lambda obj: compile_rollout(obj, bounds), findings)
    return tuple(rollout for _, rollout in compiled_objects)


def compile_placements(fleet: Fleet) -> tuple[tuple[CompiledPlacement, ...], list[Finding]]:
    """Compile the Placements. An invalid one is not broken: its condition says that it is misconfigured."""
    findings: list[Finding] = []
    compiled = compile_each(fleet.of(PLACEMENT), compile_placement, findings)
    return tuple(placement for _, placement in compiled), findings


def known_conditions(fleet: Fleet) -> frozenset[str]:
    """The condition types that a policy or registration decides, or that anything in the fleet reports."""
    always = {type_ for kind in ALL for type_ in (kind.headline, *kind.conditions)}
    decided = {type_of(obj) for obj in fleet.policies(CONDITION_POLICY)}
    reported = {type_ for id_ in fleet.objects for type_ in fleet.reported(id_)}
    derived = {type_ for id_ in fleet.previous for type_ in fleet.conditions_before(id_)}
    return frozenset((decided | reported | derived | always | fleet.beyond.conditions) - {""})
