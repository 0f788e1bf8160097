"""From the files of a snapshot, and of the bundle, to parts and findings. Each file is read on its own: a broken one
never hides another."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from pathlib import Path

from muster.data.ids import ObjectId
from muster.data.locations import FOLDER, SUFFIX, SUFFIX_SLIPS, is_projected
from muster.data.snapshot import LOST, Skipped, Snapshot
from muster.data.source import Layer, LostFileError, SourceFile
from muster.data.yaml.loader import load_documents
from muster.data.yaml.problem import Loaded
from muster.fleet import agent_messages, derived_messages, faults, messages
from muster.fleet.bundle import bundle_path
from muster.fleet.derived import content_id
from muster.fleet.derived_parts import derived_parts
from muster.fleet.documents import add_body, identified, signature, unwrapped
from muster.fleet.objects import Object
from muster.fleet.reading import FilesRead, Suspect, UnreadReports

#: What files of a place and a content were parsed to.
ParsedFiles = dict[tuple[str, bytes], Loaded]

#: First bytes of what git filters leave in place of a file: LFS pointers, git-crypt ciphers.
FILTERED = (b"version https://git-lfs.github.com/spec/", b"\0GITCRYPT\0")


def read(snapshot: Snapshot) -> FilesRead:
    """Read every file of the snapshot."""
    reading = FilesRead()
    for source in snapshot.files():
        if is_hidden(source.path):
            continue
        try:
            if source.ref:
                _read_agents_file(reading, source)
            else:
                read_file(reading, source, layer_of(source))
        except LostFileError:
            raise
        except OSError as error:
            if not source.ref:
                raise
            reading.lost.setdefault(source.ref, f"{source.path}: {error}")
        except Exception as error:  # noqa: BLE001 - the boundary for files, as `each` is for objects
            reading.findings.append(faults.file_fault(source, error))
            if source.ref:
                reading.unread_reports.setdefault(source.ref, UnreadReports()).paths.add(source.path)
            else:
                reading.add_unclear(source)
    for skipped in snapshot.skipped:
        if skipped.reason == LOST:
            reading.lost.setdefault(skipped.ref, skipped.detail)
            continue
        if _is_damaged_derived(skipped):
            reading.derived_files.setdefault(skipped.path, "")  # it exists with other content than muster wrote
            reading.findings.append(derived_messages.skipped_derived(skipped))
            continue
        about = messages.skipped(skipped)
        reading.findings.append(agent_messages.invalid_agent_file(about) if skipped.ref else about)
        if skipped.ref and skipped.path:
            reading.unread_reports.setdefault(skipped.ref, UnreadReports()).paths.add(skipped.path)
        # An unread file could hold any object: nothing may count as removed because of it.
        if skipped.reason in messages.UNREAD and not skipped.ref:
            reading.unclear[skipped.path] = ""
    if reading.lost:  # half of an agent's report does not count
        reading.parts = [part for part in reading.parts if part.source.ref not in reading.lost]
        reading.findings.extend(
            agent_messages.lost_agent_ref(ref, reason) for ref, reason in sorted(reading.lost.items())
        )
    return reading


def _read_agents_file(reading: FilesRead, source: SourceFile) -> None:
    """Read a file of an agent. What cannot be read has no effect on other clusters."""
    file = FilesRead()
    read_file(file, source, Layer.INPUT)
    if any(suspect.blank for suspect in file.suspects):
        file.findings.append(agent_messages.empty_file(source.label))
    reading.add_agents_file(source.ref, source.path, file)
    reading.findings.extend(map(agent_messages.invalid_agent_file, file.findings))


def _is_damaged_derived(skipped: Skipped) -> bool:
    """Is this skipped path one that muster writes? Then it is rewritten or removed."""
    # These paths are only a printable form, or are never written, so they cannot be muster's own.
    named = skipped.reason not in ("not-utf8-path", "control-characters", "dotgit")
    written = skipped.path.endswith(SUFFIX) or is_projected(skipped.path)
    return named and not skipped.ref and skipped.path.startswith(FOLDER) and written


def is_hidden(path: str) -> bool:
    """Does a folder or file of the path begin with a dot? Those are settings of other tools (.github,
    .gitlab-ci.yml)."""
    return path.startswith(".") or "/." in path


def layer_of(source: SourceFile) -> Layer:
    """Files under `derived/` of the evaluated revision are muster's own; all others are inputs."""
    return Layer.DERIVED if source.path.startswith(FOLDER) and not source.ref else Layer.INPUT


def read_file(reading: FilesRead, source: SourceFile, layer: Layer) -> None:
    """Read a file's parts and findings."""
    if layer is Layer.DERIVED:
        reading.derived_files[source.path] = ""  # it exists, even if it cannot be read
    elif not source.ref:
        reading.files[source.path] = source.oid
    if layer is Layer.INPUT and source.path.endswith(SUFFIX_SLIPS):
        _read_misnamed(reading, source)
        return
    data = source.read()
    if layer is Layer.DERIVED:
        reading.derived_files[source.path] = content_id(data)
        if is_projected(source.path):
            return  # it is written for others
    elif data.startswith(FILTERED):
        # The content is elsewhere: a pointer or a cipher says nothing about the objects in it.
        reading.findings.append(messages.filtered(source))
        reading.add_unclear(source)
        return
    loaded = _load(data, source.label)
    of_fleet = b"apiVersion" in data and b"kind" in data
    if layer is Layer.DERIVED:
        reading.findings.extend(derived_messages.damaged_derived(source, problem) for problem in loaded.problems)
        reading.parts.extend(derived_parts(source, loaded.documents, reading.findings))
        return
    if loaded.problems or loaded.lost:
        add_problems(reading, source, loaded, of_fleet=of_fleet)
    unknown_documents, blank = set(), not loaded.problems
    for document in loaded.documents:
        for item, body in unwrapped(document):
            blank = False
            if not add_body(reading, source, layer, document, item, body):
                unknown_documents.add(signature(body))
    if layer is Layer.INPUT and (blank or loaded.problems or unknown_documents):
        reading.suspects.append(Suspect(source, blank, bool(loaded.problems), frozenset(unknown_documents)))


@contextmanager
def loading_once(parsed: ParsedFiles | None = None) -> Iterator[None]:
    """Within it, files with the same place and content are parsed once: of two revisions that differ little. What was
    `parsed` in an earlier block is not parsed again."""
    token = _LOADED.set({} if parsed is None else parsed)
    try:
        yield
    finally:
        _LOADED.reset(token)


_LOADED: ContextVar[ParsedFiles | None] = ContextVar("loaded", default=None)


def _load(data: bytes, label: str) -> Loaded:
    loaded = _LOADED.get()
    if loaded is None:
        return load_documents(data, label)
    if (label, data) not in loaded:
        loaded[label, data] = load_documents(data, label)
    return loaded[label, data]


def _read_misnamed(reading: FilesRead, source: SourceFile) -> None:
    """Record the objects of a file whose suffix is not read: they count as known if nothing else declares them."""
    file = FilesRead()
    read_file(file, source._replace(path=f"{source.path}{SUFFIX}"), Layer.INPUT)
    parts = [replace(part, source=source) for part in (*file.parts, *file.stand_ins)]
    ids = sorted({part.id for part in parts} | file.broken)
    if ids:
        reading.stand_ins.extend(parts)
        reading.broken.update(file.broken)
        reading.findings.append(messages.misnamed(source, ids))


def add_problems(reading: FilesRead, source: SourceFile, loaded: Loaded, *, of_fleet: bool) -> None:
    """Record the parts of a file that could not be read, and the objects affected."""
    for problem in loaded.problems:
        id_ = identified(problem.identity)
        reading.findings.append(messages.unreadable(source, problem, id_, of_fleet=of_fleet))
        if of_fleet and id_ is None:
            reading.add_unclear(source)
    for identity in loaded.lost:
        if id_ := identified(identity):
            reading.add_broken(id_)


PREFIX = "builtin:"


@cache
def builtin_objects() -> Mapping[ObjectId, Object]:
    """Return the bundle's objects by id, without tests: most of its text. RuntimeError if the bundle is damaged."""
    return _bundled_objects(tests=False)


@cache
def builtin_tests() -> Mapping[ObjectId, Object]:
    """Return the tests of the bundle's objects by id. RuntimeError if the bundle itself is damaged."""
    return _bundled_objects(tests=True)


def _bundled_objects(*, tests: bool) -> Mapping[ObjectId, Object]:
    folder = bundle_path("policies")
    reading = FilesRead()
    paths = sorted(folder.glob("*.yaml"))  # not those of the library, which fleets copy
    for path in (path for path in paths if path.name.endswith(".test.yaml") == tests):
        read_file(reading, _bundled(folder, path), Layer.BUILTIN)
    if reading.findings:
        raise RuntimeError(f"the built-in policies are damaged: {reading.findings[0].message}")
    return {part.id: Object(part.id, part.body, (part,)) for part in reading.parts}


def _bundled(folder: Path, path: Path) -> SourceFile:
    oid = content_id(path.read_bytes())
    return SourceFile(f"{PREFIX}{path.relative_to(folder).as_posix()}", oid, path.read_bytes)
