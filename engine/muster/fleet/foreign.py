"""Objects of kinds that muster does not know: other programs' documents in the repository's files.

They are no objects of the fleet: nothing is decided or derived of them. Admission policies may speak of them all the
same, so reading notes where each stands and what it says that it is, and nothing more: its body is loaded again when a
policy asks for it, and costs nothing where none does.

What an agent sends is not among them: no agent's branch gives the repository a ConfigMap that a policy reads.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree, dig, mapping_at
from muster.data.yaml.loader import load_documents
from muster.fleet.objects import Object

_LIST: Final = "List"


class Foreign(NamedTuple):
    """Where such an object stands. Its id has the namespace that the document names, empty where it names none, and
    no name where the API server would make one up (`generateName`)."""

    id: ObjectId
    version: str
    source: SourceFile
    document: int
    item: int | None
    line: int


#: The foreign objects of a fleet by group and kind, in order of file and document.
ByKind = Mapping[tuple[str, str], tuple[Foreign, ...]]


def foreign_objects(source: SourceFile, index: int, line: int, item: int | None, body: Tree) -> Iterator[Foreign]:
    """Yield the objects that a document of an unknown kind is: itself, or the items of a list of one kind.

    What has no name is no object that an API server would be asked about: a kustomization, a tool's configuration.
    """
    items = body.get("items")
    if item is None and isinstance(items, list) and str(body["kind"]).endswith(_LIST):
        for number, entry in enumerate(items):
            if isinstance(entry, dict):
                yield from _named(source, index, line, number, _typed(body, entry))
    else:
        yield from _named(source, index, line, item, body)


def _typed(body: Tree, entry: Tree) -> Tree:
    """An item of a list of one kind need not repeat the kind."""
    return {"apiVersion": body["apiVersion"], "kind": str(body["kind"]).removesuffix(_LIST), **entry}


def _named(source: SourceFile, index: int, line: int, item: int | None, body: Tree) -> Iterator[Foreign]:
    metadata, api_version, kind = mapping_at(body, "metadata"), body["apiVersion"], body["kind"]
    name, namespace = metadata.get("name"), metadata.get("namespace")
    generated = name is None and isinstance(metadata.get("generateName"), str)
    if not isinstance(api_version, str) or not isinstance(kind, str) or not kind:
        return
    if generated or (isinstance(name, str) and name):
        group, _, version = api_version.rpartition("/")
        id_ = ObjectId(group, kind, namespace if isinstance(namespace, str) else "", "" if generated else str(name))
        yield Foreign(id_, version, source, index, item, line)


def by_kind(found: Iterable[Foreign]) -> ByKind:
    """Group foreign objects by what they are."""
    return {kind: tuple(same) for kind, same in grouped(((one.id.group, one.id.kind), one) for one in found).items()}


class Opener:
    """Loads the bodies of foreign objects. It keeps the file that it read last: those of one file are asked for in a
    row."""

    def __init__(self) -> None:
        self._source: SourceFile | None = None
        self._bodies: dict[int, tuple[Tree, bool]] = {}

    def body(self, foreign: Foreign) -> Tree:
        """Return what the document says, less the fields that are null: an API server drops those."""
        if foreign.source is not self._source:
            loaded = load_documents(foreign.source.read(), foreign.source.label)
            self._bodies = {document.index: (document.body, document.nulls) for document in loaded.documents}
            self._source = foreign.source
        body, nulls = self._bodies[foreign.document]
        if foreign.item is not None:
            inside = body["items"][foreign.item]
            body = _typed(body, inside) if body.get("kind") != _LIST else inside
        return _without_nulls(body) if nulls else body

    def object(self, foreign: Foreign, id_: ObjectId, body: Tree) -> Object:
        """Return the object, under the id and with the body that an API server would give it."""
        part = Part(
            id_, foreign.version, body, Layer.INPUT, foreign.source, foreign.document, foreign.item, foreign.line
        )  # fmt: skip
        return Object(id_, body, (part,))


def _without_nulls(value: Tree) -> Tree:
    if isinstance(value, dict):
        return {name: _without_nulls(child) for name, child in value.items() if child is not None}
    return [_without_nulls(child) for child in value] if isinstance(value, list) else value


def in_scope(body: Tree, namespace: str) -> Tree:
    """Return a body in the namespace in which an API server or kubectl would put it; empty for none."""
    if (dig(body, "metadata", "namespace") or "") == namespace:
        return body
    metadata = {name: value for name, value in mapping_at(body, "metadata").items() if name != "namespace"}
    return {**body, "metadata": {**metadata, **({"namespace": namespace} if namespace else {})}}
