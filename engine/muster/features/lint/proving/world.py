"""Any object at all: what expressions may read, as constants that the solver gives values to.

A field comes to be when an expression reads it, so that an example has what matters and nothing else. What the types
cannot say is in `facts`: texts are among those that a schema lists, elements of a list come one after the other. Lists
have two elements of which everything is known, and further ones of which nothing is.

Two literals narrow what is asked: with `small` lists end after those two, and nothing is unknown that could be known;
with `usual` times lie between 1970 and 2200 and numbers within 31 bits, none of them negative. Examples are looked for
among what is both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from itertools import pairwise
from typing import Final, TypeAlias

import z3

from muster.cel.runtime.conversion import format_span, format_time
from muster.cel.runtime.temporal import SECOND, instant, instant_ns, span
from muster.cel.types import (
    BOOL,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    TIMESTAMP,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    StringType,
    Type,
)
from muster.cel.values import INT_MAX, INT_MIN
from muster.data.tree import Tree
from muster.features.lint.proving.logic import Formula, Term, either, implies, negation, same, within
from muster.features.lint.proving.values import (
    Bool,
    Cases,
    Int,
    KnownMap,
    Null,
    Opaque,
    SymbolicDuration,
    SymbolicList,
    SymbolicText,
    Time,
    WrittenTime,
    guarded,
)

#: How many elements of a list are known; two are what it takes to differ.
KNOWN_ITEMS: Final = 2
#: The timestamps that there are, in nanoseconds: years 1 to 9999.
FIRST, LAST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1
#: The durations that a text can spell.
LONGEST: Final = 315_576_000_000 * SECOND
_USUAL_TIMES = (0, 7_258_118_400 * SECOND)
_USUAL_NUMBER: Final = 2**31 - 1
_HOUR: Final = 3600 * SECOND
#: The instant of examples, where it does not matter.
_NOON: Final = instant_ns(datetime(2026, 1, 1, 12, tzinfo=UTC)) // SECOND


class Model:
    """What the solver found: a value for every constant."""

    def __init__(self, model: z3.ModelRef) -> None:
        self._model = model

    def truth(self, formula: Formula) -> bool:
        """Whether a formula holds."""
        if isinstance(formula, bool):
            return formula
        return bool(z3.is_true(self._model.eval(formula, model_completion=True)))

    def number(self, term: Term) -> int:
        """The value of a number."""
        return term if isinstance(term, int) else self._model.eval(term, model_completion=True).as_long()

    def text(self, term: Term) -> str:
        """The value of a text."""
        if isinstance(term, str):
            return term
        return _unescaped(self._model.eval(term, model_completion=True).as_string())


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicInput:
    """Something that is read: its cases, and how an example of it is read out of a model."""

    cases: Cases
    read: Callable[[Model], Tree]


#: Whether something is there, and what it is.
Entry: TypeAlias = tuple[Formula, SymbolicInput]


@dataclass(slots=True, eq=False)
class Fields:
    """A mapping that is read: its fields come to be when they are asked for."""

    make: Callable[[str], Entry]
    found: dict[str, Entry] = field(default_factory=dict)

    def child(self, key: str) -> Entry:
        """The field of that name."""
        known = self.found.get(key)
        if known is None:
            known = self.found[key] = self.make(key)
        return known

    def entry(self, key: str) -> tuple[Formula, Cases]:
        """The value under a key."""
        present, child = self.child(key)
        return present, child.cases

    def read(self, model: Model) -> Tree:
        """The example."""
        return {key: child.read(model) for key, (present, child) in self.found.items() if model.truth(present)}


class SymbolicWorld:
    """All that may be read, in a context of its own: what is asked of one policy does not depend on what was asked of
    others."""

    def __init__(self, schema_at: Callable[[str], Mapping[str, Tree]] = lambda _: {}) -> None:
        """Begin; `schema_at` has what else is known of an input, by its path."""
        self._schema_at = schema_at
        self.context = z3.Context()
        self._constants = 0
        self.facts: list[Formula] = []
        #: What makes an example shorter or plainer, in the order in which it is tried.
        self.wishes: list[Formula] = []
        self.small, self.usual = self.truth("small"), self.truth("usual")
        self._second = self.number("now")
        self.now: Term = self._second * SECOND
        self.fact(within(FIRST // SECOND, self._second, LAST // SECOND))
        self.usually(within(_USUAL_TIMES[0] // SECOND, self._second, _USUAL_TIMES[1] // SECOND))
        self.wishes.append(self._second == _NOON)

    def truth(self, name: str = "?") -> Formula:
        """A constant that is true or false."""
        return z3.Bool(self._name(name), self.context)

    def number(self, name: str = "?") -> Term:
        """A constant that is a number of any size."""
        return z3.Int(self._name(name), self.context)

    def between(self, low: int, high: Term, name: str = "?") -> Term:
        """A constant that is a number of a range."""
        number = self.number(name)
        self.fact(within(low, number, high))
        return number

    def text(self, name: str = "?") -> Term:
        """A constant that is a text."""
        return z3.String(self._name(name), self.context)

    def _name(self, name: str) -> str:
        """Return a name that no other constant has."""
        self._constants += 1
        return f"{name}#{self._constants}"

    def fact(self, formula: Formula) -> None:
        """State what is so of every object."""
        if formula is not True:
            self.facts.append(formula)

    def usually(self, formula: Formula) -> None:
        """State what is so of any object that is likely to be met."""
        self.fact(implies(self.usual, formula))

    def in_our_time(self) -> None:
        """State that `now` lies between 1970 and 2200: it is the clock's, and not any object's."""
        self.fact(within(_USUAL_TIMES[0] // SECOND, self._second, _USUAL_TIMES[1] // SECOND))

    # -- what is read -------------------------------------------------------------------------------------------

    def input(self, type_: Type, path: str) -> SymbolicInput:
        """Return any value of a type; `path` names it."""
        if type_ == BOOL:
            truth = self.truth(path)
            return SymbolicInput(((True, Bool(truth)),), lambda model: model.truth(truth))
        if type_ == INT:
            schema = self._schema_at(path)
            return self.integer(path, schema.get("minimum", INT_MIN), schema.get("maximum", INT_MAX))
        if type_ == TIMESTAMP:
            return self.time(path)
        if type_ == DURATION:
            return self._span(path)
        if type_ == DOUBLE:
            return SymbolicInput(((True, Opaque()),), lambda _: 0.5)
        match type_:
            case StringType():
                return self._text(path, type_.values)
            case NullableType():
                return self._nullable(self.input(type_.element, path), path)
            case ListType():
                return self._list(type_, path)
            case MapType():
                return self.mapping(lambda _: self.optional(type_.value, f"{path}[key]"))
            case ObjectType():
                return self.mapping(lambda key: self._field(type_, key, path))
            case _:
                return self._anything(path)

    def integer(self, path: str, low: int, high: int, most_usual: int = _USUAL_NUMBER) -> SymbolicInput:
        """Return any number of a range."""
        number = self.between(low, high, path)
        self.usually(within(0, number, most_usual))
        self.wishes += [number == 60, number == 1, number == 0]
        return SymbolicInput(((True, Int(number)),), lambda model: model.number(number))

    def time(self, path: str) -> SymbolicInput:
        """Return any timestamp, as data spells it."""
        number = self.between(FIRST, LAST, path)
        self.usually(within(_USUAL_TIMES[0], number, _USUAL_TIMES[1]))
        self.wishes += [
            number == self.now,
            number == self.now - _HOUR,
            number == self.now + _HOUR,
            number % SECOND == 0,
        ]
        return SymbolicInput(
            ((True, WrittenTime(Time(number))),), lambda model: format_time(instant(model.number(number)))
        )

    def _span(self, path: str) -> SymbolicInput:
        longest = self._schema_at(path).get("longest")
        low, high = (-LONGEST, LONGEST) if longest is None else (0, int(longest) * SECOND)
        number = self.between(low, high, path)
        self.usually(within(0, number, _USUAL_TIMES[1]))
        self.wishes += [number == 60 * SECOND, number % SECOND == 0]
        return SymbolicInput(
            ((True, WrittenTime(SymbolicDuration(number))),), lambda model: format_span(span(model.number(number)))
        )

    def _text(self, path: str, values: tuple[str, ...] | None) -> SymbolicInput:
        if values is not None and len(values) == 1:
            return SymbolicInput(((True, SymbolicText(values[0])),), lambda _: values[0])
        if values is not None:
            return self._one_of(path, values)
        text = self.text(path)
        if self._schema_at(path).get("minLength"):
            self.fact(negation(same(text, "")))
        self.wishes += [same(text, "x"), same(text, "y"), same(text, "")]
        return SymbolicInput(((True, SymbolicText(text)),), lambda model: model.text(text))

    def _one_of(self, path: str, values: tuple[str, ...]) -> SymbolicInput:
        number = self.between(0, len(values) - 1, path)
        cases = tuple((number == index, SymbolicText(value)) for index, value in enumerate(values))
        return SymbolicInput(cases, lambda model: values[model.number(number)])

    def _nullable(self, inner: SymbolicInput, path: str) -> SymbolicInput:
        null = self.truth(f"{path} is null")
        self.wishes.append(negation(null))
        cases = ((null, Null()), *guarded(negation(null), inner.cases))
        return SymbolicInput(cases, lambda model: None if model.truth(null) else inner.read(model))

    def _list(self, type_: ListType, path: str) -> SymbolicInput:
        most = KNOWN_ITEMS if type_.max_items is None else min(KNOWN_ITEMS, type_.max_items)
        guards = [self.truth(f"{path}[{index}] is there") for index in range(most)]
        for earlier, later in pairwise(guards):
            self.fact(implies(later, earlier))
        self.wishes += map(negation, guards)
        items = [self.input(type_.element, f"{path}[{index}]") for index in range(most)]
        rest: Term = 0
        if type_.max_items is None or type_.max_items > most:
            rest = self.between(0, INT_MAX, f"{path} further")  # the most that a type names may be an estimate of costs
            self.fact(either(rest == 0, *guards[-1:]))
            self.fact(implies(self.small, rest == 0))
        further = lambda: (True, self.input(type_.element, f"{path}[further]").cases)  # noqa: E731
        listed = SymbolicList(
            tuple((guard, item.cases) for guard, item in zip(guards, items, strict=True)), rest, further
        )

        def read(model: Model) -> Tree:
            return [item.read(model) for guard, item in zip(guards, items, strict=True) if model.truth(guard)]

        return SymbolicInput(((True, listed),), read)

    @staticmethod
    def mapping(make: Callable[[str], Entry]) -> SymbolicInput:
        """Return a mapping whose fields are made when they are asked for."""
        fields = Fields(make)
        return SymbolicInput(((True, fields),), fields.read)

    def optional(self, type_: Type, path: str) -> Entry:
        """Return a field that may be absent."""
        present = self.truth(f"has({path})")
        self.wishes.append(negation(present))
        return present, self.input(type_, path)

    def _field(self, type_: ObjectType, key: str, path: str) -> Entry:
        known = type_.fields.get(key)
        inner = f"{path}[key]" if known is None else f"{path}.{key}"  # any other name may look like a path itself
        if known is not None and known.required:
            return True, self.input(known.type, inner)
        if known is not None:
            return self.optional(known.type, inner)
        present, child = self.optional(type_.additional or DYN, inner)
        if type_.additional is None:  # a schema may be silent of a field, and no example rests on one
            self.fact(implies(self.small, negation(present)))
        return present, child

    def _anything(self, path: str) -> SymbolicInput:
        """Return a value of which the types know nothing: it may be any, and an example is of a simple sort."""
        sorts = [
            self.input(StringType(), f"{path} as text"), self.input(BOOL, f"{path} as bool"),
            self.input(INT, f"{path} as int"), self.time(f"{path} as time"), self._span(f"{path} as duration"),
            self.mapping(lambda _: self.optional(DYN, f"{path}[key]")),
            SymbolicInput(((True, Null()),), lambda _: None),
        ]  # fmt: skip
        sort = self.between(0, len(sorts), f"{path} is a")
        self.fact(implies(self.small, negation(sort == len(sorts))))
        cases = (*(case for index, one in enumerate(sorts) for case in guarded(sort == index, one.cases)),
                 (sort == len(sorts), Opaque()))  # fmt: skip

        def read(model: Model) -> Tree:
            chosen = model.number(sort)
            return sorts[chosen].read(model) if chosen < len(sorts) else None

        return SymbolicInput(cases, read)

    def moment(self) -> SymbolicInput:
        """Return `now`."""
        return SymbolicInput(((True, Time(self.now)),), lambda model: format_time(instant(model.number(self.now))))


def known(value: Tree) -> Cases:
    """Return data that is there already, such as a policy's parameters."""
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


def _unescaped(text: str) -> str:
    """Read a text as z3 writes it."""
    pieces = text.split("\\u{")
    found = pieces[0]
    for piece in pieces[1:]:
        digits, _, rest = piece.partition("}")
        found += chr(int(digits, 16)) + rest
    return found


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

    def __init__(self, world: SymbolicWorld, most_steps: int = MOST_STEPS) -> None:
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
