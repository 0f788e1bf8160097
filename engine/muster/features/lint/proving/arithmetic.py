"""Symbolic operators: ==, <, + and the like, on numbers, times, durations, strings and lists."""

from muster.cel.values import INT_MAX, INT_MIN
from muster.features.lint.proving import logic
from muster.features.lint.proving.logic import Formula, Term, both, either, every, negation, same, some, within
from muster.features.lint.proving.unknown import some_answer, some_text, unknown
from muster.features.lint.proving.values import (
    FAILURE,
    Atom,
    Bool,
    Cases,
    Int,
    Keyed,
    Lazy,
    Null,
    Opaque,
    Optional,
    Result,
    SymbolicDuration,
    SymbolicList,
    SymbolicText,
    Time,
    WrittenTime,
    paired,
    size_of,
    surely,
)
from muster.features.lint.proving.world import FIRST, LAST, SymbolicWorld


def equal(world: SymbolicWorld, left: Atom, right: Atom) -> Formula:
    """Are two values equal? Values of different types are not."""
    if (terms := paired(left, right)) is not None:
        return same(*terms)
    match left, right:
        case Null(), Null():
            return True
        case SymbolicList(), SymbolicList():
            return _equal_lists(world, left, right)
        case (
            (Opaque(), _)
            | (_, Opaque())
            | ((WrittenTime() | SymbolicText()), (WrittenTime() | SymbolicText()))
            | ((Keyed() | Lazy()), (Keyed() | Lazy()))
            | (Optional(), Optional())
        ):
            return world.truth()
        case _:
            return False


def _equal_lists(world: SymbolicWorld, left: SymbolicList, right: SymbolicList) -> Formula:
    if not right.items and logic.is_known(right.rest):
        return same(size_of(left), 0)
    if not left.items and logic.is_known(left.rest):
        return same(size_of(right), 0)
    whole = all(guard is True for guard, _ in (*left.items, *right.items))
    if whole and logic.is_known(left.rest) and logic.is_known(right.rest):
        if len(left.items) != len(right.items):
            return False
        return every(equal_cases(world, a, b) for (_, a), (_, b) in zip(left.items, right.items, strict=True))
    return world.truth()


def equal_cases(world: SymbolicWorld, left: Cases, right: Cases) -> Formula:
    """Are two values equal, each of which may have several types?"""
    return some(both(g, h, equal(world, a, b)) for g, a in left for h, b in right)


def order(name: str, world: SymbolicWorld, left: Atom, right: Atom) -> Result:
    """Result of `<`, `<=`, `>` or `>=`."""
    if name in ("_>_", "_>=_"):
        left, right = right, left
    strictly = name in ("_<_", "_>_")
    if isinstance(left, Bool) and isinstance(right, Bool):
        less = both(negation(left.term), right.term)
        return surely(Bool(less if strictly else either(less, same(left.term, right.term))))
    if (terms := paired(left, right)) is not None:
        return surely(Bool(logic.before(*terms, strictly=strictly)))
    return some_answer(world, left, right)


#: Limits of terms, past which a value is unknown: elements of added lists, characters and pieces of strings, and
#: multiplied numbers.
_MAX_ITEMS, _LONGEST, _MAX_PIECES, _HIGHEST_DEGREE = 64, 10_000, 64, 4


def arithmetic(name: str, world: SymbolicWorld, left: Atom, right: Atom) -> Result:
    """Result of an arithmetic operator with two operands."""
    match left, right:
        case (Opaque(), _) | (_, Opaque()):
            return unknown(world, [])
        case Int(), Int():
            return _integers(world, name, left, right)
        case ((SymbolicText() | WrittenTime()), (SymbolicText() | WrittenTime())) if name == "_+_":
            return _joined(world, left, right)
        case SymbolicList(), SymbolicList() if name == "_+_":
            if not logic.is_known(left.rest) or len(left.items) + len(right.items) > _MAX_ITEMS:
                return unknown(world, [])  # unknown elements would come between
            return surely(SymbolicList((*left.items, *right.items), right.rest))
        case Time(), Time() if name == "_-_":
            return fitting(SymbolicDuration(left.term - right.term), INT_MIN, INT_MAX)
        case Time(), SymbolicDuration() if name in ("_+_", "_-_"):
            return fitting(Time(left.term + right.term if name == "_+_" else left.term - right.term), FIRST, LAST)
        case SymbolicDuration(), Time() if name == "_+_":
            return fitting(Time(left.term + right.term), FIRST, LAST)
        case SymbolicDuration(), SymbolicDuration() if name in ("_+_", "_-_"):
            sum_ = left.term + right.term if name == "_+_" else left.term - right.term
            return fitting(SymbolicDuration(sum_), INT_MIN, INT_MAX)
        case _:
            return FAILURE


def _integers(world: SymbolicWorld, name: str, one: Int, other: Int) -> Result:
    left, right = one.term, other.term
    degree = max(one.degree, other.degree)
    if name in ("_+_", "_-_"):
        return fitting(Int(left + right if name == "_+_" else left - right, degree), INT_MIN, INT_MAX)
    degree = one.degree * (not logic.is_known(left)) + other.degree * (not logic.is_known(right))
    if degree > _HIGHEST_DEGREE:
        return unknown(world, [])
    if name == "_*_":
        return fitting(Int(left * right, degree), INT_MIN, INT_MAX)
    zero, cut = same(right, 0), logic.quotient(left, right)
    if name == "_/_":
        fitted = fitting(Int(cut, degree), INT_MIN, INT_MAX)
        return Result(either(zero, fitted.fails), fitted.cases)
    overflow = both(same(left, INT_MIN), same(right, -1))
    return Result(either(zero, overflow), ((True, Int(left - right * cut, degree)),))


def _joined(world: SymbolicWorld, left: Atom, right: Atom) -> Result:
    if not isinstance(left, SymbolicText) or not isinstance(right, SymbolicText):
        return some_text(world)
    pieces = left.pieces + right.pieces
    if pieces > _MAX_PIECES or sum(len(side.term) for side in (left, right) if isinstance(side.term, str)) > _LONGEST:
        return some_text(world)
    term = logic.joined(left.term, right.term)
    if left.number is not None and isinstance(right.term, str):
        return surely(SymbolicText(term, left.number, left.unit + right.term, pieces))
    return surely(SymbolicText(term, pieces=pieces))


def extreme(world: SymbolicWorld, atom: Atom, *, most: bool) -> Result:
    """`list.max()` and `list.min()` of numbers."""
    if not isinstance(atom, SymbolicList) or (not logic.is_known(atom.rest) and not atom.items):
        return unknown(world, [])
    numbers: list[tuple[Formula, Term]] = []
    more = logic.before(0, atom.rest, strictly=True)
    for guard, cases in (*atom.items, *([atom.another()] if more is not False else [])):
        if len(cases) != 1 or not isinstance(cases[0][1], Int):
            return unknown(world, [])
        numbers.append((guard, cases[0][1].term))
    bound = world.between(INT_MIN, INT_MAX)
    # It is one of them, and no known one is beyond it.
    is_one = some(both(guard, same(number, bound)) for guard, number in numbers)
    ends = every(
        logic.implies(guard, logic.before(*((number, bound) if most else (bound, number)), strictly=False))
        for guard, number in numbers[: len(atom.items)]
    )
    some_there = either(more, *(guard for guard, _ in numbers))
    world.fact(logic.implies(some_there, both(ends, is_one)))
    return Result(negation(some_there), ((True, Int(bound)),))


def negative(world: SymbolicWorld, atom: Atom) -> Result:
    """`-x`"""
    if isinstance(atom, Int):
        return fitting(Int(-atom.term, atom.degree), INT_MIN, INT_MAX)
    return unknown(world, []) if isinstance(atom, Opaque) else FAILURE


def fitting(atom: Int | Time | SymbolicDuration, low: int, high: int) -> Result:
    """A number that fails if it is out of range."""
    if logic.is_known(atom.term) and not low <= atom.term <= high:
        return FAILURE  # so that numbers do not grow without end
    return Result(negation(within(low, atom.term, high)), ((True, atom),))
