"""First stage: what is broken keeps its last derived state.

An object with an error in it is not decided anew: nobody knows what it should be. Its previous derived part is
decided again, word for word (with the Lease that is awaited from a broken cluster), so that the later stages still
see a cluster's conditions and taints, and a typo in one file moves nothing.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.fleet.fleet import Fleet
from muster.fleet.merge import element_key
from muster.model.decision import Because, Decision, Path
from muster.model.ids import ObjectId
from muster.model.kinds import CLUSTERS, LEASE, ListKeys, kind_of
from muster.model.tree import Tree

_BROKEN = Because("kept", text="the object has an error, so it keeps its last derived state")
_MISSING = Because("kept", text="a file could not be read that may hold this object, so it keeps its derived state")


def stage(fleet: Fleet, _now: datetime) -> Iterator[Decision]:
    """Decide again what the last run derived for every broken object."""
    clusters = {id_.name for id_ in fleet.broken if kind_of(id_) in CLUSTERS}
    for id_ in sorted(fleet.previous):
        awaited = kind_of(id_) is LEASE and id_.namespace in clusters and id_ not in fleet.objects
        if id_ in fleet.broken or awaited:
            yield from _again(id_, fleet.previous[id_], _BROKEN)
        elif fleet.unidentified and id_ not in fleet.objects:
            yield from _again(id_, fleet.previous[id_], _MISSING)


def _again(id_: ObjectId, body: Tree, because: Because) -> Iterator[Decision]:
    for path, value in _leaves(body, kind_of(id_).list_keys, ()):
        if path[0] in ("apiVersion", "kind") or path in (("metadata", "name"), ("metadata", "namespace")):
            continue
        yield Decision(id_, path, value, because)


def _leaves(tree: Tree, list_keys: ListKeys, path: Path) -> Iterator[tuple[Path, Tree]]:
    """The derived part cut into the same paths at which stages decide: fields of sections, elements of keyed lists."""
    fields = list_keys.get(".".join(step for step in path if isinstance(step, str)), ())
    if fields and isinstance(tree, list):
        for element in tree:
            if key := element_key(element, fields):
                yield (*path, key), {name: value for name, value in element.items() if name not in fields}
    elif isinstance(tree, dict) and len(path) < 2:
        for name, value in tree.items():
            yield from _leaves(value, list_keys, (*path, name))
    else:
        yield path, tree
