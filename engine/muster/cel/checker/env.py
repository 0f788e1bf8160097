"""What the checker needs to know of an expression's surroundings, and how names are looked up in them."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from muster.cel import ast
from muster.cel.ast import Ident, Node, Select
from muster.cel.declarations import Functions
from muster.cel.types import Type


class CheckEnv(Protocol):
    """The declarations that an expression is checked against.

    `variables` and `functions` are by name, dotted where qualified; `container` is the namespace in which short
    names are looked up; `known_keys` lists, for a map variable, the keys that somebody is known to write;
    `result` is the type that the expression must have, None for any.
    """

    @property
    def variables(self) -> Mapping[str, Type]: ...

    @property
    def functions(self) -> Functions: ...

    @property
    def container(self) -> str: ...

    @property
    def known_keys(self) -> Mapping[str, Collection[str]]: ...

    @property
    def result(self) -> Type | None: ...


def candidates(container: str, name: str) -> Iterator[str]:
    """Yield the full names that `name` can mean, innermost namespace first. A leading dot means the root."""
    if name.startswith("."):
        yield name[1:]
        return
    while container:
        yield f"{container}.{name}"
        container = container.rpartition(".")[0]
    yield name


def qualified(node: Node | None) -> str | None:
    """Return the dotted name that a chain of selections spells (`a.b.c`), or None where it is no such chain."""
    fields: list[str] = []
    while isinstance(node, Select) and not node.optional:
        fields.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(fields)]) if isinstance(node, Ident) else None


def described(node: Node) -> str:
    """Return how messages call the value of `node`: its path (`lease.spec`, `self.items[].name`), or what it is."""
    match node:
        case ast.Ident():
            return node.name
        case ast.Select():
            return f"{described(node.operand)}.{node.field}"
        case ast.Index(index=ast.Literal(value=str() as key)):
            return f"{described(node.operand)}['{key}']"
        case ast.Index(index=ast.Literal(value=int() as position)):
            return f"{described(node.operand)}[{position}]"
        case ast.Index():
            return f"{described(node.operand)}[]"
        case ast.Call(target=None) if not node.function[0].isalpha():
            return "the result"
        case ast.Call():
            return f"the result of {node.function}()"
        case ast.Macro():
            return f"the result of {node.name}()"
        case ast.Literal():
            return "the literal"
        case _:
            return "the value"
