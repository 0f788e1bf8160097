"""Findings of admission policies, and the place in an object that they refuse.

That is the field that the rule reads, or in a list the refused element; the object's name for a rule that reads several
separate fields.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Final

from muster import cel
from muster.cel import ast
from muster.data.codes import Code, Severity
from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.kinds import list_keys_of
from muster.data.tree import At, Tree, dig
from muster.fleet.merge import element_key
from muster.fleet.objects import Object
from muster.fleet.places import place_of

NAME: Final[At] = ("metadata", "name")
#: Fields of the object's identity, which rules read for other reasons.
_IDENTITY: Final = frozenset((("apiVersion",), ("kind",), NAME, ("metadata", "namespace")))


def place_in(obj: Object, fields: list[At], refuses: Callable[[Tree], bool]) -> Path | At:
    """Return the path that a rule refuses. `fields`: those that it reads; `refuses`: does it refuse another body?"""
    present = [path for path in fields if path not in _IDENTITY and dig(obj.body, *map(str, path)) is not None]
    steps = list(takewhile(lambda step: len(set(step)) == 1, zip(*present, strict=False)))
    common: At = tuple(step[0] for step in steps)
    if not common or common == ("metadata",):
        return NAME
    elements = dig(obj.body, *map(str, common))
    if not isinstance(elements, list):
        return common
    index = next(
        (index for index, element in enumerate(elements) if refuses(_with_value(obj.body, common, [element]))), None
    )
    if index is None:
        return common
    # Several files may each have some of the elements.
    key = element_key(elements[index], list_keys_of(obj.id).get(".".join(map(str, common)), ()))
    if not key:
        return (*common, index)
    keyed: Path = (*(str(step) for step in common), key)
    return keyed


def fields_read(program: cel.Program, variables: Mapping[str, cel.Program]) -> list[At]:
    """Return the fields of `object` that an expression reads, directly or by variables."""
    return sorted(set(_fields(program.node, dict(variables))))


def _fields(node: ast.Node, variables: dict[str, cel.Program]) -> Iterator[At]:
    path = _path(node)
    if path is not None and path[0] == "object" and len(path) > 1:
        yield path[1:]
        return
    if path is not None and path[0] == "variables" and len(path) > 1:
        program = variables.pop(path[1], None)
        if program is not None:
            yield from _fields(program.node, variables)
        return
    for child in ast.children(node):
        yield from _fields(child, variables)


def _path(node: ast.Node) -> tuple[str, ...] | None:
    """The names of `a.b.c`; None for any other node."""
    steps: list[str] = []
    while isinstance(node, (ast.Select, ast.Has)):
        steps.append(node.field)
        node = node.operand
    return (node.name, *reversed(steps)) if isinstance(node, ast.Ident) else None


def _with_value(body: Tree, path: At, value: Tree) -> Tree:
    if not path:
        return value
    return {**body, path[0]: _with_value(body[path[0]], path[1:], value)}


_LONGEST = 200


def refused(
    policy: ObjectId,
    severity: Severity,
    id_: ObjectId,
    obj: Object | None,
    binding: Object,
    message: str,
    at: Path | At,
) -> Finding:
    """A policy's refusal, at a field of the object; for a removed object at the binding."""
    place = place_of(obj.parts, at) if obj else place_of(binding.parts, NAME)
    gone = "" if obj else f"{id_} cannot be removed: "
    text = f"{gone}{' '.join(message.split())}"
    refusal = finding(Code.ADMISSION_REFUSED, text, place, hint=f"{policy} says so", object_=id_, severity=severity)
    return replace(refusal, policy=policy)


def audit_annotations(
    policy: ObjectId, id_: ObjectId, obj: Object | None, binding: Object, notes: Mapping[str, str]
) -> Iterable[Finding]:
    """A policy's audit annotations for an object, by key."""
    if not notes:
        return  # finding the place reads the file again
    place = place_of((obj or binding).parts, ("metadata", "name"))
    for key, value in notes.items():
        text = f"{key}: {' '.join(value.split())}"
        yield finding(Code.ADMISSION_NOTE, text, place, hint=f"{policy} notes it", object_=id_)


def short(expression: str) -> str:
    """An expression, shortened for messages."""
    text = " ".join(expression.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
