"""From the files of a snapshot to the parts of objects.

Every file is read on its own: what is wrong with one never hides another. A document without both `apiVersion`
and `kind` is somebody else's and is passed over in silence, unless it bears the name of an object that is missed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from muster.fleet import agent_messages, derived_messages, faults, messages
from muster.fleet.derived import content_id
from muster.fleet.derived_parts import derived_parts
from muster.fleet.foreign import Foreign, foreign_objects
from muster.fleet.heard import is_report
from muster.fleet.names import is_safe
from muster.fleet.nulls import without_nulls
from muster.fleet.slips import Guess, incomplete, meant
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import ALL, BY_GROUP_KIND, CLUSTER_DEPLOYMENT, Kind
from muster.model.locations import FOLDER, SUFFIX
from muster.model.snapshot import Skipped, Snapshot
from muster.model.source import Layer, Part, SourceFile
from muster.model.tree import Tree, dig
from muster.yamlio.loader import load_documents
from muster.yamlio.problem import Document, Identity, Loaded

#: How the blobs begin that git's filters leave in place of a file: LFS's pointers, git-crypt's ciphers.
FILTERED = (b"version https://git-lfs.github.com/spec/", b"\0GITCRYPT\0")

_GROUPS = frozenset(kind.group for kind in ALL)
_TOP_LEVEL = re.compile(rb"^([^ \t#\r\n][^:\r\n]*?)(?:[ \t]*:|[ \t]*$)", re.MULTILINE)
_STATUS_ONLY = frozenset((b"apiVersion", b"kind", b"metadata", b"status"))
#: Where kubectl puts a namespaced object that names no namespace.
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A person's file in which something is no object of the fleet's.

    `blank`: there is nothing in it; `troubled`: a document of it cannot be read; `strangers` are its documents that
    are of no kind that is known, each by what tells it from others.
    """

    source: SourceFile
    blank: bool
    troubled: bool
    strangers: frozenset[str]


@dataclass
class Reading:
    """What was read: parts in order of file and document, findings, and what could not be read.

    `broken` are objects that a broken document holds; `unclear` are people's files, each with its id (empty where it
    was left out unread), in which something does not even say what it is. `stand_ins` are parts whose kind is misspelt:
    what is known of an object until it is mended; `guesses` are documents that lack a line, and what they may have
    been. `suspects` are the files in which there is anything else than objects of the fleet; `files` are all of
    people's, each with its id. `foreign` are people's objects of kinds that nobody knows.
    """

    parts: list[Part] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    broken: set[ObjectId] = field(default_factory=set)
    unclear: dict[str, str] = field(default_factory=dict)
    stand_ins: list[Part] = field(default_factory=list)
    guesses: list[tuple[messages.Origin, Guess]] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    derived_files: dict[str, str] = field(default_factory=dict)
    foreign: list[Foreign] = field(default_factory=list)


def read(snapshot: Snapshot) -> Reading:
    """Read every file of the snapshot."""
    reading = Reading()
    for source in snapshot.files():
        if _hidden(source.path):
            continue
        try:
            if source.ref:
                _read_agents_file(reading, source)
            else:
                read_file(reading, source, layer_of(source))
        except Exception as error:  # noqa: BLE001 - the boundary for files, as `each` is for objects
            reading.findings.append(faults.of_file(source, error))
            _unclear(reading, source)
    for skipped in snapshot.skipped:
        if _is_damaged_derived(skipped):
            reading.derived_files.setdefault(skipped.path, "")  # it is there and is not what was written
            reading.findings.append(derived_messages.skipped_derived(skipped))
            continue
        found = messages.skipped(skipped)
        reading.findings.append(agent_messages.unread_of_agent(found) if skipped.ref else found)
        # A file that was left out unread could hold anything: nothing may be taken for gone on its account.
        if skipped.reason in ("too-large", "unreadable") and not skipped.ref:
            reading.unclear[skipped.path] = ""
    return reading


def _read_agents_file(reading: Reading, source: SourceFile) -> None:
    """Add what an agent sends. What cannot be read counts as not sent: it breaks nothing, and hides nothing."""
    own = Reading()
    read_file(own, source, Layer.INPUT)
    reading.parts.extend(own.parts)
    reading.findings.extend(map(agent_messages.unread_of_agent, own.findings))


def _is_damaged_derived(skipped: Skipped) -> bool:
    """Whether a path that was left out is one at which muster writes: then it is written anew, or goes."""
    named = skipped.reason not in ("not-utf8-path", "control-characters")  # else the path is only what can be shown
    return named and not skipped.ref and skipped.path.startswith(FOLDER) and skipped.path.endswith(SUFFIX)


def _hidden(path: str) -> bool:
    """Whether a folder or file on the way begins with a dot: settings of other tools (.github, .gitlab-ci.yml)."""
    return path.startswith(".") or "/." in path


def layer_of(source: SourceFile) -> Layer:
    """Everything under `derived/` of the evaluated revision is muster's own word; all else is input."""
    return Layer.DERIVED if source.path.startswith(FOLDER) and not source.ref else Layer.INPUT


def read_file(reading: Reading, source: SourceFile, layer: Layer) -> None:
    """Add a file's parts and findings to the reading."""
    if layer is Layer.DERIVED:
        reading.derived_files[source.path] = ""  # it is there, also if it cannot be read
    elif not source.ref:
        reading.files[source.path] = source.oid
    data = source.read()
    if layer is Layer.DERIVED:
        reading.derived_files[source.path] = content_id(data)
    elif data.startswith(FILTERED):
        # What it holds is somewhere else: a pointer or a cipher says nothing of the objects in it.
        reading.findings.append(messages.filtered(source))
        _unclear(reading, source)
        return
    loaded = load_documents(data, source.label)
    ours = b"apiVersion" in data and b"kind" in data
    if layer is Layer.DERIVED:
        reading.findings.extend(derived_messages.damaged_derived(source, problem) for problem in loaded.problems)
        reading.parts.extend(derived_parts(source, loaded.documents, reading.findings))
        return
    add_problems(reading, source, loaded, ours=ours, report=_only_reports(data))
    strangers, blank = set(), not loaded.problems
    for document in loaded.documents:
        for item, body in unwrapped(document):
            blank = False
            if not add_body(reading, source, layer, document, item, body):
                strangers.add(_signature(body))
    if layer is Layer.INPUT and not source.ref and (blank or loaded.problems or strangers):
        reading.suspects.append(Suspect(source, blank, bool(loaded.problems), frozenset(strangers)))


def _signature(body: Tree) -> str:
    """What tells a document of no known kind from others: what it says it is, or all of it where it says nothing."""
    named = _named(body) if isinstance(body, dict) else Identity()
    return repr(tuple(named)) if named.kind and named.name else repr(body)


def unwrapped(document: Document) -> Iterator[tuple[int | None, Tree]]:
    """The document itself, or the items of a `List` or of a list of one kind.

    The items of a `RemedyList`, as an API server answers with one, need not repeat that they are Remedies.
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
    reading: Reading, source: SourceFile, layer: Layer, document: Document, item: int | None, body: Tree
) -> bool:
    """Turn one document into a part, or into the finding that says why not. False where it is no object of ours."""
    place = messages.Origin(source, document, item)
    # An agent's slip is its own affair: what cannot be read counts as not sent.
    person = layer is Layer.INPUT and not source.ref
    if not isinstance(body, dict) or "apiVersion" not in body or "kind" not in body:
        if item is not None:
            reading.findings.append(messages.item_without_kind(source, document, item))
            _unclear(reading, source)
        elif person and (guess := incomplete(body)) is not None:
            reading.guesses.append((place, guess))
        return False
    api_version, name = body["apiVersion"], body["kind"]
    if not isinstance(api_version, str) or not isinstance(name, str):
        reading.findings.append(messages.missing_identity(place, "apiVersion and kind must be texts"))
        _unclear(reading, source)
        return False
    group, _, version = api_version.rpartition("/")
    kind = BY_GROUP_KIND.get((group, name))
    if kind is None:
        if not (person and _slip(reading, place, group, name, body)):
            # Only a group that is ours, or a kind that is, can be a slip: all else is another program's object.
            reading.findings.append(messages.unknown_kind(place, group, name, known_group=group in _GROUPS))
            if person:
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
        _break(reading, id_)
        return True
    reading.parts.append(Part(id_, version, body, layer, source, document.index, item, document.line))
    return True


def _slip(reading: Reading, place: messages.Origin, group: str, name: str, body: Tree) -> bool:
    """Whether a document of an unknown kind was meant to be an object, or a list of objects, of the fleet."""
    if isinstance(items := body.get("items"), list):
        ids = {id_ for entry in items if (id_ := identified(_named(entry))) is not None}
        if ids:
            reading.findings.append(messages.misspelt_list(place, name))
            reading.broken |= ids
        return bool(ids)
    kind = meant(group, name)
    if kind is None:
        return False
    body = _in_its_scope(reading, place, kind, body)
    id_ = _identity(reading, place, kind, body)
    reading.findings.append(messages.misspelt_kind(place, group, name, kind, id_))
    if id_ is not None:
        part = Part(id_, kind.versions[0], body, Layer.INPUT, place.source, place.document.index, place.item)
        reading.stand_ins.append(replace(part, line=place.document.line))
    return True


def _named(body: Tree) -> Identity:
    """Which object a document says that it is."""
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    return Identity(*(value if isinstance(value := dig(body, *path), str) else "" for path in paths))


def _in_its_scope(reading: Reading, place: "messages.Origin", kind: Kind, body: Tree) -> Tree:
    """The body in the namespace in which an API server or kubectl would put it.

    A namespaced object that names none is in `default`, and a cluster-scoped one is in none, whatever it says.
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


def _identity(reading: Reading, place: "messages.Origin", kind: Kind, body: Tree) -> ObjectId | None:
    """The object that a body belongs to; None, with a finding, where it does not say so properly."""
    name, namespace = dig(body, "metadata", "name"), dig(body, "metadata", "namespace")
    if not isinstance(name, str) or not name:
        reading.findings.append(messages.missing_identity(place, f"{kind.name} has no metadata.name"))
        _unclear(reading, place.source)
        return None
    if not isinstance(namespace, str | None):
        reading.findings.append(messages.missing_identity(place, "metadata.namespace must be a text"))
        _unclear(reading, place.source)
        return None
    id_ = kind.id(name, namespace or "")
    if not is_safe(name) or (namespace and not is_safe(namespace)):
        reading.findings.append(messages.malformed_name(place, id_))
        _unclear(reading, place.source)
        return None
    return id_


def add_problems(reading: Reading, source: SourceFile, loaded: Loaded, *, ours: bool, report: bool) -> None:
    """Record what of a file could not be read, and which objects suffer from it: none where it only reports."""
    for problem in loaded.problems:
        id_ = identified(problem.identity)
        reading.findings.append(messages.unreadable(source, problem, id_, ours=ours))
        if ours and id_ is None:
            _unclear(reading, source)
    for identity in loaded.lost:
        if (id_ := identified(identity)) and not report:
            _break(reading, id_)


def _unclear(reading: Reading, source: SourceFile) -> None:
    """Something in a file does not say what it is. An agent's slip is its own affair: it counts as not sent."""
    if not source.ref:
        reading.unclear[source.path] = source.oid


def _only_reports(data: bytes) -> bool:
    """Whether a file that cannot be read is plainly one object's status, as an agent writes it, and nothing else."""
    keys = set(_TOP_LEVEL.findall(data))
    return b"status" in keys and keys <= _STATUS_ONLY and b"labels" not in data and b"annotations" not in data


def _break(reading: Reading, id_: ObjectId) -> None:
    """An object that cannot be read keeps its last state; a report counts as not sent."""
    if not is_report(id_):
        reading.broken.add(id_)


def identified(identity: Identity | None) -> ObjectId | None:
    """The object that a broken document seems to hold; None where it names no object of a known kind."""
    if identity is None or not identity.name:
        return None
    kind = BY_GROUP_KIND.get((identity.api_version.rpartition("/")[0], identity.kind))
    if kind is None:
        return None
    return kind.id(identity.name, (identity.namespace or DEFAULT_NAMESPACE) if kind.namespaced else "")
