"""Random expressions and objects for the property tests of the engine and its oracles.

A `Grower` writes an expression of a wanted type, over declared variables, from a seed; with `wild` above zero it
sometimes puts something of another type where one is asked for. `misfit` damages an object as bad data does: fields
dropped, values of another type.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from muster.cel.extent import DEFAULT_ITEMS, DEFAULT_LENGTH
from muster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    StringType,
    Type,
    bare,
)
from muster.cel.values import Json, UInt

NOW: Final = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
_SIMPLE: Final = (INT, STRING, BOOL, DOUBLE, DURATION, TIMESTAMP, UINT, BYTES)
_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
_LITERALS: Final[Mapping[Type, tuple[str, ...]]] = {
    INT: ("0", "1", "2", "3", "-1", "60", "9223372036854775807"),
    UINT: ("0u", "1u", "2u"),
    DOUBLE: ("0.0", "0.5", "1.0", "-2.5", "1e300"),
    STRING: ("''", "'a'", "'True'", "'é'", "'a-b'", "'1'"),
    BYTES: ("b''", "b'a'"),
    BOOL: ("true", "false"),
    NULL: ("null",),
    TIMESTAMP: ("timestamp('2026-01-01T00:00:00Z')", "timestamp('2025-12-31T23:59:30.5Z')"),
    DURATION: ("duration('60s')", "duration('-1h30m')", "duration('0.5s')"),
}


class Grower:
    """Writes expressions. `paths` has texts that read a value, by its type."""

    def __init__(self, random: Random, variables: Mapping[str, Type], wild: float = 0.0) -> None:
        self.random = random
        self.wild = wild
        self.scope: dict[str, Type] = dict(variables)

    def grow(self, type_: Type, depth: int) -> str:
        """Return an expression of the type, at most about `depth` operators deep."""
        if self.random.random() < self.wild:
            type_ = self.random.choice(_SIMPLE)
        if isinstance(type_, StringType):
            type_ = STRING
        if depth <= 0:
            return self.leaf(type_)
        match type_:
            case ListType():
                return self.list_of(type_.element, depth)
            case MapType():
                return self.map_of(type_, depth)
            case _ if type_ in (DYN, NULL):
                return self.leaf(type_)
        return self.random.choice((*self._writers(type_), self.leaf_at, self.choice_of))(type_, depth)

    def _writers(self, type_: Type) -> tuple[Callable[[Type, int], str], ...]:
        conditions = (self.comparison, self.logic, self.membership, self.quantifier, self.test)
        writers: dict[Type, tuple[Callable[[Type, int], str], ...]] = {
            BOOL: (*conditions, self.comparison, self.logic),
            INT: (self.arithmetic, self.arithmetic, self.size, self.calendar),
            STRING: (self.text,),
            DOUBLE: (self.arithmetic,),
            UINT: (self.arithmetic,),
            TIMESTAMP: (self.shifted,),
            DURATION: (self.span,),
        }
        return writers.get(type_, (self.leaf_at,))

    # -- leaves -------------------------------------------------------------------------------------------------

    def leaf_at(self, type_: Type, _depth: int) -> str:
        return self.leaf(type_)

    def leaf(self, type_: Type) -> str:
        """Return a literal, or a path to something that may be of the type."""
        readable = [text for name, found in self.scope.items() for text in self.paths(name, found, type_)]
        if readable and self.random.random() < 0.7:
            return self.random.choice(readable)
        match type_:
            case ListType():
                return f"[{self.leaf(type_.element)}]"
            case MapType():
                return f"{{{self.leaf(type_.key)}: {self.leaf(type_.value)}}}"
        return self.random.choice(_LITERALS.get(type_, ("null", "1", "'a'")))

    def paths(self, text: str, found: Type, wanted: Type, depth: int = 4) -> list[str]:
        """Return the ways to read something of the wanted type out of a value."""
        found = bare(found)
        here = [text] if found in (wanted, DYN) or (isinstance(found, StringType) and wanted == STRING) else []
        if depth == 0:
            return here
        match found:
            case ObjectType():
                for name, field in found.fields.items():
                    here += self.paths(f"{text}.{name}", field.type, wanted, depth - 1)
            case ListType():
                here += self.paths(f"{text}[{self.random.randrange(3)}]", found.element, wanted, depth - 1)
                here += [text] if isinstance(wanted, ListType) and wanted.element in (found.element, DYN) else []
            case MapType():
                here += self.paths(f"{text}['a']", found.value, wanted, depth - 1)
        return here

    # -- one writer per construct -------------------------------------------------------------------------------

    def choice_of(self, type_: Type, depth: int) -> str:
        branches = (self.grow(type_, depth - 1) for _ in range(2))
        return "({} ? {} : {})".format(self.grow(BOOL, depth - 1), *branches)

    def comparison(self, _type: Type, depth: int) -> str:
        kind = self.random.choice(_SIMPLE)
        left, right = self.grow(kind, depth - 1), self.grow(kind, depth - 1)
        return f"({left} {self.random.choice(_COMPARISONS)} {right})"

    def logic(self, _type: Type, depth: int) -> str:
        if self.random.random() < 0.2:
            return f"!{self.grow(BOOL, depth - 1)}" if self.random.random() < 0.5 else "!(1 > 2)"
        return f"({self.grow(BOOL, depth - 1)} {self.random.choice(('&&', '||'))} {self.grow(BOOL, depth - 1)})"

    def membership(self, _type: Type, depth: int) -> str:
        kind = self.random.choice((INT, STRING))
        container: Type = ListType(kind) if self.random.random() < 0.7 else MapType(STRING, STRING)
        element = STRING if isinstance(container, MapType) else kind
        return f"({self.grow(element, depth - 1)} in {self.grow(container, depth - 1)})"

    def test(self, _type: Type, depth: int) -> str:
        if self.random.random() < 0.5:
            selections = [text for text in self._selections() if not text.endswith("]")]
            if selections:
                return f"has({self.random.choice(selections)})"
        method = self.random.choice(("startsWith", "endsWith", "contains", "matches"))
        argument = "'a|b'" if method == "matches" else self.grow(STRING, depth - 1)
        return f"{self.grow(STRING, depth - 1)}.{method}({argument})"

    def _selections(self) -> list[str]:
        wanted = (STRING, INT, BOOL, DYN, TIMESTAMP)
        found = [
            text for name, type_ in self.scope.items() for kind in wanted for text in self.paths(name, type_, kind)
        ]
        return [text for text in found if "." in text]

    def quantifier(self, _type: Type, depth: int) -> str:
        macro = self.random.choice(("all", "exists", "exists_one"))
        ranged, element = self.some_list(depth)
        body = self.within({self.variable(depth): element}, BOOL, depth)
        return f"{ranged}.{macro}({self.variable(depth)}, {body})"

    def variable(self, depth: int) -> str:
        return f"v{abs(depth)}"

    def within(self, variables: Mapping[str, Type], type_: Type, depth: int) -> str:
        """Grow a body in which further variables are known."""
        outer = self.scope
        self.scope = {**outer, **variables}
        text = self.grow(type_, depth - 1)
        self.scope = outer
        return text

    def some_list(self, depth: int) -> tuple[str, Type]:
        """Return a list and the type of its elements: out of a variable, or made."""
        lists = [(text, element) for name, type_ in self.scope.items() for text, element in _lists(name, type_)]
        if lists and self.random.random() < 0.7:
            return self.random.choice(lists)
        kind = self.random.choice((INT, STRING))
        return self.list_of(kind, depth - 1), kind

    def arithmetic(self, type_: Type, depth: int) -> str:
        operators = ("+", "-", "*", "/") if type_ == DOUBLE else ("+", "-", "*", "/", "%")
        return f"({self.grow(type_, depth - 1)} {self.random.choice(operators)} {self.grow(type_, depth - 1)})"

    def size(self, _type: Type, depth: int) -> str:
        kind = self.random.choice((STRING, ListType(INT), ListType(STRING), MapType(STRING, STRING)))
        return f"size({self.grow(kind, depth - 1)})"

    def calendar(self, _type: Type, depth: int) -> str:
        if self.random.random() < 0.3:
            return f"int({self.grow(self.random.choice((STRING, DOUBLE, TIMESTAMP)), depth - 1)})"
        method = self.random.choice(("getHours", "getMinutes", "getSeconds"))
        return f"{self.grow(self.random.choice((TIMESTAMP, DURATION)), depth - 1)}.{method}()"

    def text(self, _type: Type, depth: int) -> str:
        if self.random.random() < 0.5:
            return f"({self.grow(STRING, depth - 1)} + {self.grow(STRING, depth - 1)})"
        return f"string({self.grow(self.random.choice((INT, BOOL, STRING)), depth - 1)})"

    def shifted(self, _type: Type, depth: int) -> str:
        return f"({self.grow(TIMESTAMP, depth - 1)} {self.random.choice('+-')} {self.grow(DURATION, depth - 1)})"

    def span(self, _type: Type, depth: int) -> str:
        kind = self.random.choice((TIMESTAMP, DURATION))
        operator = "-" if kind == TIMESTAMP else self.random.choice("+-")
        return f"({self.grow(kind, depth - 1)} {operator} {self.grow(kind, depth - 1)})"

    def list_of(self, element: Type, depth: int) -> str:
        choice = self.random.random()
        if choice < 0.3:
            return f"[{', '.join(self.grow(element, depth - 1) for _ in range(self.random.randrange(4)))}]"
        if choice < 0.45:
            return f"({self.list_of(element, depth - 1)} + {self.leaf(ListType(element))})"
        ranged, kind = self.some_list(depth)
        name = self.variable(depth)
        if choice < 0.7 and kind == element:
            return f"{ranged}.filter({name}, {self.within({name: kind}, BOOL, depth)})"
        return f"{ranged}.map({name}, {self.within({name: kind}, element, depth)})"

    def map_of(self, type_: MapType, depth: int) -> str:
        entries = (
            f"{self.grow(type_.key, depth - 1)}: {self.grow(type_.value, depth - 1)}"
            for _ in range(self.random.randrange(3))
        )
        return f"{{{', '.join(entries)}}}"


def _lists(text: str, type_: Type, depth: int = 3) -> list[tuple[str, Type]]:
    match type_:
        case ListType():
            return [(text, type_.element)]
        case ObjectType() if depth:
            return [
                found
                for name, field in type_.fields.items()
                for found in _lists(f"{text}.{name}", field.type, depth - 1)
            ]
    return []


def fitting(random: Random, type_: Type) -> Json:
    """Return plain data of the type, as YAML would give it: instants and durations are texts in it."""
    match type_:
        case StringType(values=tuple() as values):
            return random.choice(values)
        case StringType():
            return random.choice(("", "a", "b", "True", "é-a", "1", "2026-01-01T00:00:00Z"))[: type_.max_length]
        case ListType():
            return [fitting(random, type_.element) for _ in range(min(random.randrange(4), type_.max_items or 4))]
        case MapType():
            return {key: fitting(random, type_.value) for key in random.sample("abcd", random.randrange(4))}
        case NullableType():
            return None if random.random() < 0.3 else fitting(random, type_.element)
        case ObjectType():
            present = {name: field for name, field in type_.fields.items() if field.required or random.random() < 0.8}
            return {name: fitting(random, field.type) for name, field in present.items()}
    scalars: Mapping[Type, tuple[Json, ...]] = {
        INT: (0, 1, 2, 60, -5, 2**62),
        DOUBLE: (0.0, 0.5, -2.5, 1e300, 2),
        BOOL: (True, False),
        TIMESTAMP: ("2026-01-01T00:00:00Z", "2025-12-31T23:59:00.25Z"),
        DURATION: ("60s", "1h30m"),
        DYN: (1, "a", True, None, [1, 2], {"a": 1}, 0.5),
    }
    return random.choice(scalars.get(type_, (None,)))


def variable_of(random: Random, type_: Type, damage: float = 0.0) -> Any:
    """Return a value for a variable of the type: data for what comes from files, else the engine's own classes."""
    match type_:
        case _ if type_ == UINT:
            return UInt(random.choice((0, 1, 2)))
        case _ if type_ == BYTES:
            return random.choice((b"", b"a"))
        case _ if type_ == TIMESTAMP:
            return NOW
        case _ if type_ == DURATION:
            return timedelta(seconds=random.choice((0, 60, -5.5)))
    data = fitting(random, type_)
    return misfit(random, data, damage) if damage else data


def swollen(random: Random, type_: Type, tree: Json) -> Json:
    """Return data that fits as well, but as large as the type lets it be, or as is assumed where nothing bounds it."""
    match type_, tree:
        case StringType(values=None), str():
            return ("é" if random.random() < 0.3 else "a") * (type_.max_length or DEFAULT_LENGTH)
        case ListType(), list():
            items = [swollen(random, type_.element, item) for item in tree] or [fitting(random, type_.element)]
            return (items * DEFAULT_ITEMS)[: min(type_.max_items or DEFAULT_ITEMS, 150)]
        case MapType(), dict():
            values = [swollen(random, type_.value, item) for item in tree.values()] or [fitting(random, type_.value)]
            count = min(type_.max_items or DEFAULT_ITEMS, 150)
            return {f"key-{position}": values[position % len(values)] for position in range(count)}
        case ObjectType(), dict():
            return {name: swollen(random, type_.fields[name].type, value) for name, value in tree.items()}
    return tree


def misfit(random: Random, tree: Json, damage: float) -> Json:
    """Return the tree with some fields dropped and some values exchanged for ones of another type."""
    if random.random() < damage:
        return random.choice((None, 1, "a", True, [], {}, 2.5, [1, "a"], {"a": None}))
    if isinstance(tree, dict):
        return {key: misfit(random, value, damage) for key, value in tree.items() if random.random() >= damage}
    if isinstance(tree, list):
        return [misfit(random, value, damage) for value in tree]
    return tree
