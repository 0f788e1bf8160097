"""The built-in ValidatingAdmissionPolicies as they are proved: over every object of their kind, as it is and as it was.

A fleet's own are not asked about: what they see of a request depends on more than types tell.
"""

from collections.abc import Mapping

from muster.cel.types import DYN, NullableType, Type
from muster.data.kinds import Kind
from muster.features.lint.proving.inputs import in_parts, is_built_in
from muster.features.lint.proving.rules import Validations
from muster.fleet.fleet import Fleet
from muster.rules.admission.policies import REQUEST, compile_admissions
from muster.rules.policies.policies import Target
from muster.rules.policies.selectors import LabelSelector
from muster.rules.policies.types import object_type


def admission_policies(fleet: Fleet) -> list[Validations]:
    """Return the built-in policies in force."""
    found = {binding.policy.id: binding.policy for binding in compile_admissions(fleet).bindings}
    policies = []
    for policy in found.values():
        kind = policy.match.kind()
        if kind is not None and is_built_in(policy.source):
            target = Target((kind,), LabelSelector.parse(None), frozenset())
            policies.append(
                Validations(
                    policy.id, policy.source, target, policy.guards, policy.variables, {}, policy.validations,
                    policy.notes, _inputs(kind),
                )
            )  # fmt: skip
    return policies


def _inputs(kind: Kind) -> Mapping[str, Type]:
    """What the expressions see: any part of the object may be missing, and so may the object as it was."""
    type_ = in_parts(object_type(kind))
    return {"object": type_, "oldObject": NullableType(type_), "derived": type_, "request": REQUEST,
            "namespaceObject": DYN}  # fmt: skip
