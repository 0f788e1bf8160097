"""A witness of deciding: how the expressions about some objects were evaluated, for whoever asks why.

A run that has one decides what it would without. What is noted costs several evaluations each, so it is noted for the
objects that somebody asks about and for no others.
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
    """One expression of a policy or Remedy, as it was evaluated about an object, and with what result, its trace
    included. `at` is where it stands in the policy; of a variable its name, after `VARIABLES_AT`."""

    object: ObjectId
    policy: ObjectId
    program: cel.Program
    at: At
    result: cel.EvaluationResult


@dataclass(frozen=True, slots=True)
class Witness:
    """Notes every evaluation about the objects that it is `about`, in their order; a variable before what reads it."""

    about: Callable[[ObjectId], bool]
    seen: list[Evaluation] = field(default_factory=list)


class WitnessedScope(PolicyScope):
    """A scope in which every evaluation is noted."""

    def __init__(
        self, base: Mapping[str, object], programs: Mapping[str, cel.Program], limit: int, noted: "WitnessNote"
    ) -> None:
        super().__init__(base, programs, limit)
        self._noted = noted

    def evaluate(self, program: cel.Program, at: At) -> Any:
        """Return the value of an expression, and note how it came about. EvaluationError where it fails."""
        result = program.run(self, clock=self._noted.clock, budget=self.budget, trace=True)
        self._noted.take(program, at, result)
        if result.error is not None:
            raise result.error
        return result.value


@dataclass(frozen=True, slots=True)
class WitnessNote:
    """Where the evaluations of one policy about one object are noted; `clock` is the one they tell their horizons, None
    where they see no `now`."""

    witness: Witness
    object: ObjectId
    policy: ObjectId
    clock: cel.Clock | None = None

    def take(self, program: cel.Program, at: At, result: cel.EvaluationResult) -> None:
        """Note an evaluation."""
        self.witness.seen.append(Evaluation(self.object, self.policy, program, at, result))
