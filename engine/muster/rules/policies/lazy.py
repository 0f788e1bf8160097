"""What the expressions of one policy see of one object: the variables, and what all of them may cost together."""

from collections.abc import Callable, Mapping
from typing import Any
from weakref import ref

from muster import cel
from muster.data.tree import At

#: Where a policy's variables stand; their names are what follows.
VARIABLES_AT: At = ("spec", "variables")


class Variables(dict[str, object]):
    """Variables by name, each of which is computed when an expression first reads it, and then kept.

    Most policies read two or three of twenty. Built over another's `__getitem__`, they share what that one computes.
    """

    def __init__(self, compute: Callable[[str], object]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, name: str) -> object:
        """Compute a variable. KeyError for a name that there is not."""
        value = self[name] = self._compute(name)
        return value


class PolicyScope(Variables):
    """The variables of a policy's expressions, its own `variables` among them.

    Everything that the policy asks of the object shares one budget: a chain of variables spends no more than one
    expression.
    """

    def __init__(self, base: Mapping[str, object], programs: Mapping[str, cel.Program], limit: int) -> None:
        super().__init__(base.__getitem__)
        self.budget = cel.CostBudget(limit)
        self._programs = programs

    def evaluate(self, program: cel.Program, at: At) -> Any:  # noqa: ARG002 - who witnesses it wants to know
        """Return the value of the policy's expression `at` a place, and spend what it costs. EvaluationError where it
        fails."""
        return program.value(self, self.budget)

    def __missing__(self, name: str) -> object:
        """Compute a variable."""
        if name != "variables":
            return super().__missing__(name)
        value = self[name] = _LazyVariables(self._programs, self)
        return value


class _LazyVariables(dict[str, object]):
    """A policy's `variables`: each is evaluated when an expression first asks for it, and never again.

    They do not hold the scope that holds them: nothing here is garbage for the collector, with a whole fleet behind it.
    """

    def __init__(self, programs: Mapping[str, cel.Program], scope: PolicyScope) -> None:
        super().__init__()
        self._programs = programs
        self._scope = ref(scope)
        self._failed: dict[str, cel.EvaluationError] = {}

    def __missing__(self, name: str) -> object:
        """Evaluate the variable. KeyError for a name that the policy has not; EvaluationError where it fails."""
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
        # A new one each time: an exception that is raised again and again remembers every place.
        if isinstance(error, cel.BudgetExceeded):
            raise cel.BudgetExceeded(f"variables.{name.removeprefix('.')} {error.message}")
        raise type(error)(error.message, error.offset)

    def __contains__(self, name: object) -> bool:
        """Whether the policy has the variable, evaluated or not: what `has(variables.x)` asks, as on an API server."""
        return name in self._programs


def cost_share(run_limit: int, expression_limit: int, objects: int) -> int:
    """Return the units that a policy may spend on each of so many objects.

    All that one expression may cost while the run's limit allows it for all objects; else an equal share of the run's
    limit, and never less than `LEAST_SHARE`. The number of objects counts as the next power of two, so that the share
    stays the same while a fleet grows a little.
    """
    share = run_limit // (1 << max(objects - 1, 0).bit_length())
    return min(expression_limit, max(share, LEAST_SHARE))


LEAST_SHARE = 50_000
"""A hundred times what a rule mostly costs: so much a policy may always spend on an object."""
