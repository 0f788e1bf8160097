"""Built-in policies with a mistake planted in them."""

from collections.abc import Mapping
from dataclasses import replace

from muster.data.ids import ObjectId
from muster.data.tree import Tree
from muster.fleet.files import builtin_objects
from muster.fleet.objects import Object


def with_hole(name: str, sound: str, hole: str) -> Mapping[ObjectId, Object]:
    """The built-in objects, with an expression of the policy of a name made another one."""
    found = dict(builtin_objects())
    [id_] = [id_ for id_ in found if id_.name == name and id_.kind.endswith("Policy")]
    body = _planted(found[id_].body, sound, hole)
    assert body != found[id_].body
    # How a file was compiled is remembered by its content, and this one is none.
    parts = tuple(replace(part, body=body, source=part.source._replace(oid="")) for part in found[id_].parts)
    found[id_] = Object(id_, body, parts)
    return found


def _planted(value: Tree, sound: str, hole: str) -> Tree:
    if isinstance(value, dict):
        return {key: _planted(inner, sound, hole) for key, inner in value.items()}
    if isinstance(value, list):
        return [_planted(inner, sound, hole) for inner in value]
    return value.replace(sound, hole) if isinstance(value, str) else value
