"""From a part of an expression to the field that it reads: `lease.spec.renewTime`, `reported['Ready'].status`."""

from typing import NamedTuple

from muster.cel import ast


class FieldAccess(NamedTuple):
    """A field of a variable: the variable's name, and the steps to the field, keys and indices. `asked_for`: whether it
    is there, and not what it is, was asked."""

    variable: str
    steps: tuple[str | int, ...]
    asked_for: bool = False

    def __str__(self) -> str:
        """As it is written: `reported['Ready'].status`."""
        text = self.variable + "".join(
            f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]" for step in self.steps
        )
        return f"has({text})" if self.asked_for else text


def access(node: ast.Node) -> FieldAccess | None:
    """Return the field that a node reads; None for what is no field, or one whose key is computed."""
    steps: list[str | int] = []
    asked_for = isinstance(node, ast.Has)
    while True:
        match node:
            case ast.Ident():
                if node.name.startswith("@"):
                    return None
                return FieldAccess(node.name.removeprefix("."), tuple(steps[::-1]), asked_for)
            case ast.Select() | ast.Has():
                steps.append(node.field)
                node = node.operand
            case ast.IndexNode(index=ast.Literal(value=str() | int() as key)):
                steps.append(key)
                node = node.operand
            case _:
                return None


def accesses(node: ast.Node) -> dict[int, FieldAccess]:
    """Return the fields that a tree reads, by the id of the node that reads them."""
    return {inner.id: found for inner in ast.walk(node) if (found := access(inner)) is not None}
