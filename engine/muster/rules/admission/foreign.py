"""Requests about objects of unknown kinds, in the form that an API server would have them.

Only kinds that a binding matches are loaded, so other programs' objects cost nothing until a policy needs them. Two
documents with one name (a base and its overlay) are two objects here: they are not merged.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from muster.data.codes import Severity
from muster.data.ids import ObjectId
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass
from muster.fleet.documents import DEFAULT_NAMESPACE
from muster.fleet.fleet import Fleet
from muster.fleet.foreign import BodyLoader, Foreign, in_scope
from muster.fleet.objects import Object
from muster.rules.admission.request import AdmissionRequest, operation
from muster.rules.admission.resources import Resource, Resources

#: The label of every namespace.
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class ForeignObjects:
    """The foreign objects of one revision."""

    fleet: Fleet
    resources: Resources
    opener: BodyLoader

    @classmethod
    def of(cls, fleet: Fleet, base: Fleet | None) -> tuple["ForeignObjects", "ForeignObjects | None"]:
        """Return the foreign objects of a fleet and of its base.

        Both use the same definitions of kinds, so an added or removed definition moves no object to another namespace.
        """
        if base is None:
            return cls(fleet, Resources(fleet.read.foreign), BodyLoader()), None
        kinds = {**base.read.foreign, **fleet.read.foreign}
        resources = Resources(
            {kind: (*fleet.read.foreign.get(kind, ()), *base.read.foreign.get(kind, ())) for kind in kinds}
        )
        return cls(fleet, resources, BodyLoader()), cls(base, resources, BodyLoader())

    def id_of(self, foreign: Foreign) -> ObjectId:
        """Return the id of an object, with the namespace that it would have."""
        namespaced = self.resources.of(foreign.id.group, foreign.id.kind).namespaced
        return foreign.id._replace(namespace=(foreign.id.namespace or DEFAULT_NAMESPACE) if namespaced else "")

    def object(self, foreign: Foreign) -> Object:
        """Return an object in its namespace, with an API server's defaults."""
        from muster.rules.admission.defaults import defaulted  # the hook seldom reads such objects

        id_ = self.id_of(foreign)
        body = defaulted(id_, in_scope(self.opener.body(foreign), id_.namespace))
        if (id_.group, id_.kind) == ("", "Namespace"):
            body = named_namespace(body, id_.name)
        return self.opener.object(foreign, id_, body)

    def of_kind(self, group: str, kind: str) -> Iterator[tuple[ObjectId, Foreign]]:
        """Yield the objects of a kind, by file and document."""
        return ((self.id_of(document), document) for document in self.fleet.read.foreign.get((group, kind), ()))

    def broken_files(self) -> frozenset[str]:
        """Files with an error: a missing object may be in their unreadable part."""
        return frozenset(finding.file for finding in self.fleet.findings if finding.severity is Severity.ERROR)


def named_namespace(body: Tree, name: str) -> Tree:
    """Return a Namespace with the label of every namespace."""
    metadata = mapping_at(body, "metadata")
    labels = {**mapping_at(metadata, "labels"), NAMESPACE_NAME: name}
    return {"apiVersion": "v1", "kind": "Namespace", **body, "metadata": {**metadata, "name": name, "labels": labels}}


@dataclass(frozen=True, slots=True)
class ForeignChange:
    """A foreign object to be checked, before and after, not loaded yet."""

    id: ObjectId
    resource: Resource
    now: ForeignObjects
    new: Foreign | None
    base: ForeignObjects | None
    old: Foreign | None

    def request(self) -> AdmissionRequest:
        """Load both sides."""
        obj = None if self.new is None else self.now.object(self.new)
        before = None if self.old is None or self.base is None else self.base.object(self.old)
        document = self.new or self.old
        version = "" if document is None else document.version
        return AdmissionRequest(self.id, self.resource, operation(obj, before), version, obj, before, {})


def foreign_requests(
    now: ForeignObjects, base: ForeignObjects | None, wanted: Iterable[Resource]
) -> Iterator[ForeignChange]:
    """Yield a change per object of the wanted kinds, and per such object of the base that is gone."""
    fleet, broken = now.fleet, now.broken_files()
    for resource in wanted:
        kind = resource.group, resource.kind
        new_documents = _by_id(now.of_kind(*kind))
        old_documents = _by_id(base.of_kind(*kind)) if base is not None else {}
        for id_ in sorted({*new_documents, *old_documents}):
            for new, old in _paired(new_documents.get(id_, []), old_documents.get(id_, [])):
                if new is None and old is not None and (fleet.unidentified or old.source.path in broken):
                    continue  # it may be in an unreadable file
                yield ForeignChange(id_, resource, now, new, base, old)


def _by_id(documents: Iterable[tuple[ObjectId, Foreign]]) -> Mapping[ObjectId, list[Foreign]]:
    grouped: dict[ObjectId, list[Foreign]] = defaultdict(list)
    for id_, document in documents:
        grouped[id_].append(document)
    return grouped


def _paired(
    new_documents: list[Foreign], old_documents: list[Foreign]
) -> Iterator[tuple[Foreign | None, Foreign | None]]:
    """Pair the documents of one name: those of one file first, then the rest, in order."""
    remaining, unpaired = list(old_documents), list[Foreign]()
    for new in new_documents:
        same_file = next((old for old in remaining if old.source.path == new.source.path), None)
        if same_file is None:
            unpaired.append(new)
        else:
            remaining.remove(same_file)
            yield new, same_file
    for new in unpaired:
        yield new, remaining.pop(0) if remaining else None
    yield from ((None, old) for old in remaining)
