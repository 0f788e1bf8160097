"""Estimate the cost of an expression before there is any data.

The walk goes bottom up: every node gets a range of units and the extent of its value. A comprehension multiplies the
cost of its body by the extent of its range.

Units are those of the counter at run time: the weight of each node (`muster.cel.weights`), plus what operations spend
on the largest possible values. So no evaluation of data within its bounds spends more than `max`. As the counter does,
the estimate counts each node once even if evaluation skips it.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from muster.cel import ast
from muster.cel.ast import Node
from muster.cel.checker.check import CheckedExpression
from muster.cel.checker.messages import described
from muster.cel.env import Env
from muster.cel.errors import Issue, issue_at
from muster.cel.extent import DEFAULT_ITEMS, DEFAULT_LENGTH, ONE, SCALAR, ZERO, Extent, IntRange, extent_of
from muster.cel.library.arguments import CallArguments, PatternBudget
from muster.cel.library.registry import LibraryFunction, lookup, walk
from muster.cel.runtime import access
from muster.cel.types import DYN, ListType, MapType, NullableType, OptionalType, Type, bare, reduce_type
from muster.cel.weights import ROUND, call_weight, own_weight, step_weight
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """The units of one evaluation: at least `min`, and at most `max` if all sizes are within bounds.

    `by_node` has the range of every sub-expression by node id. `costliest` is the node that adds most to the cost
    without its operands (a loop, a search). `unbounded` names the values in it whose schema sets no bound: their sizes
    are assumed.
    """

    min: int
    max: int
    by_node: Mapping[int, IntRange]
    costliest: Node
    unbounded: tuple[str, ...]


def estimate(node: Node, checked: CheckedExpression, env: Env | None = None) -> Cost:
    """Return the cost of a checked expression. `env` has the costs of the caller's functions."""
    walk = _CostWalk(checked, env or Env())
    total = walk.visit(node)
    costliest = max(walk.own, key=lambda id_: (walk.own[id_], -id_))
    blamed = (walk.drivers.get(part.id, ()) for part in ast.walk(walk.nodes[costliest]))
    return Cost(
        min=total.min,
        max=total.max,
        by_node=MappingProxyType(walk.costs),
        costliest=walk.nodes[costliest],
        unbounded=tuple(sorted({path for paths in blamed for path in paths})),
    )


def limit_issue(cost: Cost, limit: int, text: str) -> Issue | None:
    """Return an issue if the expression may cost more than `limit` units, at its costliest part; else None."""
    if cost.max <= limit:
        return None
    name = _called_name(cost.costliest)
    message = f"the expression may cost {cost.max:,} units, {limit:,} are allowed; most of it is {name}"
    if cost.unbounded:
        names = ", ".join(cost.unbounded)
        hint = (
            f"set maxItems, maxLength or maxProperties in the schema of {names} "
            f"({DEFAULT_ITEMS:,} items and {DEFAULT_LENGTH:,} characters are assumed)"
        )
    else:
        hint = "nest fewer loops, or look up by key instead of searching"
    return issue_at(text, cost.costliest.offset, message, hint)


def _called_name(node: Node) -> str:
    match node:
        case ast.Macro():
            return f"'{node.name}' over {described(node.range)}"
        case ast.Call(function=function):
            return f"'{function.strip('_@')}'"
        case _:
            return described(node)


class _CostWalk:
    """One pass over an expression: costs and extents by node id, and the unbounded values that drive costs."""

    def __init__(self, checked: CheckedExpression, env: Env) -> None:
        self.checked = checked
        self.env = env
        self.patterns = PatternBudget()
        self.kinds = {identity: reduce_type(kind) for identity, kind in checked.types.items()}
        self.costs: dict[int, IntRange] = {}
        self.own: dict[int, int] = {}
        self.extents: dict[int, Extent] = {}
        self.drivers: dict[int, tuple[str, ...]] = {}
        self.nodes: dict[int, Node] = {}
        self._locals: dict[str, list[Extent]] = {}
        self._handlers: Mapping[type[Node], Callable[[Any], tuple[IntRange, Extent]]] = {
            ast.Literal: self._literal,
            ast.Ident: self._ident,
            ast.Select: self._select,
            ast.Has: self._has,
            ast.IndexNode: self._index,
            ast.Call: self._call,
            ast.ListNode: self._list,
            ast.MapNode: self._map,
            ast.Struct: self._struct,
            ast.Macro: self._macro,
            ast.Bind: self._bind,
        }

    def visit(self, node: Node) -> IntRange:
        """Return the cost of a node; its extent is in `extents` afterwards."""
        cost, extent = self._handlers[type(node)](node)
        if type(node) in (ast.Ident, ast.Select, ast.IndexNode):
            cost = cost + _parsing_cost(self.kinds.get(node.id, DYN), extent)
        self.nodes[node.id], self.costs[node.id], self.extents[node.id] = node, cost, extent
        below = sum(self.costs[child.id].max for child in ast.children(node) if child.id in self.costs)
        self.own[node.id] = cost.max - min(below, cost.max)
        return cost

    def type_of(self, node: Node) -> Type:
        return self.checked.types.get(node.id, DYN)

    def _by_type(self, node: Node) -> Extent:
        return extent_of(self.type_of(node), described(node))

    @staticmethod
    def _literal(node: ast.Literal) -> tuple[IntRange, Extent]:
        if isinstance(node.value, str | bytes):
            return ONE, Extent(len(node.value), len(node.value))
        return ONE, SCALAR

    def _ident(self, node: ast.Ident) -> tuple[IntRange, Extent]:
        bound = self._locals.get(node.name)
        return ONE, bound[-1] if bound else self._by_type(node)

    def _select(self, node: ast.Select) -> tuple[IntRange, Extent]:
        if node.id in self.checked.names:
            return ONE, self._by_type(node)
        cost = self.visit(node.operand) + self._weight_of(node)
        owner = self.extents[node.operand.id].path or described(node.operand)
        return cost, extent_of(self.type_of(node), f"{owner}.{node.field}")

    def _has(self, node: ast.Has) -> tuple[IntRange, Extent]:
        return self.visit(node.operand) + ONE, SCALAR

    def _index(self, node: ast.IndexNode) -> tuple[IntRange, Extent]:
        cost = self.visit(node.operand) + self.visit(node.index) + self._weight_of(node)
        inner = self.extents[node.operand.id].element
        return cost, inner if inner is not None else self._by_type(node)

    def _list(self, node: ast.ListNode) -> tuple[IntRange, Extent]:
        cost = sum((self.visit(element) for element in node.elements), self._weight_of(node))
        element: Extent | None = None
        for item in node.elements:
            extent = self.extents[item.id]
            element = extent if element is None else element | extent
        return cost, Extent(len(node.elements) - len(node.optional), len(node.elements), "", element or SCALAR)

    def _map(self, node: ast.MapNode) -> tuple[IntRange, Extent]:
        cost = self._weight_of(node)
        key = value = SCALAR
        for entry in node.entries:
            cost = cost + self.visit(entry.key) + self.visit(entry.value)
            key, value = key | self.extents[entry.key.id], value | self.extents[entry.value.id]
        return cost, Extent(0, len(node.entries), "", value, key)

    def _struct(self, node: ast.Struct) -> tuple[IntRange, Extent]:
        return sum((self.visit(field.value) for field in node.fields), self._weight_of(node)), SCALAR

    def _call(self, node: ast.Call) -> tuple[IntRange, Extent]:
        full = self.checked.names.get(node.id)
        operands = node.args if full is not None else ast.children(node)
        costs = [self.visit(operand) for operand in operands]
        literals = {at: operand.value for at, operand in enumerate(operands) if isinstance(operand, ast.Literal)}
        args = CallArguments(
            [(self.type_of(operand), self.extents[operand.id]) for operand in operands],
            literals,
            self.patterns,
            described(node),
        )
        function, member = full or node.function, full is None and node.target is not None
        row = self._row(function, len(args), member=member)
        match function:
            case "_&&_" | "_||_":
                return ONE + costs[0] + sum(costs[1:], ZERO).or_nothing, SCALAR
            case "_?_:_":
                added = ZERO
                total = ONE + costs[0] + IntRange(min(costs[1].min, costs[2].min), (costs[1] + costs[2]).max)
            case _:
                added = self._added(function, args) if row is None else row.grows(args) if row.grows else ZERO
                total = sum(costs, added + call_weight(function, member=member, env=self.env))
        if added.max:
            self._blame(node, [extent for _, extent in args.arguments])
        extent = row.gives(args) if row is not None and row.gives else None
        return total, self._by_type(node) if extent is None else extent

    def _row(self, function: str, count: int, *, member: bool) -> LibraryFunction | None:
        """Return the library function; None for a function of the caller, and for a call that does not fit."""
        of_caller = self.env.functions.get(function)
        library_function = (
            None if of_caller is not None and of_caller.member == member else lookup(function, member=member)
        )
        return library_function if library_function is not None and library_function.accepts(count) else None

    def _added(self, function: str, args: CallArguments) -> IntRange:
        """Return what a function of the caller spends beyond its weight."""
        entry = self.env.functions.get(function)
        return walk(1)(args).or_nothing if entry is not None and entry.walks else ZERO

    def _weight_of(self, node: Node) -> IntRange:
        weight = own_weight(node, self.env, self.kinds)
        return IntRange(weight, weight)

    def _macro(self, node: ast.Macro) -> tuple[IntRange, Extent]:
        ranged_cost = self.visit(node.range)
        ranged = self.extents[node.range.id]
        self._blame(node, [ranged])
        key, value = self._elements(node, ranged)
        variables = (key, value) if len(node.variables) == 2 else (value if self._is_list(node) else key,)
        for name, extent in zip(node.variables, variables, strict=True):
            self._locals.setdefault(name, []).append(extent)
        bodies = [self.visit(argument) for argument in node.args]
        for name in node.variables:
            self._locals[name].pop()
        step = step_weight(node, self.kinds)
        body = bodies[0] + sum(bodies[1:], ZERO).or_nothing
        items = ranged.items()
        if node.name in ("all", "exists"):
            items = IntRange(min(items.min, 1), items.max)
        cost = ranged_cost + ONE + body.or_nothing + items * (IntRange(step, step) + body)
        return cost, self._gathered(node, ranged, key)

    def _is_list(self, node: ast.Macro) -> bool:
        return isinstance(bare(self.type_of(node.range)), ListType) or self.extents[node.range.id].key is None

    def _elements(self, node: ast.Macro, ranged: Extent) -> tuple[Extent, Extent]:
        path = f"{described(node.range)}[]"
        value = ranged.element or Extent(0, None, path, assumed=True)
        return ranged.key or SCALAR, value

    def _gathered(self, node: ast.Macro, ranged: Extent, key: Extent) -> Extent:
        """Return the extent of a comprehension's result."""
        if node.name in ROUND:
            return SCALAR
        body = self.extents[node.args[-1].id]
        match node.name:
            case "filter":
                element, keys = (ranged.element, None) if self._is_list(node) else (key, None)
            case "transformMap":
                element, keys = body, key
            case "transformMapEntry":
                element, keys = body.element or SCALAR, body.key or SCALAR
            case _:
                element, keys = body, None
        return Extent(0, ranged.most, ranged.path, element, keys, ranged.assumed)

    def _bind(self, node: ast.Bind) -> tuple[IntRange, Extent]:
        value = self.visit(node.value)
        self._locals.setdefault(node.name, []).append(self.extents[node.value.id])
        body = self.visit(node.body)
        self._locals[node.name].pop()
        return ONE + value.or_nothing + body, self.extents[node.body.id]

    def _blame(self, node: Node, extents: list[Extent]) -> None:
        """Record the unbounded values that the cost of a node depends on."""
        paths = tuple(extent.path for extent in extents if extent.assumed and extent.path)
        if paths:
            self.drivers[node.id] = paths


def _parsing_cost(kind: Type, extent: Extent) -> IntRange:
    """Return the cost of parsing a list or a map of instants, durations or doubles in data."""
    if not access.is_read(kind):
        return ZERO
    match kind:
        case NullableType() | OptionalType():
            return _parsing_cost(kind.element, extent)
        case ListType() | MapType():
            inner = kind.element if isinstance(kind, ListType) else kind.value
            per_item = IntRange(access.EACH, access.EACH) + _parsing_cost(
                inner, extent.element or extent_of(inner, extent.path)
            )
            return (extent.items() * per_item).or_nothing
    return ZERO
