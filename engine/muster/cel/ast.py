"""The abstract syntax tree of a CEL expression: small, frozen, independent of the parser.

Every node has an `id`, unique in its expression and numbered in pre-order from 0, so that side tables (types, traced
values) are plain mappings from id. `offset` is the character offset in the source text that messages about the node
point at: the sign of an operator, the name of a field, function or macro, else the first character.

Operators are calls under CEL's own names: `_+_ _-_ _*_ _/_ _%_ -_ !_ _==_ _!=_ _<_ _<=_ _>_ _>=_ @in _?_:_`.
`_&&_` and `_||_` are flattened: they have two or more arguments. All others have as many as their name has blanks.
"""

from collections.abc import Iterator
from typing import TypeAlias

from muster.cel.values import TypeValue, UInt
from muster.dataclass import dataclass

LiteralValue: TypeAlias = bool | int | UInt | float | str | bytes | TypeValue | None


@dataclass(frozen=True, slots=True)
class _Node:
    id: int
    offset: int


@dataclass(frozen=True, slots=True)
class Literal(_Node):
    """A constant; in a resolved tree also a type. Compare classes to tell `UInt` and `bool` from `int`."""

    value: LiteralValue


@dataclass(frozen=True, slots=True)
class Ident(_Node):
    """A name. A leading dot, as in `.name`, is part of it: such a name skips the container and local variables."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(_Node):
    """`operand.field`, or `operand.?field` if `optional`."""

    operand: "Node"
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Has(_Node):
    """`has(operand.field)`."""

    operand: "Node"
    field: str


@dataclass(frozen=True, slots=True)
class IndexNode(_Node):
    """`operand[index]`, or `operand[?index]` if `optional`."""

    operand: "Node"
    index: "Node"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call(_Node):
    """`function(args)`, `target.function(args)`, or an operator (then `target` is None)."""

    function: str
    target: "Node | None"
    args: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class ListNode(_Node):
    """`[a, ?b]`; `optional` has the indices of the elements with a question mark."""

    elements: "tuple[Node, ...]"
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One `key: value` of a map; `optional` if written `?key: value`."""

    key: "Node"
    value: "Node"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapNode(_Node):
    """`{k: v}`."""

    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class MessageField:
    """One `name: value` of a message literal."""

    name: str
    value: "Node"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Struct(_Node):
    """`Name{field: value}`: a message literal."""

    name: str
    fields: tuple[MessageField, ...]


@dataclass(frozen=True, slots=True)
class Macro(_Node):
    """A comprehension, `range.name(variables..., args...)`, such as `all` or `map`.

    `variables` has one or two names. `args` is the body, or for `map`, `transformList`, `transformMap` and
    `transformMapEntry` with a filter the pair (filter, body).
    """

    name: str
    range: "Node"
    variables: tuple[str, ...]
    args: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Bind(_Node):
    """`cel.bind(name, value, body)`. Evaluates the value at most once; its error counts only if it is used."""

    name: str
    value: "Node"
    body: "Node"


Node: TypeAlias = Literal | Ident | Select | Has | IndexNode | Call | ListNode | MapNode | Struct | Macro | Bind


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct sub-expressions in source order."""
    match node:
        case Literal() | Ident():
            return ()
        case Select() | Has():
            return (node.operand,)
        case IndexNode():
            return (node.operand, node.index)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListNode():
            return node.elements
        case MapNode():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Struct():
            return tuple(field.value for field in node.fields)
        case Macro():
            return (node.range, *node.args)
        case Bind():
            return (node.value, node.body)


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and everything below it, in pre-order."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(children(current)))
