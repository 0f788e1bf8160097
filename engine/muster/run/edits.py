"""Differences that no fact tells, field by field, with the old and the new value: between two derived parts of an
object, and between what people declared of it before and declare now."""

from collections.abc import Iterable, Iterator
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, CLUSTERS, CSR, LEASE, MANAGED_CLUSTER, ListKeys, kind_of
from muster.data.tree import Tree, mapping_at
from muster.fleet.fleet import Fleet
from muster.fleet.merge import element_key
from muster.fleet.sets import CLUSTER_SET, DEFAULT
from muster.run.change import Change
from muster.run.facts import Fact

_LONGEST: Final = 60
#: What agents write, and nobody edits.
_OF_AGENTS: Final = (LEASE, ADAPTER_REPORT, CSR)
#: Annotations in which muster notes something for itself.
_NOTED: Final = ("muster.dev/", "hive.openshift.io/cluster-pool-spec-hash")
_NOTES: Final = "status.muster."
#: What its entries are called.
_CALLED: Final = {"metadata.annotations": "annotation", "metadata.labels": "label"}


def field_changes(id_: ObjectId, before: Tree, after: Tree) -> Iterator[Change]:
    """Yield a change for each field of a derived part that differs; what is bookkeeping is called a note."""
    keys = kind_of(id_).list_keys
    old, new = dict(_leaves(before, keys)), dict(_leaves(after, keys))
    for label in sorted(old.keys() | new.keys()):
        if old.get(label) != new.get(label):
            was, now = (_fact(label, values) for values in (old, new))
            yield Change(id_, was, now)


def edited(base: Fleet, head: Fleet, ids: Iterable[ObjectId]) -> Iterator[Change]:
    """Yield what people changed of objects that both fleets declare: labels, the set of a cluster, annotations, and
    fields of the spec. Taints are told by what is derived of them."""
    for id_ in sorted(ids):
        if id_ in base.objects and id_ in head.objects and is_edited(id_):
            yield from declared_changes(id_, base.objects[id_].body, head.objects[id_].body)


def declared_changes(id_: ObjectId, before: Tree, after: Tree) -> Iterator[Change]:
    """Yield the same of one object, from what files declared of it to what they declare."""
    old, new = _declared(id_, before), _declared(id_, after)
    for label in sorted(old.keys() | new.keys()):
        if old.get(label) != new.get(label):
            yield Change(id_, old.get(label), new.get(label))


def is_edited(id_: ObjectId) -> bool:
    """Whether people write what is declared of an object."""
    return kind_of(id_) not in _OF_AGENTS


def _declared(id_: ObjectId, body: Tree) -> dict[str, Fact]:
    labels = dict(mapping_at(body, "metadata", "labels"))
    facts = list[Fact]()
    if MANAGED_CLUSTER.has(id_):
        facts.append(Fact("set", text=labels.pop(CLUSTER_SET, "") or DEFAULT))
    facts += [Fact("label", name, str(value) or "''") for name, value in labels.items()]
    annotations = mapping_at(body, "metadata", "annotations")
    facts += [Fact("annotation", name, _short(value)) for name, value in annotations.items()]
    kind = kind_of(id_)
    spec = {name: value for name, value in mapping_at(body, "spec").items() if name != "taints" or kind not in CLUSTERS}
    facts += [Fact("edited", path, text) for path, text in _leaves({"spec": spec}, kind.list_keys)]
    return {fact.label: fact for fact in facts}


def _leaves(tree: Tree, keys: ListKeys, path: str = "") -> Iterator[tuple[str, str]]:
    """The fields below a tree, each with its value in short: elements of keyed lists go by their keys."""
    if isinstance(tree, dict) and tree:
        for name, value in tree.items():
            text = str(name)
            step = f".{text}" if path and text.isidentifier() else text if not path else f"[{text}]"
            yield from _leaves(value, keys, f"{path}{step}")
    elif isinstance(tree, list) and tree and any(isinstance(one, dict) for one in tree):
        fields = keys.get(path, ())
        for number, one in enumerate(tree):
            key = element_key(one, fields) if fields else None
            yield from _leaves(one, keys, f"{path}[{':'.join(filter(None, key)) if key else number}]")
    else:
        yield path, ", ".join(map(str, tree)) if isinstance(tree, list) else _short(tree)


def _short(value: Tree) -> str:
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _fact(label: str, values: dict[str, str]) -> Fact | None:
    sort, name = "field", label
    for path, called in _CALLED.items():
        if label.startswith((f"{path}.", f"{path}[")):
            sort, name = called, label[len(path) :].strip(".[]")
    if name.startswith(_NOTED if sort == "annotation" else _NOTES):
        sort, name = "note", name.removeprefix(_NOTES)
    return Fact(sort, name, values[label] or "''") if label in values else None
