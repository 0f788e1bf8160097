"""Values about which nothing, or only the type, is known; and results used as conditions."""

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
    """Any value, or a failure."""
    return Result(either(failing(arguments), world.truth()), ((True, Opaque()),))


def some_truth(world: SymbolicWorld) -> Result:
    """True, False, or a failure."""
    return Result(world.truth(), ((True, Bool(world.truth())),))


def some_answer(world: SymbolicWorld, left: Atom, right: Atom) -> Result:
    """The unknown result of a comparison of two strings, or of values that may be strings."""
    match left, right:
        case ((WrittenTime() | SymbolicText()), (WrittenTime() | SymbolicText())):
            return surely(Bool(world.truth()))
        case (Opaque(), _) | (_, Opaque()):
            return some_truth(world)
        case _:
            return FAILURE


def some_text(world: SymbolicWorld, *fails: Formula) -> Result:
    """Any string, or one of these failures."""
    return Result(some(fails), ((True, SymbolicText(world.text())),))


def some_of(world: SymbolicWorld, rest: Term) -> Term:
    """A number from 0 to `rest`."""
    if logic.is_known(rest) and rest == 0:
        return 0
    return world.between(0, rest)


def condition_of(world: SymbolicWorld, result: Result) -> tuple[Formula, Formula]:
    """Return when a result fails as a condition, and when it is true."""
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
