"""Symbolic inputs: any value of a type, as constants to which the solver gives values.

A field is made when an expression reads it, so that an example has only what matters. `facts` say what types cannot:
strings are among those that a schema lists, elements of a list have no gaps. Lists have two known elements and further
unknown ones.

Two literals narrow a question: with `small` lists end after those two, and no value is unknown if it can be known; with
`usual` times lie between 1970 and 2200, and numbers have 31 bits and are not negative. Examples are sought with both.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import UTC, datetime
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
from muster.dataclass import dataclass
from muster.features.lint.proving.logic import Formula, Model, Term, either, implies, negation, same, within
from muster.features.lint.proving.values import (
    Bool,
    Cases,
    Int,
    Null,
    Opaque,
    SymbolicDuration,
    SymbolicList,
    SymbolicText,
    Time,
    WrittenTime,
    guarded,
)

#: How many elements of a list are known; two can differ.
KNOWN_ITEMS: Final = 2
#: The range of timestamps, in nanoseconds: years 1 to 9999.
FIRST, LAST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1
#: The longest duration that a string can have, in nanoseconds.
LONGEST: Final = 315_576_000_000 * SECOND
_USUAL_TIMES = (0, 7_258_118_400 * SECOND)
_USUAL_NUMBER: Final = 2**31 - 1
_HOUR: Final = 3600 * SECOND
#: The instant of examples if it does not matter, in seconds.
_NOON: Final = instant_ns(datetime(2026, 1, 1, 12, tzinfo=UTC)) // SECOND


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicInput:
    """An input: its cases, and how to read its example from a model."""

    cases: Cases
    read: Callable[[Model], Tree]


#: When an input is present, and the input.
Entry: TypeAlias = tuple[Formula, SymbolicInput]


@dataclass(slots=True, eq=False)
class Fields:
    """A mapping input: its fields are made when they are read."""

    make: Callable[[str], Entry]
    found: dict[str, Entry] = field(default_factory=dict)

    def child(self, key: str) -> Entry:
        """The field with a name."""
        entry = self.found.get(key)
        if entry is None:
            entry = self.found[key] = self.make(key)
        return entry

    def entry(self, key: str) -> tuple[Formula, Cases]:
        """The value under a key."""
        present, child = self.child(key)
        return present, child.cases

    def read(self, model: Model) -> Tree:
        """The example in a model."""
        return {key: child.read(model) for key, (present, child) in self.found.items() if model.truth(present)}


class SymbolicWorld:
    """The constants and facts of one policy, in a context of their own: answers do not depend on other policies."""

    def __init__(self, schema_at: Callable[[str], Mapping[str, Tree]] = lambda _: {}) -> None:
        """`schema_at`: the schema of an input, by its path."""
        self._schema_at = schema_at
        self.context = z3.Context()
        self._constants = 0
        self.facts: list[Formula] = []
        #: Formulas that make an example shorter or simpler, in the order in which they are tried.
        self.preferences: list[Formula] = []
        self.small, self.usual = self.truth("small"), self.truth("usual")
        self._second = self.number("now")
        self.now: Term = self._second * SECOND
        self.fact(within(FIRST // SECOND, self._second, LAST // SECOND))
        self.usually(within(_USUAL_TIMES[0] // SECOND, self._second, _USUAL_TIMES[1] // SECOND))
        self.preferences.append(self._second == _NOON)

    def truth(self, name: str = "?") -> Formula:
        """A Boolean constant."""
        return z3.Bool(self._name(name), self.context)

    def number(self, name: str = "?") -> Term:
        """An integer constant without bounds."""
        return z3.Int(self._name(name), self.context)

    def between(self, low: int, high: Term, name: str = "?") -> Term:
        """An integer constant in a range."""
        number = self.number(name)
        self.fact(within(low, number, high))
        return number

    def text(self, name: str = "?") -> Term:
        """A string constant."""
        return z3.String(self._name(name), self.context)

    def _name(self, name: str) -> str:
        """Return a unique name."""
        self._constants += 1
        return f"{name}#{self._constants}"

    def fact(self, formula: Formula) -> None:
        """Assert a formula."""
        if formula is not True:
            self.facts.append(formula)

    def usually(self, formula: Formula) -> None:
        """Assert a formula for usual objects."""
        self.fact(implies(self.usual, formula))

    def in_our_time(self) -> None:
        """Assert that `now`, which is the clock's, lies between 1970 and 2200."""
        self.fact(within(_USUAL_TIMES[0] // SECOND, self._second, _USUAL_TIMES[1] // SECOND))

    # -- what is read -------------------------------------------------------------------------------------------

    def input(self, type_: Type, path: str) -> SymbolicInput:
        """Return an input with any value of a type; `path` names it."""
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
        """Return any number in a range."""
        number = self.between(low, high, path)
        self.usually(within(0, number, most_usual))
        self.preferences += [number == 60, number == 1, number == 0]
        return SymbolicInput(((True, Int(number)),), lambda model: model.number(number))

    def time(self, path: str) -> SymbolicInput:
        """Return any timestamp, as a string in data."""
        number = self.between(FIRST, LAST, path)
        self.usually(within(_USUAL_TIMES[0], number, _USUAL_TIMES[1]))
        self.preferences += [
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
        self.preferences += [number == 60 * SECOND, number % SECOND == 0]
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
        self.preferences += [same(text, "x"), same(text, "y"), same(text, "")]
        return SymbolicInput(((True, SymbolicText(text)),), lambda model: model.text(text))

    def _one_of(self, path: str, values: tuple[str, ...]) -> SymbolicInput:
        number = self.between(0, len(values) - 1, path)
        cases = tuple((number == index, SymbolicText(value)) for index, value in enumerate(values))
        return SymbolicInput(cases, lambda model: values[model.number(number)])

    def _nullable(self, inner: SymbolicInput, path: str) -> SymbolicInput:
        null = self.truth(f"{path} is null")
        self.preferences.append(negation(null))
        cases = ((null, Null()), *guarded(negation(null), inner.cases))
        return SymbolicInput(cases, lambda model: None if model.truth(null) else inner.read(model))

    def _list(self, type_: ListType, path: str) -> SymbolicInput:
        most = KNOWN_ITEMS if type_.max_items is None else min(KNOWN_ITEMS, type_.max_items)
        guards = [self.truth(f"{path}[{index}] is there") for index in range(most)]
        for earlier, later in pairwise(guards):
            self.fact(implies(later, earlier))
        self.preferences += map(negation, guards)
        items = [self.input(type_.element, f"{path}[{index}]") for index in range(most)]
        rest: Term = 0
        if type_.max_items is None or type_.max_items > most:
            rest = self.between(0, INT_MAX, f"{path} further")  # a type's max_items may be an estimate of costs
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
        """Return a mapping whose fields are made when they are read."""
        fields = Fields(make)
        return SymbolicInput(((True, fields),), fields.read)

    def optional(self, type_: Type, path: str) -> Entry:
        """Return a field that may be absent."""
        present = self.truth(f"has({path})")
        self.preferences.append(negation(present))
        return present, self.input(type_, path)

    def _field(self, type_: ObjectType, key: str, path: str) -> Entry:
        declared = type_.fields.get(key)
        inner = f"{path}[key]" if declared is None else f"{path}.{key}"  # any other key could contain a path
        if declared is not None and declared.required:
            return True, self.input(declared.type, inner)
        if declared is not None:
            return self.optional(declared.type, inner)
        present, child = self.optional(type_.additional or DYN, inner)
        if type_.additional is None:  # no example uses a field that the schema does not have
            self.fact(implies(self.small, negation(present)))
        return present, child

    def _anything(self, path: str) -> SymbolicInput:
        """Return a value of unknown type; examples have a simple type."""
        sorts = [
            self.input(StringType(), f"{path} as text"),
            self.input(BOOL, f"{path} as bool"),
            self.input(INT, f"{path} as int"),
            self.time(f"{path} as time"),
            self._span(f"{path} as duration"),
            self.mapping(lambda _: self.optional(DYN, f"{path}[key]")),
            SymbolicInput(((True, Null()),), lambda _: None),
        ]
        sort = self.between(0, len(sorts), f"{path} is a")
        self.fact(implies(self.small, negation(sort == len(sorts))))
        cases = (
            *(case for index, value in enumerate(sorts) for case in guarded(sort == index, value.cases)),
            (sort == len(sorts), Opaque()),
        )

        def read(model: Model) -> Tree:
            chosen = model.number(sort)
            return sorts[chosen].read(model) if chosen < len(sorts) else None

        return SymbolicInput(cases, read)

    def moment(self) -> SymbolicInput:
        """Return `now`."""
        return SymbolicInput(((True, Time(self.now)),), lambda model: format_time(instant(model.number(self.now))))
