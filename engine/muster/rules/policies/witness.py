"""Records how expressions about some objects were evaluated, for explanations.

The decisions are the same with and without it. Recording costs several evaluations each, so it is done only for the
objects asked about.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster import cel
from muster.data.ids import ObjectId
from muster.data.tree import At
from muster.rules.policies.lazy import PolicyScope


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a policy's or Remedy's expression for an object, with its result and trace. `at`: the
    expression's path in the policy; for a variable its name after `VARIABLES_AT`."""

    object: ObjectId
    policy: ObjectId
    program: cel.Program
    at: At
    result: cel.EvaluationResult


@dataclass(frozen=True, slots=True)
class Witness:
    """Records every evaluation for the objects that it is `about`, in order; a variable before its reader."""

    about: Callable[[ObjectId], bool]
    seen: list[Evaluation] = field(default_factory=list)


class WitnessedScope(PolicyScope):
    """A scope that records every evaluation."""

    def __init__(
        self, base: Mapping[str, object], programs: Mapping[str, cel.Program], limit: int, noted: "WitnessNote"
    ) -> None:
        super().__init__(base, programs, limit)
        self._noted = noted

    def evaluate(self, program: cel.Program, at: At) -> Any:
        """Return the value of an expression, and record its evaluation. Raises EvaluationError."""
        result = program.run(self, clock=self._noted.clock, budget=self.budget, trace=True)
        self._noted.take(program, at, result)
        if result.error is not None:
            raise result.error
        return result.value


@dataclass(frozen=True, slots=True)
class WitnessNote:
    """Where evaluations of one policy for one object are recorded; `clock` collects their horizons, None without
    `now`."""

    witness: Witness
    object: ObjectId
    policy: ObjectId
    clock: cel.Clock | None = None

    def take(self, program: cel.Program, at: At, result: cel.EvaluationResult) -> None:
        """Record an evaluation."""
        self.witness.seen.append(Evaluation(self.object, self.policy, program, at, result))
