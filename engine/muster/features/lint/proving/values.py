"""What an expression can be: its possible values, each with when it is that one, and when there is none.

CEL looks at the types of values when it evaluates, and data may be of several: a field that is null or a time. So a
value is a few *cases*, a guard and an atom each; where the evaluation does not fail, exactly one guard holds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, runtime_checkable

from muster.features.lint.proving.logic import Formula, Term, before, both, choice, either, some, total


@dataclass(frozen=True, slots=True, eq=False)
class Bool:
    """A truth value."""

    term: Term


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """A whole number, within 64 bits. `degree`: so many unknown numbers are multiplied in it."""

    term: Term
    degree: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicText:
    """A text of so many `pieces`. `number` and `unit`: it is the digits of this number and then this, as in
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
    """A text in data that spells a timestamp or a duration, and becomes one where it is read as such."""

    of: "Time | SymbolicDuration"


@dataclass(frozen=True, slots=True)
class Null:
    """null"""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of which nothing is known: it may be any, and another one each time it is looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """An optional: whether there is a value, and which."""

    present: Formula
    cases: "Cases"


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicList:
    """A list: elements that may be there, in their order, and `rest` further ones. `further` makes any one of those,
    with when it is there; without it nothing is known of them."""

    items: "tuple[tuple[Formula, Cases], ...]"
    rest: Term = 0
    further: "Callable[[], tuple[Formula, Cases]] | None" = None

    def another(self) -> "tuple[Formula, Cases]":
        """One of the further elements: what is so of some of them is so of this one, in one example or another."""
        more = before(0, self.rest, strictly=True)
        if more is False or self.further is None:
            return more, ((True, Opaque()),)
        guard, cases = self.further()
        return both(more, guard), cases


def size_of(listed: SymbolicList) -> Term:
    """How many elements a list has."""
    return total([*(choice(guard, 1, 0) for guard, _ in listed.items), listed.rest])


@runtime_checkable
class Keyed(Protocol):
    """A map or an object: by key whether there is a value, and which."""

    def entry(self, key: str) -> "tuple[Formula, Cases]":
        """The value under a key."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Lazy:
    """A map whose values may fail when they are asked for: a policy's `variables`."""

    names: frozenset[str]
    value: "Callable[[str], Result]"


@dataclass(frozen=True, slots=True, eq=False)
class KnownMap:
    """A map that is written out, or known beforehand."""

    entries: "Mapping[str, Cases]"

    def entry(self, key: str) -> "tuple[Formula, Cases]":
        """The value under a key."""
        found = self.entries.get(key)
        return (found is not None, found or NOTHING)


Atom: TypeAlias = (
    "Bool | Int | SymbolicText | Time | SymbolicDuration | WrittenTime | Null | Opaque | Optional | SymbolicList | Lazy"
    " | Keyed"
)
Cases: TypeAlias = tuple[tuple[Formula, Atom], ...]
_MOST_TEXTS: Final = 12
_SIMPLE = (Bool, Int, SymbolicText, Time, SymbolicDuration)
#: The value of what never has one.
NOTHING: Cases = ()


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What an evaluation gives: when it fails, else a value."""

    fails: Formula
    cases: Cases = field(default=NOTHING)


def given(cases: Cases) -> Result:
    """The result that is one of these, and never fails."""
    return Result(fails=False, cases=cases)


def surely(atom: Atom) -> Result:
    """The result that is this, always."""
    return given(((True, atom),))


#: What always fails.
FAILURE = Result(fails=True)


def merged(results: Iterable[tuple[Formula, Result]]) -> Result:
    """Return the one result whose guard holds; no two of them do."""
    known = [(guard, result) for guard, result in results if guard is not False]
    if len(known) == 1 and known[0][0] is True:
        return known[0][1]
    fails = some(both(guard, result.fails) for guard, result in known)
    return Result(fails, united((both(guard, inner), atom) for guard, result in known for inner, atom in result.cases))


def united(cases: Iterable[tuple[Formula, Atom]]) -> Cases:
    """Return the same cases with those of one simple type made one; known texts stay apart, while they are few."""
    simple: dict[object, tuple[Formula, Atom]] = {}
    others: list[tuple[Formula, Atom]] = []
    for guard, atom in cases:
        if guard is False:
            continue
        if not isinstance(atom, (Bool, Int, SymbolicText, Time, SymbolicDuration, Null, Opaque)):
            others.append((guard, atom))
            continue
        known = isinstance(atom, SymbolicText) and isinstance(atom.term, str) and len(simple) < _MOST_TEXTS
        key = atom.term if isinstance(atom, SymbolicText) and known else type(atom)
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
    """Return the terms of two values of one simple type; None where they are of none, or of two."""
    if type(left) is type(right) and isinstance(left, _SIMPLE) and isinstance(right, _SIMPLE):
        return left.term, right.term
    return None


def guarded(guard: Formula, cases: Cases) -> Cases:
    """Return the cases where something else holds as well."""
    return tuple((both(guard, inner), atom) for inner, atom in cases)


def failing(results: Sequence[Result]) -> Formula:
    """Return that one of them fails."""
    return some(result.fails for result in results)
