"""Calls of every function of the registry, with arguments that move with `now`, for the tests of horizons.

A `Caller` writes an expression of a wanted type from a seed. It takes functions and operators from the registry, so a
new row is called without a line here. `held` says whether an outcome stayed the same until the horizon.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from muster import cel
from muster.cel.declarations import OPERATORS, Overload
from muster.cel.library.registry import libraries
from muster.cel.runtime.temporal import instant_ns, rate_of, span_ns
from muster.cel.types import (
    BOOL,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    OptionalType,
    Type,
    TypeParam,
)

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
VARIABLES: Final[Mapping[str, Type]] = {"now": TIMESTAMP, "t": TIMESTAMP, "u": TIMESTAMP, "d": DURATION}
_SECOND: Final = timedelta(seconds=1)
_SAMPLED: Final = 30
"""Outcomes are sampled up to 2^30 seconds ahead: in a century the bounds of times may count as never."""

#: Texts of values that move with `now` at several rates, and of values that do not.
_TIMES: Final[Mapping[str, tuple[str, ...]]] = {
    "timestamp": ("now", "now", "(now + d)", "(t - (now - t))", "(now + (now - t))", "t", "u"),
    "duration": ("(now - t)", "(now - t)", "(u - now)", "((now - t) + (now - t))", "(now - now)", "d", "(u - t)"),
    "dyn": ("dyn(now)", "dyn(now - t)", "dyn([now, u])"),
}
_PLAIN: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("0", "1", "3"),
    "uint": ("0u", "2u"),
    "double": ("0.0", "1.5"),
    "bool": ("true", "false"),
    "string": ("'a'", "'2026'", "'%s'", "'Europe/Berlin'", "'Thu-Sat 00:00-12:00'"),
    "bytes": ("b'a'",),
    "null_type": ("null",),
    "number": ("1", "2.5"),
    "type": ("int",),
    "net.IP": ("ip('10.0.0.1')",),
    "net.CIDR": ("cidr('10.0.0.0/8')",),
    "kubernetes.Quantity": ("quantity('2Gi')",),
    "kubernetes.Semver": ("semver('1.2.3')",),
    "kubernetes.URL": ("url('https://example.com/a')",),
}
#: Plain values that were read from what moves.
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "int": (
        "int(now)",
        "now.getSeconds()",
        "(now - t).getMinutes()",
        "(now > u ? 0 : 1)",
        "now.getHours('Asia/Tokyo')",
    ),
    "uint": ("uint(now.getMinutes())",),
    "double": ("double((u - now).getSeconds())",),
    "bool": ("(now > u)", "(now - t > d)", "(now == u)", "(string(now) > '2026-01-01T00:00:30Z')"),
    "string": ("string(now)", "string(now - t)", "'%s'.format([[now], {'a': now - t}])", "string(now.getMinutes())"),
    "bytes": ("bytes(string(now))",),
    "dyn": ("dyn(1)", "dyn('a')"),
}
_ANY: Final = (TIMESTAMP, TIMESTAMP, DURATION, DURATION, INT, STRING, BOOL, ListType(TIMESTAMP), OptionalType(DURATION))

OVERLOADS: Final[tuple[Overload, ...]] = tuple(
    overload for library in libraries() for row in library.functions for overload in row.overloads
)
"""Every way to call every function and operator that is registered."""


class Caller:
    """Writes calls. With `read`, plain arguments may be read from what moves; without, only times move."""

    def __init__(self, random: Random, *, read: bool = True) -> None:
        self.random = random
        self.read = read

    def grow(self, type_: Type, depth: int) -> str:
        """Return an expression of the type, at most about `depth` calls deep."""
        if depth > 0 and self.random.random() < 0.7:
            found = [(one, bound) for one in OVERLOADS if (bound := unify(one.result, type_)) is not None]
            if found:
                overload, bound = self.random.choice(found)
                return self.call(overload, depth - 1, bound)
            if type_ == BOOL or self.random.random() < 0.3:
                return self.macro(type_, depth - 1)
        return self.leaf(type_, depth)

    def macro(self, type_: Type, depth: int) -> str:
        """Return a comprehension, a binding or a conditional of the type."""
        body = self.grow(type_, depth)
        if type_ == BOOL and self.random.random() < 0.6:
            name = self.random.choice(("all", "exists", "exists_one"))
            return f"{self.grow(ListType(TIMESTAMP), depth)}.{name}(x, (x > u) != {body})"
        return f"cel.bind(b, {self.grow(BOOL, depth)}, b ? {body} : {self.leaf(type_, depth)})"

    def leaf(self, type_: Type, depth: int = 0) -> str:
        """Return something short of the type."""
        match type_:
            case ListType():
                items = (self.grow(type_.element, depth - 1) for _ in range(self.random.choice((0, 1, 2, 2, 3))))
                return f"[{', '.join(items)}]"
            case MapType():
                return f"{{{self.leaf(type_.key)}: {self.grow(type_.value, depth - 1)}}}"
            case OptionalType():
                return f"optional.of({self.grow(type_.element, depth - 1)})"
        name = str(type_).partition("(")[0]
        texts = _TIMES.get(name) or _PLAIN.get(name, ("null",))
        return self.random.choice((*texts, *texts, *_READ.get(name, ())) if self.read else texts)

    def call(self, overload: Overload, depth: int = 0, bound: Mapping[str, Type] | None = None) -> str:
        """Return a call of the overload."""
        types = dict(bound or {})
        params = [*overload.params, *(overload.params[-1:] * self.random.randrange(3) if overload.variadic else ())]
        return written(overload, [self.grow(self.filled(param, types), depth) for param in params])

    def filled(self, type_: Type, types: dict[str, Type]) -> Type:
        """Return the type without parameters: each stands for one type in a call. A key is never a time."""
        match type_:
            case TypeParam():
                return types.setdefault(type_.name, self.random.choice(_ANY if self.read else _ANY[:4]))
            case ListType():
                return ListType(self.filled(type_.element, types))
            case MapType():
                key = self.filled(type_.key, types) if self.random.random() < 0.3 else STRING
                return MapType(key, self.filled(type_.value, types))
            case OptionalType():
                return OptionalType(self.filled(type_.element, types))
        return type_


def written(overload: Overload, args: list[str]) -> str:
    """Return a call as people write it."""
    name = overload.function
    operator = OPERATORS.get(name)
    if name == "@sortByAssociatedKeys":
        return f"{args[0]}.sortBy(x, x)"
    if operator == "?:":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if operator in ("[]", "[?]"):
        return f"{args[0]}{operator[:-1]}{args[1]}]"
    if operator is not None:
        return f"({operator}({args[0]}))" if len(args) == 1 else f"({args[0]} {operator} {args[1]})"
    if overload.member:
        return f"{args[0]}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"


def unify(pattern: Type, wanted: Type) -> dict[str, Type] | None:
    """Return the bindings of a type's parameters that make it the wanted type; None if there are none."""
    match pattern, wanted:
        case TypeParam(), _:
            return {pattern.name: wanted}
        case ListType(element=inner), ListType(element=found):
            return unify(inner, found)
        case OptionalType(element=inner), OptionalType(element=found):
            return unify(inner, found)
        case MapType(), MapType():
            return unify(pattern.value, wanted.value)
    return {} if pattern in (wanted, DYN) else None


def frozen(value: Any, now_ns: int) -> Any:
    """Return a value so that two instants can be compared: what moves counts as the line that it moves along."""
    if isinstance(value, datetime | timedelta):
        ns = instant_ns(value) if isinstance(value, datetime) else span_ns(value)
        rate = rate_of(value)
        return (isinstance(value, datetime), rate, ns - rate * now_ns)
    if isinstance(value, list):
        return [frozen(item, now_ns) for item in value]
    if isinstance(value, Mapping):
        return sorted((repr(key), repr(frozen(item, now_ns))) for key, item in value.items())
    if isinstance(value, cel.OptionalValue):
        return ("optional", value.present, frozen(value.value, now_ns))
    return (value.__class__.__name__, repr(value))


def outcome(program: cel.Program, data: Mapping[str, Any], now: datetime) -> tuple[Any, str | None]:
    """Return the result of an expression at an instant: a value or an error message."""
    result = program.run({**data, "now": now})
    return frozen(result.value, instant_ns(now)), None if result.error is None else result.error.message


def sampled(random: Random, data: Mapping[str, Any], horizon: datetime | None) -> list[datetime]:
    """Return instants after now and before the horizon: near both, around the times in the data, and far ahead."""
    offsets = {1, 2, 59, 60, *(2**power + random.randrange(2) for power in range(_SAMPLED))}
    offsets |= {int((data[name] - NOW) / _SECOND) + near for name in ("t", "u") for near in (-1, 0, 1, 2)}
    offsets |= {int((data["t"] + data["d"] - NOW) / _SECOND) + near for near in (-1, 0, 1, 2)}
    if horizon is not None:
        whole = int((horizon - NOW) / _SECOND)
        offsets |= {whole - 1 if whole < 2**_SAMPLED else 1, random.randrange(1, min(whole, 2**_SAMPLED) + 1)}
        offsets = {offset for offset in offsets if offset < whole}
    return [NOW + timedelta(seconds=offset) for offset in sorted(offsets) if offset > 0]


def held(program: cel.Program, random: Random) -> datetime | None:
    """Return the horizon of an expression over random times; Raises AssertionError if its outcome changes earlier."""
    data = {
        "t": NOW - timedelta(seconds=random.choice((0, 1, 29.5, 90, 100.5, 3_599, 86_000))),
        "u": NOW + timedelta(seconds=random.choice((-60, 0, 1, 30, 59.5, 3_600, 90_000))),
        "d": timedelta(seconds=random.choice((-90, 0, 0.5, 60, 300, 7_200))),
    }
    horizon = program.run({**data, "now": NOW}).horizon
    assert horizon is None or horizon > NOW
    now = outcome(program, data, NOW)
    for then in sampled(random, data, horizon):
        assert outcome(program, data, then) == now, (program.text, data, str(then), str(horizon))
    return horizon
