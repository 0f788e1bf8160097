"""Objects of kinds that muster does not know: other programs' documents in the repository's files.

Nothing is decided or derived about them, but admission policies may match them. So reading records only where each is
and its identity; its body is loaded again when a policy needs it. Agents' documents are not among them: no agent's
branch can add a ConfigMap that a policy reads.
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
    """Where such an object is. The id's namespace is the one in the document, empty if missing; its name is empty if
    the API server would generate one (`generateName`)."""

    id: ObjectId
    version: str
    source: SourceFile
    document: int
    item: int | None
    line: int


#: The foreign objects of a fleet by group and kind, in order of file and document.
ByKind = Mapping[tuple[str, str], tuple[Foreign, ...]]


def foreign_objects(source: SourceFile, index: int, line: int, item: int | None, body: Tree) -> Iterator[Foreign]:
    """Yield the objects of a document of an unknown kind: itself, or the items of a list of one kind.

    A document without a name is skipped: a kustomization, a tool's configuration.
    """
    items = body.get("items")
    if item is None and isinstance(items, list) and str(body["kind"]).endswith(_LIST):
        for number, entry in enumerate(items):
            if isinstance(entry, dict):
                yield from _named_objects(source, index, line, number, _typed(body, entry))
    else:
        yield from _named_objects(source, index, line, item, body)


def _typed(body: Tree, entry: Tree) -> Tree:
    """An item of a list of one kind need not repeat the kind."""
    return {"apiVersion": body["apiVersion"], "kind": str(body["kind"]).removesuffix(_LIST), **entry}


def _named_objects(source: SourceFile, index: int, line: int, item: int | None, body: Tree) -> Iterator[Foreign]:
    metadata, api_version, kind = mapping_at(body, "metadata"), body["apiVersion"], body["kind"]
    name, namespace = metadata.get("name"), metadata.get("namespace")
    generated = name is None and isinstance(metadata.get("generateName"), str)
    if not isinstance(api_version, str) or not isinstance(kind, str) or not kind:
        return
    if generated or (isinstance(name, str) and name):
        group, _, version = api_version.rpartition("/")
        id_ = ObjectId(group, kind, namespace if isinstance(namespace, str) else "", "" if generated else str(name))
        yield Foreign(id_, version, source, index, item, line)


def by_kind(objects: Iterable[Foreign]) -> ByKind:
    """Group foreign objects by group and kind."""
    return {
        kind: tuple(of_kind) for kind, of_kind in grouped(((obj.id.group, obj.id.kind), obj) for obj in objects).items()
    }


class BodyLoader:
    """Loads the bodies of foreign objects. Caches the last file, because objects of one file are loaded in a row."""

    def __init__(self) -> None:
        self._source: SourceFile | None = None
        self._bodies: dict[int, tuple[Tree, bool]] = {}

    def body(self, foreign: Foreign) -> Tree:
        """Return the document without null fields, which an API server drops."""
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
        )
        return Object(id_, body, (part,))


def _without_nulls(value: Tree) -> Tree:
    if isinstance(value, dict):
        return {name: _without_nulls(child) for name, child in value.items() if child is not None}
    return [_without_nulls(child) for child in value] if isinstance(value, list) else value


def in_scope(body: Tree, namespace: str) -> Tree:
    """Return a body in the given namespace, as an API server or kubectl would set it; empty for none."""
    if (dig(body, "metadata", "namespace") or "") == namespace:
        return body
    metadata = {name: value for name, value in mapping_at(body, "metadata").items() if name != "namespace"}
    return {**body, "metadata": {**metadata, **({"namespace": namespace} if namespace else {})}}
