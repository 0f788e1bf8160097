"""Expressions of policies that call each function of CEL, with arguments that time and agents move.

The functions come from the registry: one that is added is called without a word here.
"""

import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from muster.cel.declarations import OPERATORS, Overload
from muster.cel.library.registry import LibraryFunction, table

_LATER: Final = "timestamp('2026-01-01T12:30:00Z')"
_AGE: Final = "(now - lease.spec.renewTime)"
#: Arguments by type. Most of them are other values as time goes on, or as agents speak.
_ARGUMENTS: Final[Mapping[str, Sequence[str]]] = {
    "bool": ("accepted", f"{_AGE} > duration('2m')", "true"),
    "int": (f"{_AGE}.getSeconds()", "int(now)", "generation", "1", "now.getMinutes()"),
    "uint": ("uint(now.getMinutes())", "2u"),
    "double": (f"double({_AGE}.getSeconds())", "1.5"),
    "string": (
        "string(now)",
        f"string({_AGE})",
        "self.metadata.name",
        "'eu'",
        "self.metadata.labels.region",
        "'127.0.0.1'",
        "'10.0.0.0/8'",
        "'1.2.3'",
        "'https://a.b/c?d=e'",
        "'60s'",
        "'YQ=='",
        "'2026-01-01T12:30:00Z'",
    ),
    "bytes": ("bytes(string(now))", "b'a'"),
    "timestamp": ("now", "lease.spec.renewTime", _LATER),
    "duration": (_AGE, f"(now - {_LATER})", "duration('2m')"),
    "kubernetes.Quantity": ("quantity('1Gi')", "quantity(string(now.getMinutes()))"),
    "kubernetes.Semver": ("semver('1.2.3')",),
    "kubernetes.URL": ("url('https://a.b/c?d=e')",),
    "net.IP": ("ip('127.0.0.1')",),
    "net.CIDR": ("cidr('127.0.0.0/8')",),
}
#: What may stand for any type, and for a number.
_ANY: Final = ("timestamp", "duration", "int", "string", "bool", "double")
_NUMBER: Final = ("int", "double", "uint")
#: What the parser makes of macros, and those themselves.
_MACROS: Final = (
    "[{timestamp}, {timestamp}].exists(x, x < now)",
    "[{duration}, {duration}].all(x, x > {duration})",
    "[{int}, {int}].exists_one(x, x > 1)",
    "[{timestamp}, {timestamp}].filter(x, x < now).size() > 1",
    "[{duration}].map(x, x > {duration})[0]",
    "cel.bind(x, {duration}, x > {duration})",
    "[{timestamp}, {timestamp}].sortBy(x, x)[0] < now",
    "optional.of({duration}).optMap(x, x > {duration}).orValue(false)",
    "has(lease.spec) && {bool}",
    "{{'a': {duration}}}['a'] > {duration}",
    "{{'a': {timestamp}}}.?a.orValue(now) < {timestamp}",
)


@cache
def functions() -> tuple[LibraryFunction, ...]:
    """All functions that a policy can call."""
    rows = dict.fromkeys(row for (name, _), row in table().items() if not name.startswith("@") or name in OPERATORS)
    return tuple(rows)


def macro(chance: random.Random) -> str:
    """A condition in which a macro is."""
    text = chance.choice(_MACROS)
    return text.format(**{name: chance.choice(_ARGUMENTS[name]) for name in ("timestamp", "duration", "int", "bool")})


def condition(chance: random.Random, row: LibraryFunction) -> str:
    """A condition in which a function is called, which may fail."""
    overload = chance.choice(row.overloads)
    bound: dict[str, str] = {}
    arguments = [_argument(chance, str(param), bound) for param in overload.params]
    if overload.variadic:
        arguments.append(_argument(chance, str(overload.params[-1]), bound))
    return _as_condition(chance, _called(overload, arguments), str(overload.result))


def _argument(chance: random.Random, type_: str, bound: dict[str, str]) -> str:
    if type_ in _ARGUMENTS:
        return chance.choice(_ARGUMENTS[type_])
    if type_.startswith("type_param:"):
        return _argument(chance, bound.setdefault(type_, chance.choice(_ANY)), bound)
    if type_ == "number":
        return chance.choice(_ARGUMENTS[chance.choice(_NUMBER)])
    outer, _, inner = type_.removesuffix(")").partition("(")
    if outer == "list":
        return f"[{_argument(chance, inner, bound)}, {_argument(chance, inner, bound)}]"
    if outer == "map":
        key, _, value = inner.partition(",")
        return f"{{{_argument(chance, key, bound)}: {_argument(chance, value, bound)}}}"
    if outer == "optional_type":
        return f"optional.of({_argument(chance, inner, bound)})"
    return _argument(chance, chance.choice(_ANY), bound)  # dyn, type


def _called(overload: Overload, arguments: Sequence[str]) -> str:
    name = overload.function
    if not arguments:
        return f"{name}()"
    first, *rest = arguments
    if (operator := OPERATORS.get(name)) is not None:
        match operator:
            case "[]" | "[?]":
                return f"{first}{operator[:-1]}{rest[0]}]"
            case "?:":
                return f"({first} ? {rest[0]} : {rest[1]})"
            case _ if not rest:
                return f"({operator}({first}))"
        return f"({first} {operator} {rest[0]})"
    if overload.member:
        return f"{first}.{name}({', '.join(rest)})"
    return f"{name}({', '.join(arguments)})"


def _as_condition(chance: random.Random, call: str, result: str) -> str:
    """Whether what a call gives is this or that."""
    outer = result.partition("(")[0]
    compared = {
        "bool": call,
        "int": f"{call} > {chance.choice(('3', '60', '100000000000'))}",
        "uint": f"{call} > 3u",
        "double": f"{call} > 60.0",
        "string": f"{call} > '2026-01-01T12:10:00Z'",
        "bytes": f"size({call}) > 3",
        "timestamp": f"{call} < {chance.choice(('now', _LATER))}",
        "duration": f"{call} > duration('150s')",
        "list": f"{call}.size() > 1",
        "map": f"{call}.size() > 1",
        "optional_type": f"{call}.hasValue()",
    }
    return compared.get(outer, f"{call} == type(now)" if outer == "type" else f"{call} == {call}")
