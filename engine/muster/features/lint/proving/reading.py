"""Texts that become times and durations: where a type says that data spells one, by `timestamp()` or `duration()`."""

from collections.abc import Callable
from typing import Final

from muster.cel.errors import EvaluationError
from muster.cel.runtime.conversion import parse_span, parse_time
from muster.cel.runtime.temporal import SECOND, instant_ns, span_ns
from muster.cel.types import DOUBLE, DURATION, TIMESTAMP, ListType, NullableType, OptionalType, Type
from muster.features.lint.proving.logic import Term, both, either, negation, some, within
from muster.features.lint.proving.values import (
    FAILURE,
    Atom,
    Int,
    Listed,
    Null,
    Opaque,
    Optional,
    Result,
    Span,
    Text,
    Time,
    Written,
    given,
    merged,
    surely,
)
from muster.features.lint.proving.world import FIRST, LAST, LONGEST, World

_UNITS: Final = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 1000, "ns": 1}


def read_as(world: World, result: Result, kind: Type) -> Result:
    """Return what data gives that is read as a type says."""
    found = merged((guard, _read(world, atom, kind)) for guard, atom in result.cases)
    return Result(either(result.fails, found.fails), found.cases)


def _read(world: World, atom: Atom, kind: Type) -> Result:
    if kind == TIMESTAMP:
        return timestamp(world, atom) if isinstance(atom, (Written, Text, Time, Opaque)) else FAILURE
    if kind == DURATION:
        return duration(world, atom) if isinstance(atom, (Written, Text, Span, Opaque)) else FAILURE
    match kind, atom:
        case (_, Opaque()):
            return Result(world.truth(), ((True, atom),))
        case (NullableType(), Null()):
            return surely(atom)
        case (NullableType(), _):
            return _read(world, atom, kind.element)
        case (OptionalType(), Optional()):
            inner = read_as(world, given(atom.cases), kind.element)
            return Result(both(atom.present, inner.fails), ((True, Optional(atom.present, inner.cases)),))
        case (ListType(), Listed()):
            read = [(guard, read_as(world, given(cases), kind.element)) for guard, cases in atom.items]
            fails = some(both(guard, item.fails) for guard, item in read)
            if not (isinstance(atom.rest, int) and atom.rest == 0):
                fails = either(fails, both(atom.rest > 0, world.truth()))
            return Result(fails, ((True, Listed(tuple((guard, item.cases) for guard, item in read), atom.rest)),))
        case _ if kind == DOUBLE and isinstance(atom, Int):
            return surely(Opaque())
        case _:
            return surely(atom)


def timestamp(world: World, atom: Atom) -> Result:
    """`timestamp(x)`"""
    match atom:
        case Time() | Written(of=Time()):
            return surely(atom if isinstance(atom, Time) else atom.of)
        case Text(term=str()):
            return _parsed(atom.term, lambda text: Time(instant_ns(parse_time(text))))
        case Int():
            number: Term = atom.term * SECOND
            return Result(negation(within(FIRST // SECOND, atom.term, LAST // SECOND)), ((True, Time(number)),))
        case Text() | Opaque():
            number = world.between(FIRST, LAST)
            return Result(world.truth(), ((True, Time(number)),))
        case _:
            return FAILURE


def duration(world: World, atom: Atom) -> Result:
    """`duration(x)`"""
    match atom:
        case Span() | Written(of=Span()):
            return surely(atom if isinstance(atom, Span) else atom.of)
        case Text(term=str()):
            return _parsed(atom.term, lambda text: Span(span_ns(parse_span(text))))
        case Text() if atom.number is not None and atom.unit in _UNITS:
            return _span(atom.number * _UNITS[atom.unit])
        case Int():
            return _span(atom.term * SECOND)
        case Text() | Opaque():
            number = world.between(-LONGEST, LONGEST)
            return Result(world.truth(), ((True, Span(number)),))
        case _:
            return FAILURE


def _span(term: Term) -> Result:
    return Result(negation(within(-LONGEST, term, LONGEST)), ((True, Span(term)),))


def _parsed(text: str, parse: Callable[[str], Atom]) -> Result:
    try:
        return surely(parse(text))
    except EvaluationError:
        return FAILURE
