"""Asking the solver, within a number of its own steps: the same question gets the same answer on every machine."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

import z3

from muster.features.lint.proving.logic import Formula
from muster.features.lint.proving.world import Model, World

#: Steps of the solver for one question, by its own count (`rlimit`): a few seconds. The built-in policies take 250,000
#: at the most, which is some milliseconds.
MOST_STEPS: Final = 3_000_000
#: Steps for one attempt to make an example plainer.
_STEPS_FOR_A_WISH: Final = 300_000
_MOST_WISHES: Final = 150
#: Memory of the solver, in MiB: what takes more is not decided.
_MOST_MEGABYTES: Final = 1024


class Nothing(Enum):
    """Why there is no model."""

    NEVER = "never"
    UNDECIDED = "undecided"


class Solver:
    """Asks about one world, once all that is asked of it is translated: facts come with what is read."""

    def __init__(self, world: World, most_steps: int = MOST_STEPS) -> None:
        self._world, self._most_steps = world, most_steps

    def find(self, question: Formula, *narrowed: Formula) -> Model | Nothing:
        """Return a model in which the question holds, and what it is narrowed to."""
        if question is False:
            return Nothing.NEVER
        return self._check(self._solver(question, narrowed), self._most_steps)

    def plainer(self, model: Model, question: Formula, *narrowed: Formula) -> Model:
        """Return a model in which as many wishes of the world are met, one after the other, as can be."""
        solver, found = self._solver(question, narrowed), model
        for wish in self._world.wishes[:_MOST_WISHES]:
            solver.push()
            solver.add(wish)
            if found.truth(wish):
                continue
            better = self._check(solver, _STEPS_FOR_A_WISH)
            if isinstance(better, Model):
                found = better
            else:
                solver.pop()
        return found

    def needed(self, question: Formula, others: Sequence[Formula]) -> list[int] | None:
        """Return which of several formulas it takes for the question never to hold with them; None where that cannot be
        told. One that can be left out is."""
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
        if question is False or any(one is False for one in narrowed):
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
        solver.set("max_memory", _MOST_MEGABYTES)
        try:
            answer = solver.check()
            if answer == z3.sat:
                return Model(solver.model())
        except z3.Z3Exception:
            return Nothing.UNDECIDED
        return Nothing.NEVER if answer == z3.unsat else Nothing.UNDECIDED
