"""The scope of one policy's expressions for one object: the variables, and a common cost limit.

A `Witness` records how expressions about some objects were evaluated, for explanations. The decisions are the same with
and without it. Recording costs several evaluations each, so it is done only for the objects asked about.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any
from weakref import ref

from muster import cel
from muster.data.ids import ObjectId
from muster.data.tree import At
from muster.dataclass import dataclass

#: The path of a policy's variables; their names follow.
VARIABLES_AT: At = ("spec", "variables")


class Variables(dict[str, object]):
    """Variables by name, each computed on first use and then kept.

    Most policies read two or three of twenty. A scope built over another's `__getitem__` shares its values.
    """

    def __init__(self, compute: Callable[[str], object]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, name: str) -> object:
        """Compute a variable. KeyError for an unknown name."""
        value = self[name] = self._compute(name)
        return value


class PolicyScope(Variables):
    """The variables of a policy's expressions, including its own `variables`.

    All expressions of the policy for the object share one budget: a chain of variables may cost no more than one
    expression.
    """

    def __init__(self, base: Mapping[str, object], programs: Mapping[str, cel.Program], limit: int) -> None:
        super().__init__(base.__getitem__)
        self.budget = cel.CostBudget(limit)
        self._programs = programs

    def evaluate(self, program: cel.Program, at: At) -> Any:  # noqa: ARG002 - WitnessedScope uses it
        """Return the value of the policy's expression `at` a path, at its cost. Raises EvaluationError."""
        return program.value(self, self.budget)

    def __missing__(self, name: str) -> object:
        if name != "variables":
            return super().__missing__(name)
        value = self[name] = _LazyVariables(self._programs, self)
        return value


class _LazyVariables(dict[str, object]):
    """A policy's `variables`: each is evaluated once, on first use.

    They do not reference their scope strongly: a cycle would keep the whole fleet until garbage collection.
    """

    def __init__(self, programs: Mapping[str, cel.Program], scope: PolicyScope) -> None:
        super().__init__()
        self._programs = programs
        self._scope = ref(scope)
        self._failed: dict[str, cel.EvaluationError] = {}

    def __missing__(self, name: str) -> object:
        """Evaluate the variable. KeyError for an unknown name; EvaluationError if it fails."""
        error = self._failed.get(name)
        if error is None:
            scope = self._scope()
            assert scope is not None
            try:
                value = self[name] = scope.evaluate(self._programs[name], (*VARIABLES_AT, name))
            except cel.EvaluationError as failed:
                error = self._failed[name] = failed
            else:
                return value
        # A new one each time: an exception that is raised repeatedly collects tracebacks.
        if isinstance(error, cel.BudgetExceeded):
            raise cel.BudgetExceeded(f"variables.{name.removeprefix('.')} {error.message}")
        raise type(error)(error.message, error.offset)

    def __contains__(self, name: object) -> bool:
        """Does the policy have the variable, evaluated or not? `has(variables.x)` asks this, as on an API server."""
        return name in self._programs


def cost_share(run_limit: int, expression_limit: int, objects: int) -> int:
    """Return the cost units that a policy may spend on each of so many objects.

    The limit of one expression if the run's limit allows it for all objects; else an equal share of the run's limit,
    but at least `LEAST_SHARE`. The number of objects is rounded up to a power of two, so that the share rarely changes.
    """
    share = run_limit // (1 << max(objects - 1, 0).bit_length())
    return min(expression_limit, max(share, LEAST_SHARE))


LEAST_SHARE = 50_000
"""What a policy may always spend on an object: a hundred times the cost of a usual rule."""


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
        self, base: Mapping[str, object], programs: Mapping[str, cel.Program], limit: int, note: "WitnessNote"
    ) -> None:
        super().__init__(base, programs, limit)
        self._noted = note

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
