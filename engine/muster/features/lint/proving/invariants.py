"""Invariants in PolicyTests: outcomes that a condition must never have.

    invariants:
    - name: true-needs-a-lease
      type: ManagedClusterConditionAvailable
      never: status == 'True' && !has(lease.spec)
      message: it is True for a cluster without a lease

`never` has the variables of the condition's policies, and `status` and `reason` of the outcome. An invariant whose
expression fails is broken, too. It names a condition and not a policy, so that it also holds for a policy with which a
fleet replaces a built-in one.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from muster import cel
from muster.cel.types import STRING, StringType, Type
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import POLICY_TEST, Kind
from muster.data.names import did_you_mean
from muster.data.tree import At, mappings_at
from muster.dataclass import dataclass
from muster.fleet.assemble import builtin_tests_of
from muster.fleet.objects import Object, with_params
from muster.fleet.places import finding_at
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.environments import policy_environment
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.remedies.policy import STATUSES

#: The outcome; an empty status means no outcome.
OUTCOME: Final[Mapping[str, Type]] = {"status": StringType(values=(*STATUSES, "")), "reason": STRING}


@dataclass(frozen=True, slots=True)
class Invariant:
    """An invariant of a condition, for objects of one kind."""

    name: str
    test: Object
    at: At
    kind: Kind
    never: cel.Program
    message: str


def _tests(fleet: FleetWithPolicies) -> list[Object]:
    """The tests of the fleet and of the built-in policies by name, with parameters from the Fleet."""
    builtin = [with_params(test, fleet.settings.policy_params(test.id.name)) for test in builtin_tests_of(fleet)]
    return sorted((*fleet.policies(POLICY_TEST), *builtin), key=lambda test: test.id)


def invariants_of(fleet: FleetWithPolicies, policy: ConditionPolicy) -> Iterator[Invariant]:
    """Yield the invariants of a policy's condition, for each kind that the policy targets."""
    for test in _tests(fleet):
        for index, entry in enumerate(mappings_at(test.spec, "invariants")):
            if entry["type"] != policy.type:
                continue
            for kind in policy.target.kinds:
                if kind.name not in entry.get("kinds", (kind.name,)):
                    continue
                at: At = ("spec", "invariants", index, "never")
                compiler = _compiler(test, kind)
                never = compiler.condition(at)
                if not compiler.failed:
                    yield Invariant(entry["name"], test, at, kind, never, entry.get("message") or "")


def invariant_findings(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Yield findings about invariants themselves: bad expressions, and conditions that no policy decides."""
    for test in _tests(fleet):
        for index, entry in enumerate(mappings_at(test.spec, "invariants")):
            decided = [policy for policy in fleet.compiled.of(ConditionPolicy) if policy.type == entry["type"]]
            kinds = {kind for policy in decided for kind in policy.target.kinds}
            affected = {kind for kind in kinds if kind.name in entry.get("kinds", (kind.name,))}
            if not affected:
                message = f"invariant {entry['name']!r} of {test.id} is about {entry['type']}, which no policy decides"
                hint = did_you_mean(entry["type"], {policy.type for policy in fleet.compiled.of(ConditionPolicy)})
                yield finding_at(test, ("spec", "invariants", index, "type"), Code.MATCHES_NOTHING, message, hint)
            for kind in sorted(affected, key=lambda kind: kind.name):
                compiler = _compiler(test, kind)
                compiler.condition(("spec", "invariants", index, "never"))
                yield from compiler.findings


def _compiler(test: Object, kind: Kind) -> Compiler:
    return Compiler(test, policy_environment((kind,), {}, OUTCOME))
