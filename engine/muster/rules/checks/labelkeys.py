"""Label keys that a person writes: selectors, topology keys, failure domains; and those that no cluster has.

`x-muster-labels-of` in a schema marks each field that holds a key or a selector, and says whose labels it means. So no
check has to know the fields of a kind.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import ALL, BY_NAME, CLUSTER_DEPLOYMENT, CLUSTERS, KARMADA_CLUSTER, MANAGED_CLUSTER, Kind
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.clusters import CLUSTER_SET
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.schemas import common_definitions, schema_of
from muster.fleet.shared import CLAIM, label_name, names_in_use

_MARK: Final = "x-muster-labels-of"
_DEFINITIONS: Final = "#/$defs/"
#: A step to each element of a list.
_EVERY_ELEMENT: Final = "[]"


@dataclass(frozen=True, slots=True)
class LabelKey:
    """A key that an object names: where, whose label it is, and whether a selector requires it. `claim`: it is a
    cluster's claim, not a label."""

    at: At
    key: str
    kinds: tuple[Kind, ...]
    required: bool
    claim: bool = False


def label_keys(obj: Object) -> Iterator[LabelKey]:
    """Yield the keys that an object names; of a selector, those that a label must have."""
    for steps, owner in _marked(obj.kind):
        for at, value, siblings in _values(obj.body, steps):
            kinds = _OWNERS[owner](obj.spec)
            if isinstance(value, str):
                if value:
                    yield LabelKey(at, value, kinds, required=False, claim=siblings.get("topologyKeyType") == "Claim")
                continue
            for key in mapping_at(value, "matchLabels"):
                yield LabelKey((*at, "matchLabels", key), key, kinds, required=True)
            for index, entry in enumerate(mappings_at(value, "matchExpressions")):
                if entry.get("operator") in ("In", "Exists") and isinstance(entry.get("key"), str):
                    yield LabelKey((*at, "matchExpressions", index, "key"), entry["key"], kinds, required=True)


def label_findings(fleet: Fleet, *, heard: bool = True) -> Iterator[Finding]:
    """Yield a warning for each key that no object has as a label, or no cluster as a claim; not for claims if agents
    were not `heard`, because they report them. What is `beyond` a part of the fleet counts."""
    names = _NamesInUse(fleet)
    for kind in ALL:
        for obj in fleet.of(kind) if _marked(kind) else ():
            for named in label_keys(obj) if obj.written else ():
                in_use = names.claims() if named.claim else names.labels(named.kinds)
                if named.key in in_use or (named.claim and not heard):
                    continue
                owner = named.kinds[0].name if len(named.kinds) == 1 else "cluster"
                noun = "claim" if named.claim else "label"
                doing = "requires" if named.required else "groups clusters by"
                message = f"{obj.id} {doing} the {noun} {named.key!r}, which no {owner} has"
                yield finding_at(obj, named.at, Code.UNKNOWN_LABEL, message, did_you_mean(named.key, in_use))


class _NamesInUse:
    """The keys of the labels of each kind's objects, and of clusters' claims."""

    def __init__(self, fleet: Fleet) -> None:
        self._names = fleet.beyond.names.union(names_in_use(fleet.objects.values()))
        self.labels = cache(self._labels)
        self.claims = cache(self._claims)

    def _labels(self, kinds: tuple[Kind, ...]) -> frozenset[str]:
        derived = {CLUSTER_SET} if MANAGED_CLUSTER in kinds else set()
        return frozenset(derived).union(*(self._without_prefix(label_name(kind, "")) for kind in kinds))

    def _claims(self) -> frozenset[str]:
        return self._without_prefix(CLAIM)

    def _without_prefix(self, prefix: str) -> frozenset[str]:
        return frozenset(name.removeprefix(prefix) for name in self._names if name.startswith(prefix))


def _of_target(spec: Tree) -> tuple[Kind, ...]:
    target = mapping_at(spec, "target")
    return tuple(BY_NAME[name] for name in target.get("kinds") or [target.get("kind")] if name in BY_NAME)


def _of_projection(spec: Tree) -> tuple[Kind, ...]:
    if dig(spec, "forEach", "pool") is not None:
        return (CLUSTER_DEPLOYMENT,)
    return (BY_NAME.get(str(dig(spec, "select", "kind")), MANAGED_CLUSTER),)


#: Whose labels a mark means, by the spec of the object.
_OWNERS: Final[Mapping[str, Callable[[Tree], tuple[Kind, ...]]]] = {
    "ManagedCluster": lambda _: (MANAGED_CLUSTER,),
    "Cluster": lambda _: (KARMADA_CLUSTER,),
    "clusters": lambda _: tuple(CLUSTERS),
    "topology": lambda _: (MANAGED_CLUSTER,),
    "target": _of_target,
    "select": _of_projection,
}


@cache
def _marked(kind: Kind) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The paths of a kind's marked fields, and whose labels they mean."""
    schema = schema_of(kind)
    return tuple(_marks(schema, schema, (), frozenset()))


def _marks(
    schema: Tree, document: Mapping[str, Tree], steps: tuple[str, ...], followed: frozenset[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(owner := dig(schema, _MARK), str):
        yield steps, owner
        return
    file, _, name = str(dig(schema, "$ref") or "").partition(_DEFINITIONS)
    if name and f"{file}/{name}" not in followed:
        within = common_definitions() if file else document
        target = dig(within, "$defs", name)
        yield from _marks(target, within, steps, followed | {f"{file}/{name}"})
    for field, inner in mapping_at(schema, "properties").items():
        yield from _marks(inner, document, (*steps, field), followed)
    if isinstance(items := dig(schema, "items"), dict):
        yield from _marks(items, document, (*steps, _EVERY_ELEMENT), followed)


def _values(tree: Tree, steps: tuple[str, ...], at: At = ()) -> Iterator[tuple[At, Tree, Mapping[str, Tree]]]:
    """Yield the values at a path, each with its own path and the mapping that it is in."""
    siblings: Mapping[str, Tree] = {}
    for index, step in enumerate(steps):
        if step == _EVERY_ELEMENT:
            for number, item in enumerate(tree if isinstance(tree, list) else ()):
                yield from _values(item, steps[index + 1 :], (*at, number))
            return
        siblings = tree if isinstance(tree, dict) else {}
        tree, at = siblings.get(step), (*at, step)
    if tree is not None:
        yield at, tree, siblings
