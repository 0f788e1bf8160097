"""The fields that an expression reads: `lease.spec.renewTime`, `reported['Ready'].status`."""

from typing import NamedTuple

from muster.cel import ast


class FieldAccess(NamedTuple):
    """A field of a variable: the variable's name and the keys and indices that lead to the field.

    `asked_for` is true if the expression only asks whether the field exists: `has(x.y)`.
    """

    variable: str
    steps: tuple[str | int, ...]
    asked_for: bool = False

    def __str__(self) -> str:
        """Return the field as expressions write it: `reported['Ready'].status`."""
        text = self.variable + "".join(
            f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]" for step in self.steps
        )
        return f"has({text})" if self.asked_for else text


def access(node: ast.Node) -> FieldAccess | None:
    """Return the field that a node reads; None if it reads none, or if a key is computed."""
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
    return {inner.id: field_access for inner in ast.walk(node) if (field_access := access(inner)) is not None}
