"""The cost of each node of an expression, in units of `runtime.budget`: one table for the counter and the estimate.

The weight of a node covers its work for operands of ordinary size, and the memory that it takes. Operations pay for
work that grows with sizes when they run.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from muster.cel import ast
from muster.cel.env import Env
from muster.cel.library.registry import lookup
from muster.cel.runtime import access
from muster.cel.types import DOUBLE, Type

LIST: Final = 10
MAP: Final = 30
STRUCT: Final = 40
ENTRY: Final = 3
"""Units of an entry whose key is not a literal text, besides key and value."""
READ: Final = 40
"""Units of parsing an instant or a duration that is selected from data; a variable is parsed once."""
ROUND: Final[Mapping[str, int]] = MappingProxyType({"all": 5, "exists": 5, "exists_one": 5, "existsOne": 5})
"""Units of one round of a comprehension, besides its body."""
GROWING_ROUND: Final = 13
"""Units of one round that adds to a list or a map, besides its body."""


def weigh(nodes: Iterable[ast.Node], env: Env, types: Mapping[int, Type]) -> int:
    """Return the units of one pass over nodes."""
    return sum(own_weight(node, env, types) for node in nodes)


def round_weight(node: ast.Macro, env: Env, types: Mapping[int, Type]) -> int:
    """Return the units of one round of a comprehension: its bodies, without the rounds of inner comprehensions."""
    total = step_weight(node, types)
    pending = list(node.args)
    while pending:
        current = pending.pop()
        total += own_weight(current, env, types)
        pending.extend([current.range] if isinstance(current, ast.Macro) else ast.children(current))
    return total


def step_weight(node: ast.Macro, types: Mapping[int, Type]) -> int:
    """Return the units of one round of a comprehension besides its bodies."""
    kinds = access.element_kinds(types.get(node.range.id), len(node.variables))
    return ROUND.get(node.name, GROWING_ROUND) + sum(_read(kind) for kind in kinds)


def _read(kind: Type | None) -> int:
    return READ if kind is not None and kind != DOUBLE and access.is_read(kind) else 0


def own_weight(node: ast.Node, env: Env, types: Mapping[int, Type]) -> int:
    """Return the units of one node without its operands. `types` has the types of values read from data."""
    match node:
        case ast.Select():
            return (4 if node.optional else 1) + _read(types.get(node.id))
        case ast.IndexNode():
            return call_weight("_[?_]" if node.optional else "_[_]", member=False, env=env) + _read(types.get(node.id))
        case ast.Call():
            return call_weight(node.function, member=node.target is not None, env=env)
        case ast.ListNode():
            return LIST
        case ast.MapNode():
            keys = (entry.key for entry in node.entries)
            return MAP + sum(
                0 if isinstance(key, ast.Literal) and isinstance(key.value, str) else ENTRY for key in keys
            )
        case ast.Struct():
            return STRUCT
        case _:
            return 1


def call_weight(function: str, *, member: bool, env: Env) -> int:
    """Return the units of a call of an operator, a library function, or a function of the caller."""
    of_caller = env.functions.get(function)
    if of_caller is not None and of_caller.member == member:
        return of_caller.cost
    library_function = lookup(function, member=member)
    return 1 if library_function is None else library_function.weight  # an unknown function fails at once
