"""Declarations of functions, and the notation for them.

A line declares an overload: `overload_id  function  signature`. A signature is `(int, int) -> int` for a call
`f(a, b)` and `string.(string) -> bool` for a call `a.f(b)`; a capital letter is a type parameter; `int...` as
the last parameter takes one or more arguments.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeAlias

from muster.cel.types import Type, parse_type, split_types
from muster.dataclass import dataclass


class TimeUse(Enum):
    """How a function uses a time or a duration that moves with `now`. Each function that takes one declares it.

    A plain result that depends on a moving value has a horizon: the function that makes the result tells the clock.
    """

    CARRIED = "the result moves with the argument, or does not depend on its value"
    COMPARED = "the function only compares times, and comparisons tell the clock when they flip"
    READ = "the function tells the clock when its result changes"


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function. The receiver of a `member` call is the first of `params`."""

    id: str
    function: str
    params: tuple[Type, ...]
    result: Type
    member: bool = False
    variadic: bool = False

    def accepts_count(self, count: int) -> bool:
        """Return whether a call may have that many arguments, including the receiver."""
        return count >= len(self.params) if self.variadic else count == len(self.params)

    @property
    def signature(self) -> str:
        """The overload as messages show it: `string.startsWith(string)`, `size(list(A))`, `int + int`."""
        shown = [str(param).removeprefix("type_param:") for param in self.params]
        shown = [text.replace("type_param:", "") for text in shown]
        if self.variadic:
            shown[-1] += ", ..."
        if (operator := OPERATORS.get(self.function)) is not None:
            return _infix(operator, shown)
        if self.member:
            return f"{shown[0]}.{self.function}({', '.join(shown[1:])})"
        return f"{self.function}({', '.join(shown)})"


#: Overloads by the name of their function, with its namespace (`math.greatest`).
Functions: TypeAlias = Mapping[str, tuple[Overload, ...]]

#: Operators by the name that the parser gives them.
OPERATORS: Mapping[str, str] = {
    "_?_:_": "?:",
    "_&&_": "&&",
    "_||_": "||",
    "!_": "!",
    "-_": "-",
    "_==_": "==",
    "_!=_": "!=",
    "_<_": "<",
    "_<=_": "<=",
    "_>_": ">",
    "_>=_": ">=",
    "@in": "in",
    "_+_": "+",
    "_-_": "-",
    "_*_": "*",
    "_/_": "/",
    "_%_": "%",
    "_[_]": "[]",
    "_[?_]": "[?]",
}


def _infix(operator: str, operands: list[str]) -> str:
    match operator, operands:
        case (("[]" | "[?]"), [operand, index]):
            return f"{operand}{operator[:-1]}{index}]"
        case "?:", [condition, then, other]:
            return f"{condition} ? {then} : {other}"
        case _, [operand]:
            return f"{operator}{operand}"
        case _:
            return f" {operator} ".join(operands)


def parse_overload(line: str) -> Overload:
    """Return the overload that a line declares. Raises ValueError if it declares none."""
    id_, function, signature = line.split(maxsplit=2)
    head, arrow, result = signature.partition(" -> ")
    receiver, dot, inner = head.rpartition(".(") if not head.startswith("(") else ("", "", head[1:])
    if not (arrow and inner.endswith(")") and bool(receiver) == bool(dot)):
        raise ValueError(f"{line!r} declares no overload")
    texts = split_types(inner[:-1])
    variadic = bool(texts) and texts[-1].endswith("...")
    params = [parse_type(text.removesuffix("...")) for text in ([receiver] if receiver else []) + texts]
    return Overload(id_, function, tuple(params), parse_type(result), bool(receiver), variadic)


def by_function(overloads: Iterable[Overload]) -> dict[str, tuple[Overload, ...]]:
    """Return the overloads by the name of their function, in the order of declaration."""
    overloads_by_name: dict[str, list[Overload]] = {}
    for overload in overloads:
        overloads_by_name.setdefault(overload.function, []).append(overload)
    return {name: tuple(entries) for name, entries in overloads_by_name.items()}
