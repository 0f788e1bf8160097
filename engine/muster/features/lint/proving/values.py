"""Symbolic values: the possible values of an expression, and when it has which.

CEL checks types of values at run time, and data may have several: a field that is null or a time. So a value is a list
of *cases*, a guard and an atom each; if the evaluation does not fail, exactly one guard holds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, Protocol, TypeAlias, runtime_checkable

from muster.cel.values import INT_MAX, INT_MIN
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.lint.proving.logic import Formula, Term, before, both, choice, either, some, total


@dataclass(frozen=True, slots=True, eq=False)
class Bool:
    """A truth value."""

    term: Term


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """A whole number of 64 bits. `degree`: how many unknown numbers are multiplied in it."""

    term: Term
    degree: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicText:
    """A string, concatenated from `pieces`. `number` and `unit`: it is these digits and this unit, as in
    `string(n) + 's'`."""

    term: Term
    number: Term = None
    unit: str = ""
    pieces: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Time:
    """A timestamp, in nanoseconds since 1970."""

    term: Term


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicDuration:
    """A duration, in nanoseconds."""

    term: Term


@dataclass(frozen=True, slots=True, eq=False)
class WrittenTime:
    """A string in data that holds a timestamp or a duration, and becomes one if it is read as such."""

    of: "Time | SymbolicDuration"


@dataclass(frozen=True, slots=True)
class Null:
    """null"""


@dataclass(frozen=True, slots=True)
class Opaque:
    """An unknown value: it may be any, and differ each time it is read."""


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """An optional: when it has a value, and which."""

    present: Formula
    cases: "Cases"


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicList:
    """A list: elements that may be present, in order, and `rest` further ones. `further` makes any one of those, with
    its guard; without it they are unknown."""

    items: "tuple[tuple[Formula, Cases], ...]"
    rest: Term = 0
    further: "Callable[[], tuple[Formula, Cases]] | None" = None

    def another(self) -> "tuple[Formula, Cases]":
        """Any one of the further elements: what holds for some of them holds for this one in some example."""
        more = before(0, self.rest, strictly=True)
        if more is False or self.further is None:
            return more, ((True, Opaque()),)
        guard, cases = self.further()
        return both(more, guard), cases


def size_of(listed: SymbolicList) -> Term:
    """The number of elements of a list."""
    return total([*(choice(guard, 1, 0) for guard, _ in listed.items), listed.rest])


@runtime_checkable
class Keyed(Protocol):
    """A map or an object: by key when there is a value, and which."""

    def entry(self, key: str) -> "tuple[Formula, Cases]":
        """The value under a key."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Lazy:
    """A map whose values are evaluated when read, and may fail: a policy's `variables`."""

    names: frozenset[str]
    value: "Callable[[str], Result]"


@dataclass(frozen=True, slots=True, eq=False)
class KnownMap:
    """A map literal, or known data."""

    entries: "Mapping[str, Cases]"

    def entry(self, key: str) -> "tuple[Formula, Cases]":
        """The value under a key."""
        cases = self.entries.get(key)
        return (cases is not None, cases or NOTHING)


Atom: TypeAlias = (
    "Bool | Int | SymbolicText | Time | SymbolicDuration | WrittenTime | Null | Opaque | Optional | SymbolicList | Lazy"
    " | Keyed"
)
Cases: TypeAlias = tuple[tuple[Formula, Atom], ...]
_MAX_TEXTS: Final = 12
_SIMPLE = (Bool, Int, SymbolicText, Time, SymbolicDuration)
#: No value.
NOTHING: Cases = ()


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The result of an evaluation: when it fails, else its value."""

    fails: Formula
    cases: Cases = field(default=NOTHING)


def given(cases: Cases) -> Result:
    """A result that never fails."""
    return Result(fails=False, cases=cases)


def surely(atom: Atom) -> Result:
    """A result that is always this value."""
    return given(((True, atom),))


#: A result that always fails.
FAILURE = Result(fails=True)


def merged(results: Iterable[tuple[Formula, Result]]) -> Result:
    """Return the result whose guard holds; at most one does."""
    possible = [(guard, result) for guard, result in results if guard is not False]
    if len(possible) == 1 and possible[0][0] is True:
        return possible[0][1]
    fails = some(both(guard, result.fails) for guard, result in possible)
    return Result(
        fails, united((both(guard, inner), atom) for guard, result in possible for inner, atom in result.cases)
    )


def united(cases: Iterable[tuple[Formula, Atom]]) -> Cases:
    """Merge the cases of each simple type into one, except a few known strings."""
    simple: dict[object, tuple[Formula, Atom]] = {}
    others: list[tuple[Formula, Atom]] = []
    for guard, atom in cases:
        if guard is False:
            continue
        if not isinstance(atom, (Bool, Int, SymbolicText, Time, SymbolicDuration, Null, Opaque)):
            others.append((guard, atom))
            continue
        is_text = isinstance(atom, SymbolicText) and isinstance(atom.term, str) and len(simple) < _MAX_TEXTS
        key = atom.term if isinstance(atom, SymbolicText) and is_text else type(atom)
        earlier = simple.get(key)
        simple[key] = (guard, atom) if earlier is None else (either(guard, earlier[0]), _one(guard, atom, earlier[1]))
    return (*simple.values(), *others)


def _one(guard: Formula, atom: Atom, otherwise: Atom) -> Atom:
    match atom, otherwise:
        case SymbolicText(), SymbolicText() if (
            atom.number is not None and atom.unit == otherwise.unit and otherwise.number is not None
        ):
            number = choice(guard, atom.number, otherwise.number)
            return SymbolicText(choice(guard, atom.term, otherwise.term), number, atom.unit)
        case (
            (Bool() | Int() | SymbolicText() | Time() | SymbolicDuration()),
            (Bool() | Int() | SymbolicText() | Time() | SymbolicDuration()),
        ):
            term = choice(guard, atom.term, otherwise.term)
            if isinstance(atom, SymbolicText) and isinstance(otherwise, SymbolicText):
                return SymbolicText(term, pieces=max(atom.pieces, otherwise.pieces))
            if isinstance(atom, Int) and isinstance(otherwise, Int):
                return Int(term, max(atom.degree, otherwise.degree))
            return type(atom)(term)
        case _:
            return atom


def paired(left: Atom, right: Atom) -> tuple[Term, Term] | None:
    """Return the terms of two values of the same simple type; else None."""
    if type(left) is type(right) and isinstance(left, _SIMPLE) and isinstance(right, _SIMPLE):
        return left.term, right.term
    return None


def guarded(guard: Formula, cases: Cases) -> Cases:
    """Add a guard to cases."""
    return tuple((both(guard, inner), atom) for inner, atom in cases)


def failing(results: Sequence[Result]) -> Formula:
    """One of them fails."""
    return some(result.fails for result in results)


def known(value: Tree) -> Cases:
    """Return known data, such as a policy's parameters."""
    match value:
        case None:
            return ((True, Null()),)
        case bool():
            return ((True, Bool(value)),)
        case int() if INT_MIN <= value <= INT_MAX:
            return ((True, Int(value)),)
        case str():
            return ((True, SymbolicText(value)),)
        case list():
            return ((True, SymbolicList(tuple((True, known(item)) for item in value))),)
        case dict():
            return ((True, KnownMap({str(key): known(item) for key, item in value.items()})),)
        case _:
            return ((True, Opaque()),)
