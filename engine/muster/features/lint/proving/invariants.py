"""Invariants: what no policy may ever say of a condition, as PolicyTests state it.

    invariants:
    - name: true-needs-a-lease
      type: ManagedClusterConditionAvailable
      never: status == 'True' && !has(lease.spec)
      message: it is True for a cluster without a lease

`never` sees what the policies of the condition see, and `status` and `reason` of what is said. One that fails is
broken, too: where it matters it has to be sure of what it reads. It speaks of a condition and not of a policy, so that
it holds for whatever policy a fleet puts in the place of a built-in one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from muster import cel
from muster.cel.types import STRING, StringType, Type
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import POLICY_TEST, Kind
from muster.data.names import did_you_mean
from muster.data.tree import At, mappings_at
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.environments import policy_environment
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.remedies.policy import STATUSES

#: What is said: nothing at all is said with an empty status.
OUTCOME: Final[Mapping[str, Type]] = {"status": StringType(values=(*STATUSES, "")), "reason": STRING}


@dataclass(frozen=True, slots=True)
class Invariant:
    """An invariant of a condition of objects of one kind."""

    name: str
    test: Object
    at: At
    kind: Kind
    never: cel.Program
    message: str


def invariants_of(fleet: FleetWithPolicies, policy: ConditionPolicy) -> Iterator[Invariant]:
    """Yield the invariants that speak of the condition of a policy, for each kind of object that it decides."""
    for test in fleet.policies(POLICY_TEST):
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
    """Yield what is wrong with invariants themselves: expressions, and conditions that no policy decides."""
    for test in fleet.policies(POLICY_TEST):
        for index, entry in enumerate(mappings_at(test.spec, "invariants")):
            decided = [policy for policy in fleet.compiled.of(ConditionPolicy) if policy.type == entry["type"]]
            kinds = {kind for policy in decided for kind in policy.target.kinds}
            meant = {kind for kind in kinds if kind.name in entry.get("kinds", (kind.name,))}
            if not meant:
                message = f"invariant {entry['name']!r} of {test.id} speaks of {entry['type']}, which no policy decides"
                hint = did_you_mean(entry["type"], {policy.type for policy in fleet.compiled.of(ConditionPolicy)})
                yield finding_at(test, ("spec", "invariants", index, "type"), Code.MATCHES_NOTHING, message, hint)
            for kind in sorted(meant, key=lambda kind: kind.name):
                compiler = _compiler(test, kind)
                compiler.condition(("spec", "invariants", index, "never"))
                yield from compiler.findings


def _compiler(test: Object, kind: Kind) -> Compiler:
    return Compiler(test, policy_environment((kind,), {}, OUTCOME))
