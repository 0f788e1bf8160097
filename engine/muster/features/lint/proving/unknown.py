"""What is not known: values that may be anything, and what is a condition all the same."""

from collections.abc import Sequence

from muster.features.lint.proving import logic
from muster.features.lint.proving.logic import Formula, Term, both, either, some
from muster.features.lint.proving.values import (
    FAILURE,
    Atom,
    Bool,
    Opaque,
    Result,
    SymbolicText,
    WrittenTime,
    failing,
    surely,
)
from muster.features.lint.proving.world import SymbolicWorld


def unknown(world: SymbolicWorld, arguments: Sequence[Result]) -> Result:
    """What may fail, and may be anything."""
    return Result(either(failing(arguments), world.truth()), ((True, Opaque()),))


def some_truth(world: SymbolicWorld) -> Result:
    """What may fail, and is true or false."""
    return Result(world.truth(), ((True, Bool(world.truth())),))


def some_answer(world: SymbolicWorld, left: Atom, right: Atom) -> Result:
    """What two values of which not enough is known give to a question that texts answer, and any value may."""
    match left, right:
        case ((WrittenTime() | SymbolicText()), (WrittenTime() | SymbolicText())):
            return surely(Bool(world.truth()))
        case (Opaque(), _) | (_, Opaque()):
            return some_truth(world)
        case _:
            return FAILURE


def some_text(world: SymbolicWorld, *fails: Formula) -> Result:
    """Any text, where it does not fail."""
    return Result(some(fails), ((True, SymbolicText(world.text())),))


def some_of(world: SymbolicWorld, rest: Term) -> Term:
    """A number up to another one."""
    if logic.is_known(rest) and rest == 0:
        return 0
    return world.between(0, rest)


def condition_of(world: SymbolicWorld, result: Result) -> tuple[Formula, Formula]:
    """Return whether a result fails as a condition, else whether it is true."""
    fails, holds = [result.fails], []
    for guard, atom in result.cases:
        if isinstance(atom, Bool):
            holds.append(both(guard, atom.term))
        elif isinstance(atom, Opaque):
            fails.append(both(guard, world.truth()))
            holds.append(both(guard, world.truth()))
        else:
            fails.append(guard)
    return some(fails), some(holds)
