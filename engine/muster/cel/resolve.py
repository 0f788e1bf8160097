"""Resolve names: what `a.b.c` and `math.abs(x)` mean at their place.

A chain of selections may be the name of a variable (`com.example.x`), of a type (`google.protobuf.Timestamp`), or the
namespace of a function. In the resolved tree a variable is one Ident with its full name, a type is a Literal, and a
namespaced call has no target. An Ident that a local variable of the same name would hide keeps its leading dot.
"""

from collections.abc import Iterator
from dataclasses import replace

from muster.cel import ast
from muster.cel.env import Env
from muster.cel.library import registry
from muster.cel.types import NAMED
from muster.cel.values import TypeValue

_TYPE_NAMES = frozenset(NAMED) - {"dyn"}


def resolve(node: ast.Node, env: Env) -> ast.Node:
    """Return the tree with its names resolved, and the same ids and offsets."""
    return _Resolver(env).node(node, frozenset())


def candidates(container: str, name: str) -> Iterator[str]:
    """Yield the full names that `name` can mean, innermost namespace first. A leading dot means the root."""
    if name.startswith("."):
        yield name[1:]
        return
    while container:
        yield f"{container}.{name}"
        container = container.rpartition(".")[0]
    yield name


def qualified(node: ast.Node | None) -> str | None:
    """Return the dotted name of a chain of selections (`a.b.c`); None if the node is no such chain."""
    fields: list[str] = []
    while isinstance(node, ast.Select) and not node.optional:
        fields.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(fields)]) if isinstance(node, ast.Ident) else None


class _Resolver:
    def __init__(self, env: Env) -> None:
        self.env = env

    def node(self, node: ast.Node, local: frozenset[str]) -> ast.Node:
        match node:
            case ast.Literal():
                return node
            case ast.Ident():
                return node if node.name in local else self.named(node, node.name, local) or self.plain(node, local)
            case ast.Select():
                dotted = None if node.optional else self.dotted_name(node, local)
                declared = None if dotted is None else self.named(node, dotted, local)
                return declared or replace(node, operand=self.node(node.operand, local))
            case ast.Has():
                return replace(node, operand=self.node(node.operand, local))
            case ast.IndexNode():
                return replace(node, operand=self.node(node.operand, local), index=self.node(node.index, local))
            case ast.Call():
                return self.call(node, local)
            case ast.ListNode():
                return replace(node, elements=self.all(node.elements, local))
            case ast.MapNode():
                entries = tuple(
                    replace(entry, key=self.node(entry.key, local), value=self.node(entry.value, local))
                    for entry in node.entries
                )
                return replace(node, entries=entries)
            case ast.Struct():
                fields = tuple(replace(field, value=self.node(field.value, local)) for field in node.fields)
                return replace(node, fields=fields)
            case ast.Macro():
                args = self.all(node.args, local | set(node.variables))
                return replace(node, range=self.node(node.range, local), args=args)
            case ast.Bind():
                return replace(node, value=self.node(node.value, local), body=self.node(node.body, local | {node.name}))

    def all(self, nodes: tuple[ast.Node, ...], local: frozenset[str]) -> tuple[ast.Node, ...]:
        return tuple(self.node(node, local) for node in nodes)

    def dotted_name(self, node: ast.Node, local: frozenset[str]) -> str | None:
        """Return the dotted name of a chain of selections; None if it begins with a local variable."""
        name = qualified(node)
        return None if name is None or name.partition(".")[0] in local else name

    def named(self, node: ast.Node, name: str, local: frozenset[str]) -> ast.Node | None:
        """Return the declared variable or the type of a name, if there is one."""
        for full in candidates(self.env.container, name):
            if full in self.env.variables:
                return ast.Ident(node.id, node.offset, f".{full}" if full in local else full)
            if full in _TYPE_NAMES:
                return ast.Literal(node.id, node.offset, TypeValue(full))
        return None

    def plain(self, node: ast.Ident, local: frozenset[str]) -> ast.Ident:
        """Return an undeclared variable, which may still have a value at run time."""
        bare = node.name.removeprefix(".")
        return node if bare in local or bare == node.name else replace(node, name=bare)

    def call(self, node: ast.Call, local: frozenset[str]) -> ast.Node:
        if node.target is not None:
            prefix = self.dotted_name(node.target, local)
            function = None if prefix is None else self.function(f"{prefix}.{node.function}")
            if function is not None:
                return replace(node, function=function, target=None, args=self.all(node.args, local))
            return replace(node, target=self.node(node.target, local), args=self.all(node.args, local))
        name = node.function
        if name[0].isalpha() or name[0] == ".":
            name = self.function(name) or name.removeprefix(".")
        return replace(node, function=name, args=self.all(node.args, local))

    def function(self, name: str) -> str | None:
        for full in candidates(self.env.container, name):
            if full in self.env.functions or registry.lookup(full, member=False) is not None:
                return full
        return None
