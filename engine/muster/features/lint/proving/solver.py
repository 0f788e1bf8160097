"""The solver: questions about a world, answered with a model or with why there is none."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

import z3

from muster.features.lint.proving.logic import Formula, Model
from muster.features.lint.proving.world import SymbolicWorld

#: The solver's limit for one question, by its own count (`rlimit`): a few seconds. The built-in policies take at most
#: 250,000, which is some milliseconds.
MAX_STEPS: Final = 3_000_000
#: The limit for one attempt to simplify an example.
_SIMPLER_STEPS: Final = 300_000
_MAX_PREFERENCES: Final = 150
#: Memory limit of the solver, in MiB; a question that needs more is undecided.
_MAX_MEGABYTES: Final = 1024


class Nothing(Enum):
    """Why there is no model."""

    NEVER = "never"
    UNDECIDED = "undecided"


class Solver:
    """Answers questions in one world; make it when all is translated, as reading inputs adds facts."""

    def __init__(self, world: SymbolicWorld, most_steps: int = MAX_STEPS) -> None:
        self._world, self._most_steps = world, most_steps

    def find(self, question: Formula, *narrowed: Formula) -> Model | Nothing:
        """Return a model in which the question and the narrowing formulas hold."""
        if question is False:
            return Nothing.NEVER
        return self._check(self._solver(question, narrowed), self._most_steps)

    def simpler(self, model: Model, question: Formula, *narrowed: Formula) -> Model:
        """Return a simpler model: one that also meets as many of the world's preferences as possible, in order."""
        solver, simplest = self._solver(question, narrowed), model
        for preference in self._world.preferences[:_MAX_PREFERENCES]:
            solver.push()
            solver.add(preference)
            if simplest.truth(preference):
                continue
            better = self._check(solver, _SIMPLER_STEPS)
            if isinstance(better, Model):
                simplest = better
            else:
                solver.pop()
        return simplest

    def needed(self, question: Formula, others: Sequence[Formula]) -> list[int] | None:
        """Return the indexes of a minimal set of formulas with which the question never holds; None if that cannot be
        decided."""
        kept = list(range(len(others)))
        if not self._never(question, others, kept):
            return None
        for index in range(len(others)):
            without = [other for other in kept if other != index]
            if self._never(question, others, without):
                kept = without
        return kept

    def _never(self, question: Formula, others: Sequence[Formula], kept: list[int]) -> bool:
        narrowed = [others[index] for index in kept]
        if question is False or any(formula is False for formula in narrowed):
            return True
        return self._check(self._solver(question, narrowed), self._most_steps) is Nothing.NEVER

    def _solver(self, question: Formula, narrowed: Sequence[Formula]) -> z3.Solver:
        solver = z3.SimpleSolver(ctx=self._world.context)
        for formula in (*self._world.facts, question, *narrowed):
            if formula is not True:
                solver.add(formula)
        return solver

    @staticmethod
    def _check(solver: z3.Solver, steps: int) -> Model | Nothing:
        solver.set("rlimit", steps)
        solver.set("max_memory", _MAX_MEGABYTES)
        try:
            answer = solver.check()
            if answer == z3.sat:
                return Model(solver.model())
        except z3.Z3Exception:
            return Nothing.UNDECIDED
        return Nothing.NEVER if answer == z3.unsat else Nothing.UNDECIDED
