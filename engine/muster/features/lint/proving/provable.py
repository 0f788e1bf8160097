"""What is proved: policies, and what is like one: Remedies with expressions, gates of Rollouts, admission policies.

Of ValidatingAdmissionPolicies only the built-in ones are proved, for every object of their kind and every old object;
the request that a fleet's own ones see depends on more than types.
"""

from collections.abc import Mapping

from muster.cel.types import DYN, STRING, ListType, NullableType, Type
from muster.data.kinds import Kind
from muster.features.lint.proving.inputs import is_built_in, with_optional_fields
from muster.features.lint.proving.rules import Validations, of_remedy, of_rollout
from muster.fleet.fleet import Fleet
from muster.rules.admission.policies import REQUEST, compile_admissions
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.policies import Policy, Target
from muster.rules.policies.selectors import LabelSelector
from muster.rules.policies.types import object_type
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import Remedy
from muster.rules.rollouts.policy import Rollout
from muster.rules.scores.policy import ScorePolicy
from muster.rules.taints.policy import TaintPolicy


def provable_policies(fleet: FleetWithPolicies) -> list[Policy]:
    """Return all policies with questions, and the Rollouts, by id."""
    compiled = fleet.compiled
    policies: tuple[Policy, ...] = (
        *compiled.all_of(ConditionPolicy, TaintPolicy, PulsePolicy, ScorePolicy),
        *map(of_rollout, compiled.of(Rollout)),
        *(of_remedy(remedy) for remedy in compiled.of(Remedy) if remedy.expressions),
        *admission_policies(fleet),
    )
    return sorted(policies, key=lambda policy: policy.id)


def admission_policies(fleet: Fleet) -> list[Validations]:
    """Return the built-in admission policies in force."""
    by_id = {binding.policy.id: binding.policy for binding in compile_admissions(fleet).bindings}
    policies = []
    for policy in by_id.values():
        kind = policy.match.kind()
        if kind is not None and is_built_in(policy.source):
            target = Target((kind,), LabelSelector.parse(None), frozenset())
            policies.append(
                Validations(
                    policy.id,
                    policy.source,
                    target,
                    policy.guards,
                    policy.variables,
                    {},
                    policy.validations,
                    policy.notes,
                    _inputs(kind),
                )
            )
    return policies


def _inputs(kind: Kind) -> Mapping[str, Type]:
    """The types of variables: any field of the object may be missing, and so may the old object."""
    type_ = with_optional_fields(object_type(kind))
    return {
        "object": type_,
        "oldObject": NullableType(type_),
        "derived": type_,
        "request": REQUEST,
        "namespaceObject": DYN,
        "files": ListType(STRING),
    }
