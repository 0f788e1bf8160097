"""How a function is declared, and the notation in which that is written.

A line declares an overload: `overload_id  function  signature`. A signature is `(int, int) -> int` for a call
`f(a, b)` and `string.(string) -> bool` for a call `a.f(b)`; a capital letter is a type parameter; `int...` as
the last parameter takes one or more.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from muster.cel.types import Type, parse_type, split_types


class TimeUse(Enum):
    """What a function does with a time or a duration that moves with `now`: each that may be given one declares it.

    A plain result that depends on a moving value has a horizon. Who makes the result tells the clock.
    """

    CARRIED = "the result moves with the argument, or says nothing about its value"
    COMPARED = "comparisons of times tell the clock when they flip, and nothing else is read"
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
        """Return whether a call with that many arguments, the receiver among them, can be this one."""
        return count >= len(self.params) if self.variadic else count == len(self.params)

    @property
    def signature(self) -> str:
        """`string.startsWith(string)`, `size(list(A))`, `int + int`: how messages show what exists."""
        shown = [str(param).removeprefix("type_param:") for param in self.params]
        shown = [re.sub("type_param:", "", text) for text in shown]
        if self.variadic:
            shown[-1] += ", ..."
        if (operator := OPERATORS.get(self.function)) is not None:
            return _infix(operator, shown)
        if self.member:
            return f"{shown[0]}.{self.function}({', '.join(shown[1:])})"
        return f"{self.function}({', '.join(shown)})"


#: Overloads by the function's name; a namespaced function's name has its dots (`math.greatest`).
Functions: TypeAlias = Mapping[str, tuple[Overload, ...]]

#: The names that the parser gives to operators, and how people write them.
OPERATORS: Mapping[str, str] = {
    "_?_:_": "?:", "_&&_": "&&", "_||_": "||", "!_": "!", "-_": "-",
    "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "@in": "in",
    "_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "_[_]": "[]", "_[?_]": "[?]",
}  # fmt: skip


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
    """Return the overload that one line declares. ValueError where it is none."""
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
    """Return the overloads by the name of their function, each in the order of declaration."""
    found: dict[str, list[Overload]] = {}
    for overload in overloads:
        found.setdefault(overload.function, []).append(overload)
    return {name: tuple(entries) for name, entries in found.items()}
