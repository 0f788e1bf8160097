"""Symbolic operators and functions of CEL. The result of one that is missing here is unknown."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from muster.cel.errors import EvaluationError
from muster.cel.runtime.conversion import parse_span, parse_time
from muster.cel.runtime.temporal import SECOND, instant_ns, span_ns
from muster.cel.types import DOUBLE, DURATION, TIMESTAMP, ListType, NullableType, OptionalType, Type
from muster.cel.values import INT_MAX, INT_MIN
from muster.features.lint.proving import logic
from muster.features.lint.proving.arithmetic import arithmetic, equal, equal_cases, extreme, fitting, negative, order
from muster.features.lint.proving.logic import Formula, Term, both, either, negation, same, some, within
from muster.features.lint.proving.unknown import some_answer, some_text, some_truth, unknown
from muster.features.lint.proving.values import (
    FAILURE,
    Atom,
    Bool,
    Int,
    Keyed,
    KnownMap,
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
    failing,
    given,
    guarded,
    merged,
    size_of,
    surely,
)
from muster.features.lint.proving.world import FIRST, LAST, LONGEST, SymbolicWorld

_UNITS: Final = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 1000, "ns": 1}


def read_as(world: SymbolicWorld, result: Result, kind: Type) -> Result:
    """Return the result of reading data as a type."""
    value = merged((guard, _read(world, atom, kind)) for guard, atom in result.cases)
    return Result(either(result.fails, value.fails), value.cases)


def _read(world: SymbolicWorld, atom: Atom, kind: Type) -> Result:
    if kind == TIMESTAMP:
        return timestamp(world, atom) if isinstance(atom, (WrittenTime, SymbolicText, Time, Opaque)) else FAILURE
    if kind == DURATION:
        readable = isinstance(atom, (WrittenTime, SymbolicText, SymbolicDuration, Opaque))
        return duration(world, atom) if readable else FAILURE
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
        case (ListType(), SymbolicList()):
            read = [(guard, read_as(world, given(cases), kind.element)) for guard, cases in atom.items]
            fails = some(both(guard, item.fails) for guard, item in read)
            if not (isinstance(atom.rest, int) and atom.rest == 0):
                fails = either(fails, both(atom.rest > 0, world.truth()))
            return Result(fails, ((True, SymbolicList(tuple((guard, item.cases) for guard, item in read), atom.rest)),))
        case _ if kind == DOUBLE and isinstance(atom, Int):
            return surely(Opaque())
        case _:
            return surely(atom)


def timestamp(world: SymbolicWorld, atom: Atom) -> Result:
    """`timestamp(x)`"""
    match atom:
        case Time() | WrittenTime(of=Time()):
            return surely(atom if isinstance(atom, Time) else atom.of)
        case SymbolicText(term=str()):
            return _parsed(atom.term, lambda text: Time(instant_ns(parse_time(text))))
        case Int():
            number: Term = atom.term * SECOND
            return Result(negation(within(FIRST // SECOND, atom.term, LAST // SECOND)), ((True, Time(number)),))
        case SymbolicText() | Opaque():
            number = world.between(FIRST, LAST)
            return Result(world.truth(), ((True, Time(number)),))
        case _:
            return FAILURE


def duration(world: SymbolicWorld, atom: Atom) -> Result:
    """`duration(x)`"""
    match atom:
        case SymbolicDuration() | WrittenTime(of=SymbolicDuration()):
            return surely(atom if isinstance(atom, SymbolicDuration) else atom.of)
        case SymbolicText(term=str()):
            return _parsed(atom.term, lambda text: SymbolicDuration(span_ns(parse_span(text))))
        case SymbolicText() if atom.number is not None and atom.unit in _UNITS:
            return _span(atom.number * _UNITS[atom.unit])
        case Int():
            return _span(atom.term * SECOND)
        case SymbolicText() | Opaque():
            number = world.between(-LONGEST, LONGEST)
            return Result(world.truth(), ((True, SymbolicDuration(number)),))
        case _:
            return FAILURE


def _span(term: Term) -> Result:
    return Result(negation(within(-LONGEST, term, LONGEST)), ((True, SymbolicDuration(term)),))


def _parsed(text: str, parse: Callable[[str], Atom]) -> Result:
    try:
        return surely(parse(text))
    except EvaluationError:
        return FAILURE


#: Limit of the pairs of cases of two operands.
_MAX_PAIRS: Final = 400
#: Functions of strings that never fail and give a string, with the number of their arguments.
_STRING_FUNCTIONS: Final = {"lowerAscii": 1, "upperAscii": 1, "trim": 1, "reverse": 1, "replace": 3}


def own(world: SymbolicWorld, name: str, arguments: Sequence[Result]) -> Result:
    """A function that muster adds to CEL: `status(conditions, type)`."""
    if name != "status" or len(arguments) != 2:
        return unknown(world, arguments)
    return _pairs(world, arguments[0], arguments[1], _status)


def _status(world: SymbolicWorld, conditions: Atom, type_: Atom) -> Result:
    if not isinstance(conditions, Keyed) or not isinstance(type_, SymbolicText) or not isinstance(type_.term, str):
        return unknown(world, [])
    present, condition = conditions.entry(type_.term)
    parts: list[tuple[Formula, Result]] = [(negation(present), surely(SymbolicText("Unknown")))]
    for guard, atom in guarded(present, condition):
        if not isinstance(atom, Keyed):
            parts.append((guard, some_text(world, world.truth())))
            continue
        there, value = atom.entry("status")
        texts = tuple((inner, text) for inner, text in value if isinstance(text, SymbolicText))
        is_text = both(there, some(inner for inner, _ in texts))
        odd = both(there, some(inner for inner, text in value if isinstance(text, (Opaque, WrittenTime))))
        parts.append((both(guard, is_text), given(texts)))
        parts.append((both(guard, odd, negation(is_text)), some_text(world)))
        parts.append((both(guard, negation(either(is_text, odd))), surely(SymbolicText("Unknown"))))
    return merged(parts)


def call(world: SymbolicWorld, name: str, arguments: Sequence[Result], *, member: bool) -> Result:
    """Result of a function or an operator."""
    if len(arguments) == 1:
        if (unary := _UNARY.get(name)) is not None:
            return _each(world, arguments[0], unary)
    elif len(arguments) == 2 and (binary := _BINARY.get(name)) is not None:
        return _pairs(world, arguments[0], arguments[1], binary)
    if name == "optional.none" and not arguments:
        return surely(Optional(present=False, cases=()))
    if member and _STRING_FUNCTIONS.get(name) == len(arguments) and all(map(_is_text, arguments)):
        return some_text(world, failing(arguments))
    is_join = member and name == "join" and len(arguments) < 3
    if is_join and _are_texts(arguments[0]) and all(map(_is_text, arguments[1:])):
        return some_text(world, failing(arguments))
    return unknown(world, arguments)


def _each(world: SymbolicWorld, argument: Result, apply: Callable[[SymbolicWorld, Atom], Result]) -> Result:
    value = merged((guard, apply(world, atom)) for guard, atom in argument.cases)
    return Result(either(argument.fails, value.fails), value.cases)


def _pairs(
    world: SymbolicWorld, left: Result, right: Result, apply: Callable[[SymbolicWorld, Atom, Atom], Result]
) -> Result:
    if len(left.cases) * len(right.cases) > _MAX_PAIRS:
        return unknown(world, [left, right])
    pairs = [(both(g, h), a, b) for g, a in left.cases for h, b in right.cases]
    value = merged((guard, apply(world, a, b)) for guard, a, b in pairs if guard is not False)
    return Result(either(left.fails, right.fails, value.fails), value.cases)


def _test(test: Callable[[Term, Term], Formula], world: SymbolicWorld, left: Atom, right: Atom) -> Result:
    if isinstance(left, SymbolicText) and isinstance(right, SymbolicText):
        return surely(Bool(test(left.term, right.term)))
    return some_answer(world, left, right)


def _contains(world: SymbolicWorld, item: Atom, container: Atom) -> Result:
    match container, item:
        case SymbolicList(), _:
            among = some(both(guard, equal_cases(world, ((True, item),), cases)) for guard, cases in container.items)
            beyond = both(logic.before(0, container.rest, strictly=True), world.truth())
            return surely(Bool(either(among, beyond)))
        case (Keyed(), SymbolicText(term=str())):
            return surely(Bool(container.entry(item.term)[0]))
        case KnownMap(), SymbolicText():
            return surely(Bool(some(same(item.term, key) for key in container.entries)))
        case ((Keyed() | Lazy() | Opaque()), _):
            return some_truth(world)
        case _:
            return FAILURE


def _or_value(world: SymbolicWorld, optional: Atom, otherwise: Atom) -> Result:
    if not isinstance(optional, Optional):
        return unknown(world, []) if isinstance(optional, Opaque) else FAILURE
    return merged([(optional.present, given(optional.cases)), (negation(optional.present), surely(otherwise))])


def _or(world: SymbolicWorld, optional: Atom, otherwise: Atom) -> Result:
    if not isinstance(optional, Optional) or not isinstance(otherwise, Optional):
        return unknown(world, [])
    cases = (*guarded(optional.present, optional.cases), *guarded(negation(optional.present), otherwise.cases))
    return surely(Optional(either(optional.present, otherwise.present), cases))


def _size(world: SymbolicWorld, atom: Atom) -> Result:
    """`size(x)`"""
    match atom:
        case SymbolicList():
            return surely(Int(size_of(atom)))
        case SymbolicText():
            return surely(Int(logic.length(atom.term)))
        case WrittenTime() | Keyed() | Lazy() | Opaque():
            number = world.between(0, INT_MAX)
            return Result(world.truth() if isinstance(atom, Opaque) else False, ((True, Int(number)),))
        case _:
            return FAILURE


def _written(world: SymbolicWorld, atom: Atom) -> Result:
    """`string(x)`"""
    match atom:
        case SymbolicText() | WrittenTime():
            return surely(atom)
        case Bool():
            if logic.is_known(atom.term):
                return surely(SymbolicText("true" if atom.term else "false"))
            return merged(
                [(atom.term, surely(SymbolicText("true"))), (negation(atom.term), surely(SymbolicText("false")))]
            )
        case Int():
            return surely(SymbolicText(logic.decimal(atom.term), atom.term))
        case Time() | SymbolicDuration():
            return some_text(world)
        case Opaque():
            return some_text(world, world.truth())
        case _:
            return FAILURE


def _number(world: SymbolicWorld, atom: Atom) -> Result:
    """`int(x)`"""
    match atom:
        case Int():
            return surely(atom)
        case Time():
            floor = atom.term // 10**9 if logic.is_known(atom.term) else atom.term / 10**9
            return surely(Int(floor))
        case SymbolicDuration():
            return fitting(Int(atom.term), INT_MIN, INT_MAX)
        case SymbolicText() | WrittenTime() | Opaque():
            number = world.between(INT_MIN, INT_MAX)
            return Result(world.truth(), ((True, Int(number)),))
        case _:
            return FAILURE


def _opposite(world: SymbolicWorld, atom: Atom) -> Result:
    """`!x`"""
    if isinstance(atom, Bool):
        return surely(Bool(negation(atom.term)))
    return some_truth(world) if isinstance(atom, Opaque) else FAILURE


def _has_value(world: SymbolicWorld, atom: Atom) -> Result:
    """`optional.hasValue()`"""
    if isinstance(atom, Optional):
        return surely(Bool(atom.present))
    return some_truth(world) if isinstance(atom, Opaque) else FAILURE


def _value(world: SymbolicWorld, atom: Atom) -> Result:
    """`optional.value()`"""
    if isinstance(atom, Optional):
        return Result(negation(atom.present), atom.cases)
    return unknown(world, []) if isinstance(atom, Opaque) else FAILURE


_UNARY: Final[Mapping[str, Callable[[SymbolicWorld, Atom], Result]]] = {
    "!_": _opposite,
    "-_": negative,
    "size": _size,
    "string": _written,
    "int": _number,
    "dyn": lambda _, atom: surely(atom),
    "timestamp": timestamp,
    "duration": duration,
    "max": partial(extreme, most=True),
    "min": partial(extreme, most=False),
    "hasValue": _has_value,
    "value": _value,
    "optional.of": lambda _, atom: surely(Optional(present=True, cases=((True, atom),))),
}
_BINARY: Final[Mapping[str, Callable[[SymbolicWorld, Atom, Atom], Result]]] = {
    "_==_": lambda world, left, right: surely(Bool(equal(world, left, right))),
    "_!=_": lambda world, left, right: surely(Bool(negation(equal(world, left, right)))),
    **{name: partial(order, name) for name in ("_<_", "_<=_", "_>_", "_>=_")},
    **{name: partial(arithmetic, name) for name in ("_+_", "_-_", "_*_", "_/_", "_%_")},
    "startsWith": partial(_test, logic.begins),
    "endsWith": partial(_test, logic.ends),
    "contains": partial(_test, logic.contains),
    "@in": _contains,
    "orValue": _or_value,
    "or": _or,
}


def _is_text(result: Result) -> bool:
    return all(isinstance(atom, (SymbolicText, WrittenTime)) for _, atom in result.cases)


def _are_texts(result: Result) -> bool:
    """Is it a list of strings? The further elements of a list are like the known ones."""
    return all(
        isinstance(atom, SymbolicList)
        and all(isinstance(text, (SymbolicText, WrittenTime)) for _, cases in atom.items for _, text in cases)
        for _, atom in result.cases
    )
