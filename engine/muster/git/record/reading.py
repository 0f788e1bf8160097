"""Reads the record of a run: what agents' refs held for it, and what it remembered.

Nothing of a record counts unless all of it fits: the tree that the run's commit names, the run's instant and source,
this version of the form, the limits of size.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import cached_property
from typing import Final, NamedTuple

from muster.data.codec import MalformedError
from muster.data.codes import Code
from muster.data.decision import NOTHING_PUBLISHED, Memory
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.snapshot import AgentLimits, Agents, Skipped, Withheld
from muster.data.times import format_time, try_time
from muster.dataclass import dataclass
from muster.git.agents.listing import AgentRefs
from muster.git.agents.refs import AgentRef, RecordedContents
from muster.git.enginecommits import EngineCommit, EngineCommits
from muster.git.errors import UnreadableError
from muster.git.memory.pulses import decoded
from muster.git.record.form import (
    MAX_BYTES,
    MAX_FILE_BYTES,
    PULSES,
    REFS,
    RUN,
    VERSION,
    LateRenewal,
    RecordParts,
    RefRow,
    RunFacts,
    content_bytes,
    parse_facts,
    parse_record,
)
from muster.git.record.renewals import RenewTime
from muster.git.repository import Repository
from muster.git.store.entries import DIRECTORY, REGULAR
from muster.git.store.objects import GitObject, object_id, raw_entries, tree_of
from muster.git.store.paths import decode, is_data

#: The folders of a record, and the most entries of all of it: 256 files of refs, 256 of pulses and a few others.
_FOLDERS: Final = (REFS, PULSES)
_MOST_ENTRIES: Final = 1024
_MAX_TREE_BYTES: Final = 1 << 16


@dataclass(frozen=True)
class RecordedMemory:
    """The pulses that were published before a run. Satisfies `muster.run.question.Remembers`."""

    memory: Memory = field(default_factory=lambda: NOTHING_PUBLISHED)
    at: str = ""


@dataclass(frozen=True)
class Heard:
    """What a run heard and remembered, as its record says: all that it was given besides its commit and its instant.

    `run` is the run. `refs` are agents' refs with what they held, as `agent_refs_at` gave them to the run. `notes` are
    lines of its commit's message about the run itself. `late` are the renewals that came late since the run before,
    all of them if a process `watched` since then or earlier.
    `version` is that of the muster that decided. `record` is the id of the record's tree.
    """

    run: EngineCommit
    record: str
    version: str
    refs: AgentRefs
    remembered: RecordedMemory
    notes: tuple[str, ...]
    late: tuple[LateRenewal, ...]
    commits: Mapping[str, bytes]
    renewals: Mapping[str, Sequence[RenewTime]]
    watched: datetime | None = None

    @cached_property
    def newest_renewal(self) -> int | None:
        """The second of the newest renewal of all; None if there is none."""
        return max((renewal.second for several in self.renewals.values() for renewal in several), default=None)

    def commit_of(self, ref: str) -> str:
        """Return the id of the commit at which a ref was, by its full name. Empty unless the run decided something
        about its cluster: of other refs, the commits are not recorded."""
        text = self.commits.get(ref)
        return "" if text is None else object_id("commit", text, "sha256" if len(self.record) == 64 else "sha1")


class RecordReading(NamedTuple):
    """What a run heard, or why that is not known: None without findings if the run recorded nothing."""

    heard: Heard | None
    findings: tuple[Finding, ...] = ()


def heard_at(repository: Repository, commit: str) -> RecordReading:
    """Return what the run heard that made a commit, given by its full id: see `Heard`. Nothing without findings if the
    commit is no run's, or that run recorded nothing."""
    run = next(EngineCommits(repository, commit).of((commit,)))
    return RecordReading(None) if run is None or not run.heard else read_record(repository, run)


def read_record(repository: Repository, run: EngineCommit) -> RecordReading:
    """Return what a run heard. MUS517 if this clone does not have its record, MUS518 if that does not count."""
    try:
        files = _read_files(repository, run.heard)
        facts = parse_facts(files.get(RUN, b""))
        _require_match(facts, run)
        heard = _heard(run, parse_record(files, int(run.now.timestamp())))
    except _MissingError as error:
        return RecordReading(None, (_missing(run, str(error)),))
    except MalformedError as error:
        return RecordReading(None, (_invalid(run, str(error)),))
    return RecordReading(heard)


class _MissingError(Exception):
    """This clone lacks a part of the record."""


def _require_match(facts: RunFacts, run: EngineCommit) -> None:
    if facts.version != VERSION:
        raise MalformedError(f"it has version {facts.version} of the form, and this muster reads {VERSION}")
    if (facts.now, facts.source) != (format_time(run.now), run.source):
        raise MalformedError(f"it is of another run, of {facts.source[:12]} as of {facts.now}")


def _read_files(repository: Repository, tree: str) -> dict[str, bytes]:
    """The files of a record by path. MalformedError if there are others than a record has."""
    entries = dict[str, str]()
    for folder, name, mode, oid in _entries(repository, tree):
        if mode not in REGULAR:
            raise MalformedError(f"{folder}{name} is no file")
        entries[folder + name] = oid
    room, files = MAX_BYTES, dict[str, bytes]()
    for path, size in zip(entries, repository.objects.sizes(list(entries.values())), strict=True):
        if size is None:
            raise _MissingError(f"{path} is missing")
        room -= size
        if size > MAX_FILE_BYTES or room < 0:
            raise MalformedError(f"it is larger than {MAX_BYTES >> 20} MiB, or {path} is larger than a file may be")
    for path, answer in zip(entries, repository.objects.read([*entries.values()], MAX_FILE_BYTES), strict=True):
        if isinstance(answer, UnreadableError):
            raise _MissingError(str(answer))
        _require_sound(repository, answer, entries[path], path)
        files[path] = answer.content
    return files


def _require_sound(repository: Repository, read: GitObject, oid: str, name: str) -> None:
    """Raise MalformedError unless an object is what its id says: git does not check what it reads from its store."""
    if object_id(read.kind, read.content, repository.object_format) != oid:
        raise MalformedError(f"{name or 'its tree'} was changed in git's store: git fsck names more")


def _entries(repository: Repository, tree: str) -> Iterator[tuple[str, str, bytes, str]]:
    """Yield the entries of a record's tree and of its folders: folder, name, mode and id."""
    count, trees = 0, [("", tree)]
    while trees:
        folder, oid = trees.pop()
        (answer,) = repository.objects.read((oid,), _MAX_TREE_BYTES)
        if isinstance(answer, UnreadableError):
            raise _MissingError(str(answer))
        if answer.kind != "tree":
            raise MalformedError(f"{folder or 'the record'} is a {answer.kind}")
        _require_sound(repository, answer, oid, folder)
        try:
            entries = list(raw_entries(answer.content, repository.id_bytes))
        except ValueError as error:
            raise MalformedError(f"a tree is damaged: {error}") from None
        count += len(entries)
        if count > _MOST_ENTRIES:
            raise MalformedError(f"it has more than {_MOST_ENTRIES} files")
        for mode, raw, below in entries:
            name = os.fsdecode(raw)
            if mode == DIRECTORY and not folder and name in _FOLDERS:
                trees.append((f"{name}/", below))
            else:
                yield folder, name, mode, below


def _heard(run: EngineCommit, parts: RecordParts) -> Heard:
    facts = parts.facts
    refs = tuple(sorted((_ref(row, renewals, run) for row, renewals in parts.rows), key=lambda ref: ref.name))
    identities = {ref.cluster: ref.identity for ref in refs if ref.cluster and ref.identity is not None}
    agents = Agents(
        frozenset(ref.cluster for ref in refs if ref.is_agent),
        facts.asked,
        frozenset(facts.gone),
        AgentLimits(*facts.limits),
        tuple(Withheld(silent.remote, silent.why, frozenset(silent.clusters)) for silent in facts.withheld),
        identities if facts.signed else None,
        frozenset(facts.retired),
    )
    return Heard(
        run,
        run.heard,
        facts.muster,
        AgentRefs(refs, agents),
        RecordedMemory(decoded(parts.pulses).published, facts.memory),
        facts.notes,
        tuple(parts.late),
        parts.commits,
        {row.ref: renewals for row, renewals in parts.rows if renewals},
        try_time(facts.watched),
    )


def _ref(row: RefRow, renewals: Sequence[RenewTime], run: EngineCommit) -> AgentRef:
    ref = AgentRef(row.ref, "", row.refused or (), row.unread, row.identity)
    if row.files is None:
        return ref
    texts, files = [renewal.text for renewal in renewals], dict[str, bytes | UnreadableError]()
    for path, content in row.files.items():
        if not is_data(os.fsencode(path)) or decode(os.fsencode(path))[1]:
            raise MalformedError(f"{path!r} is no file of an agent")
        try:
            files[path] = content_bytes(content, texts)
        except UnreadableError as error:
            files[path] = error
    skipped = tuple(Skipped(path, reason, detail, ref.short) for path, reason, detail in row.skipped)
    return replace(ref, commit=_tree_id(files, run.heard), recorded=RecordedContents(files, skipped))


def _tree_id(files: Mapping[str, bytes | UnreadableError], record: str) -> str:
    """Return the id of a tree with the files: it stands for the ref's commit, which is not known. It changes whenever
    they do."""
    form = "sha256" if len(record) == 64 else "sha1"
    contents = (
        (path, str(data).encode() if isinstance(data, UnreadableError) else data) for path, data in files.items()
    )
    return tree_of({path: (REGULAR[0], object_id("blob", data, form)) for path, data in contents}, form)


def _missing(run: EngineCommit, why: str) -> Finding:
    return finding(
        Code.RECORD_MISSING,
        f"what the run {run.commit[:12]} heard as of {format_time(run.now)} is not in this clone: {why}",
        hint="git fetch origin 'refs/muster/heard/*:refs/muster/heard/*'",
    )


def _invalid(run: EngineCommit, why: str) -> Finding:
    return finding(
        Code.RECORD_INVALID,
        f"the record of the run {run.commit[:12]}, as of {format_time(run.now)}, does not count: {why}",
        hint="a record that another version of muster wrote is read by that version; else find out who wrote it",
    )
