"""From documents to parts of objects.

A document without both `apiVersion` and `kind` belongs to another program and is skipped silently, unless it has the
name of a vanished object.
"""

from collections.abc import Iterator
from dataclasses import replace

from muster.data.ids import ObjectId
from muster.data.kinds import ALL, BY_GROUP_KIND, CLUSTER_DEPLOYMENT, MANIFEST_WORK, MANIFEST_WORK_REPLICA_SET, Kind
from muster.data.locations import is_safe
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree, dig
from muster.data.yaml.problem import Document, DocumentIdentity
from muster.fleet import messages
from muster.fleet.foreign import foreign_objects
from muster.fleet.misspelt import guess_document, misspelt_kind
from muster.fleet.reading import FilesRead
from muster.fleet.schemas import without_nulls

_GROUPS = frozenset(kind.group for kind in ALL)
#: Kinds whose objects may be Secrets, or have some in them.
_WITH_SECRETS = frozenset(("Secret", "SecretList", MANIFEST_WORK.name, MANIFEST_WORK_REPLICA_SET.name))
#: The namespace that kubectl uses if an object names none.
DEFAULT_NAMESPACE = "default"


def signature(body: Tree) -> str:
    """What identifies a document of no known kind: its kind and name, or all of it if it has none."""
    named = _stated_identity(body) if isinstance(body, dict) else DocumentIdentity()
    return repr(tuple(named)) if named.kind and named.name else repr(body)


def unwrapped(document: Document) -> Iterator[tuple[int | None, Tree]]:
    """The document itself, or the items of a `List` or of a list of one kind.

    The items of a `RemedyList`, as an API server returns it, need not repeat their kind.
    """
    body = document.body
    api_version, name, items = body.get("apiVersion"), body.get("kind"), body.get("items")
    if not isinstance(items, list) or not isinstance(name, str) or not isinstance(api_version, str):
        yield None, body
    elif (api_version, name) == ("v1", "List"):
        yield from enumerate(items)
    elif name.endswith("List") and (api_version.rpartition("/")[0], kind := name.removesuffix("List")) in BY_GROUP_KIND:
        named = {"apiVersion": api_version, "kind": kind}
        yield from enumerate({**named, **item} if isinstance(item, dict) else item for item in items)
    else:
        yield None, body


def add_body(
    reading: FilesRead, source: SourceFile, layer: Layer, document: Document, item: int | None, body: Tree
) -> bool:
    """Turn one document into a part, or into a finding. False if it is no object of a known kind."""
    place = messages.Origin(source, document, item)
    if not isinstance(body, dict) or "apiVersion" not in body or "kind" not in body:
        if item is not None:
            reading.findings.append(messages.item_without_kind(source, document, item))
            reading.add_unclear(source)
        elif layer is Layer.INPUT and (guess := guess_document(body)) is not None:
            reading.guesses.append((place, guess))
        return False
    api_version, name = body["apiVersion"], body["kind"]
    if not isinstance(api_version, str) or not isinstance(name, str):
        reading.findings.append(messages.missing_identity(place, "apiVersion and kind must be texts"))
        reading.add_unclear(source)
        return False
    group, _, version = api_version.rpartition("/")
    kind = BY_GROUP_KIND.get((group, name))
    of_people = layer is Layer.INPUT and not source.ref
    if of_people and name in _WITH_SECRETS:
        from muster.fleet.secrecy import has_clear_secret  # few fleets have any

        if has_clear_secret(body):
            reading.findings.append(messages.secret_in_clear_text(place))
    if kind is None:
        if not (layer is Layer.INPUT and _is_misspelt(reading, place, group, name, body)):
            # Outside of our groups and kinds, it is another program's object.
            if not (of_people and (group, name) == ("", "Secret")):
                unknown = messages.unknown_kind(place, group, name, known_group=group in _GROUPS)
                reading.findings.append(unknown)
                if layer is Layer.INPUT:
                    reading.groups[unknown] = group
            if layer is Layer.INPUT:
                reading.foreign.extend(foreign_objects(source, document.index, document.line, item, body))
        return False
    if document.nulls:
        body = without_nulls(kind, body)
    body = _in_its_scope(reading, place, kind, body)
    id_ = _identity(reading, place, kind, body)
    if id_ is None:
        return False
    if version not in kind.versions:
        reading.findings.append(messages.unsupported_version(place, id_, version))
        reading.add_broken(id_)
        return True
    reading.parts.append(Part(id_, version, body, layer, source, document.index, item, document.line))
    return True


def _is_misspelt(reading: FilesRead, place: messages.Origin, group: str, name: str, body: Tree) -> bool:
    """Was a document of an unknown kind meant to be an object, or a list of objects, of the fleet?"""
    if isinstance(items := body.get("items"), list):
        ids = {id_ for entry in items if (id_ := identified(_stated_identity(entry))) is not None}
        if ids:
            reading.findings.append(messages.misspelt_list(place, name))
            reading.broken |= ids
        return bool(ids)
    kind = misspelt_kind(group, name)
    if kind is None:
        return False
    body = _in_its_scope(reading, place, kind, body)
    id_ = _identity(reading, place, kind, body)
    reading.findings.append(messages.misspelt_kind(place, group, name, kind, id_))
    if id_ is not None:
        body = {**body, "apiVersion": kind.api_version, "kind": kind.name}
        part = Part(id_, kind.versions[0], body, Layer.INPUT, place.source, place.document.index, place.item)
        reading.stand_ins.append(replace(part, line=place.document.line))
    return True


def _stated_identity(body: Tree) -> DocumentIdentity:
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    return DocumentIdentity(*(value if isinstance(value := dig(body, *path), str) else "" for path in paths))


def _in_its_scope(reading: FilesRead, place: messages.Origin, kind: Kind, body: Tree) -> Tree:
    """The body in the namespace that an API server or kubectl would use.

    A namespaced object without a namespace is in `default`; a cluster-scoped one has no namespace, whatever it states.
    """
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return body
    namespace = metadata.get("namespace")
    if kind.namespaced and namespace in (None, ""):
        if kind.reported and kind is not CLUSTER_DEPLOYMENT:
            reading.findings.append(messages.assumed_namespace(place, kind, metadata["name"]))
        return {**body, "metadata": {**metadata, "namespace": DEFAULT_NAMESPACE}}
    if not kind.namespaced and namespace is not None:
        if namespace:
            reading.findings.append(messages.dropped_namespace(place, kind, metadata["name"], namespace))
        return {**body, "metadata": {name: value for name, value in metadata.items() if name != "namespace"}}
    return body


def _identity(reading: FilesRead, place: messages.Origin, kind: Kind, body: Tree) -> ObjectId | None:
    """The id of a body's object; None, with a finding, if it is missing or invalid."""
    name, namespace = dig(body, "metadata", "name"), dig(body, "metadata", "namespace")
    if not isinstance(name, str) or not name:
        problem = f"{kind.name} has no metadata.name"
        if name is not None and not isinstance(name, str):
            problem = f"metadata.name of a {kind.name} must be a text: quote it"
        reading.findings.append(messages.missing_identity(place, problem))
        reading.add_unclear(place.source)
        return None
    if not isinstance(namespace, str | None):
        reading.findings.append(messages.missing_identity(place, "metadata.namespace must be a text"))
        reading.add_unclear(place.source)
        return None
    id_ = kind.id(name, namespace or "")
    if not is_safe(name) or (namespace and not is_safe(namespace)):
        reading.findings.append(messages.malformed_name(place, id_))
        reading.add_unclear(place.source)
        return None
    return id_


def identified(identity: DocumentIdentity | None) -> ObjectId | None:
    """The id of the object that a broken document seems to hold; None if it names no object of a known kind."""
    if identity is None or not is_safe(identity.name):
        return None
    kind = BY_GROUP_KIND.get((identity.api_version.rpartition("/")[0], identity.kind))
    if kind is None:
        return None
    return kind.id(identity.name, (identity.namespace or DEFAULT_NAMESPACE) if kind.namespaced else "")
