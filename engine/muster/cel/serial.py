"""Syntax trees to JSON data and back, for the cache.

`load` checks every node: it only returns a tree that the parser could have made, whoever wrote the data.
"""

import base64

from muster.cel import ast
from muster.cel.values import INT_MAX, INT_MIN, UINT_MAX, Json, TypeValue, UInt

MAX_DEPTH = 200

_ARITIES = {
    "_?_:_": 3,
    "!_": 1,
    "-_": 1,
    "@in": 2,
    "_+_": 2,
    "_-_": 2,
    "_*_": 2,
    "_/_": 2,
    "_%_": 2,
    "_==_": 2,
    "_!=_": 2,
    "_<_": 2,
    "_<=_": 2,
    "_>_": 2,
    "_>=_": 2,
}
_BODIES = {
    "all": (1,),
    "exists": (1,),
    "exists_one": (1,),
    "existsOne": (1,),
    "filter": (1,),
    "map": (1, 2),
    "transformList": (1, 2),
    "transformMap": (1, 2),
    "transformMapEntry": (1, 2),
}


def dump(node: ast.Node) -> Json:
    """Return the tree as lists, strings, numbers and booleans."""
    head = [node.id, node.offset]
    match node:
        case ast.Literal():
            return ["L", *head, *_dump_literal(node.value)]
        case ast.Ident():
            return ["I", *head, node.name]
        case ast.Select():
            return ["S", *head, dump(node.operand), node.field, node.optional]
        case ast.Has():
            return ["H", *head, dump(node.operand), node.field]
        case ast.IndexNode():
            return ["X", *head, dump(node.operand), dump(node.index), node.optional]
        case ast.Call():
            target = None if node.target is None else dump(node.target)
            return ["C", *head, node.function, target, [dump(arg) for arg in node.args]]
        case ast.ListNode():
            return ["A", *head, [dump(element) for element in node.elements], sorted(node.optional)]
        case ast.MapNode():
            return ["M", *head, [[dump(entry.key), dump(entry.value), entry.optional] for entry in node.entries]]
        case ast.Struct():
            return ["T", *head, node.name, [[field.name, dump(field.value), field.optional] for field in node.fields]]
        case ast.Macro():
            return ["F", *head, node.name, dump(node.range), list(node.variables), [dump(arg) for arg in node.args]]
        case ast.Bind():
            return ["B", *head, node.name, dump(node.value), dump(node.body)]


def _dump_literal(value: ast.LiteralValue) -> tuple[str, Json]:
    match value:
        case None | bool():
            return "c", value
        case UInt():
            return "u", int(value)
        case int():
            return "i", value
        case float():
            return "d", value.hex()
        case str():
            return "s", value
        case bytes():
            return "y", base64.b64encode(value).decode()
        case TypeValue():
            return "t", value.name


def load(data: Json, depth: int = 0) -> ast.Node:
    """Return the tree that `dump` turned into this data. Raises ValueError for anything else."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    match data:
        case [str(tag), int(identity), int(offset), *rest] if identity >= 0 and offset >= 0:
            return _node(tag, identity, offset, rest, depth + 1)
    raise ValueError("not a node")


def _node(tag: str, identity: int, offset: int, rest: list[Json], depth: int) -> ast.Node:
    match tag, rest:
        case "L", [str(kind), value]:
            return ast.Literal(identity, offset, _load_literal(kind, value))
        case "I", [str(name)]:
            return ast.Ident(identity, offset, name)
        case "S", [operand, str(field), bool(optional)]:
            return ast.Select(identity, offset, load(operand, depth), field, optional)
        case "H", [operand, str(field)]:
            return ast.Has(identity, offset, load(operand, depth), field)
        case "X", [operand, index, bool(optional)]:
            return ast.IndexNode(identity, offset, load(operand, depth), load(index, depth), optional)
        case "C", [str(function), target, list(args)]:
            return _call(identity, offset, function, target, args, depth)
        case "A", [list(elements), list(optional)] if all(type(place) is int for place in optional):
            return ast.ListNode(identity, offset, _load_all(elements, depth), frozenset(optional))
        case "M", [list(entries)]:
            return ast.MapNode(identity, offset, tuple(_entry(entry, depth) for entry in entries))
        case "T", [str(name), list(fields)]:
            return ast.Struct(identity, offset, name, tuple(_field(field, depth) for field in fields))
        case "F", [str(name), source, list(variables), list(args)]:
            return _macro(identity, offset, name, source, variables, args, depth)
        case "B", [str(name), value, body]:
            return ast.Bind(identity, offset, name, load(value, depth), load(body, depth))
    raise ValueError(f"not a node of kind {tag!r}")


def _load_all(data: list[Json], depth: int) -> tuple[ast.Node, ...]:
    return tuple(load(item, depth) for item in data)


def _call(identity: int, offset: int, function: str, target: Json, args: list[Json], depth: int) -> ast.Call:
    arity = _ARITIES.get(function)
    logical = function in ("_&&_", "_||_")
    if not function or ((arity or logical) and target is not None):
        raise ValueError("an operator has no receiver")
    if (arity is not None and len(args) != arity) or (logical and len(args) < 2):
        raise ValueError(f"{function!r} with {len(args)} operands")
    return ast.Call(identity, offset, function, None if target is None else load(target, depth), _load_all(args, depth))


def _macro(
    identity: int, offset: int, name: str, source: Json, variables: list[Json], args: list[Json], depth: int
) -> ast.Macro:
    names = tuple(variable for variable in variables if isinstance(variable, str))
    two_only = name.startswith("transform")
    if name not in _BODIES or len(args) not in _BODIES[name] or len(names) != len(variables):
        raise ValueError(f"{name!r} is no macro of this form")
    if len(names) not in ((2,) if two_only else (1,) if name in ("map", "filter") else (1, 2)):
        raise ValueError(f"{name!r} with {len(names)} variables")
    return ast.Macro(identity, offset, name, load(source, depth), names, _load_all(args, depth))


def _entry(data: Json, depth: int) -> ast.MapEntry:
    match data:
        case [key, value, bool(optional)]:
            return ast.MapEntry(load(key, depth), load(value, depth), optional)
    raise ValueError("not an entry of a map")


def _field(data: Json, depth: int) -> ast.MessageField:
    match data:
        case [str(name), value, bool(optional)]:
            return ast.MessageField(name, load(value, depth), optional)
    raise ValueError("not a field of a message")


def _load_literal(kind: str, data: Json) -> ast.LiteralValue:
    value: object = data
    match kind, value:
        case "c", None | bool():
            return value
        case "i", int() if type(value) is int and INT_MIN <= value <= INT_MAX:
            return value
        case "u", int() if type(value) is int and 0 <= value <= UINT_MAX:
            return UInt(value)
        case "d", str():
            return float.fromhex(value)
        case "s", str():
            return value
        case "y", str():
            return base64.b64decode(value, validate=True)
        case "t", str():
            return TypeValue(value)
    raise ValueError(f"not a literal of kind {kind!r}")
