"""The scopes of one stage."""

from collections.abc import Mapping
from datetime import datetime

from muster import cel
from muster.data.ids import ObjectId
from muster.dataclass import dataclass
from muster.fleet.view import View
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import PolicyScope, WitnessedScope, WitnessNote
from muster.rules.policies.policies import Policy
from muster.rules.policies.variables import StageInputs


@dataclass(frozen=True)
class Scopes(StageInputs):
    """Creates the scopes of one stage."""

    rules: InForce

    @classmethod
    def of(cls, view: View, rules: InForce, now: datetime) -> "Scopes":
        """Prepare for the objects of a view at an instant."""
        return cls(view, rules.settings, cel.Clock(now), rules.grace, rules.calendars, rules)

    def for_policy(
        self, policy: Policy, base: Mapping[str, object], about: ObjectId, *, witnessed: bool = True
    ) -> PolicyScope:
        """The base with the policy's own `params` and `variables`, and its cost limit for one object. `witnessed`: for
        explanations, if they ask about the object."""
        self.rules.wakes.turn(self.clock, about)
        share, note = self.rules.share(policy.target.kinds), self.note(policy.id, about) if witnessed else None
        if note is None:
            scope = PolicyScope(base, policy.variables, share)
        else:
            scope = WitnessedScope(base, policy.variables, share, note)
        scope["params"], scope["now"] = policy.params, self.clock.now
        return scope

    def note(self, policy: ObjectId, about: ObjectId) -> WitnessNote | None:
        """Where to record evaluations about an object; None if not requested."""
        witness = self.rules.witness
        return WitnessNote(witness, about, policy, self.clock) if witness is not None and witness.about(about) else None
