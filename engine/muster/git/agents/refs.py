"""Agent refs: `refs/heads/agents/<cluster>`, one small tree per agent, all read in one pass.

An agent may be faulty or hostile: a ref that is broken, huge or deep loses its own files and affects no other. Trees
are read raw through `cat-file`, level by level over all refs at once; an `ls-tree` process per ref would take 3 ms
each.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from muster.data.agentref import (
    BRANCHES,
    FROM,
    Mandate,
    collected,
    is_collected,
    misplaced,
    relay_of,
    relayed,
    remote_of,
    resembles,
    short_name,
    speaks_for,
)
from muster.data.snapshot import LOST, AgentLimits, SignerIdentity, Skipped
from muster.data.source import SourceFile
from muster.dataclass import dataclass
from muster.git.agents.relays import COMMIT, Shard, relayed_folders
from muster.git.agents.settings import DEFAULTS, AgentSettings
from muster.git.clock import CLOCK_SKEW, wall_clock
from muster.git.errors import TooLargeError, UnreadableError
from muster.git.quarantine import Refusal, refusals
from muster.git.repository import Repository, common_directory
from muster.git.store.entries import DIRECTORY, LINK, REGULAR, SUBMODULE, describe_link, obstacle_to
from muster.git.store.objects import (
    BlobSequence,
    GitObject,
    Objects,
    commit_tree,
    committer_seconds,
    format_of,
    object_id,
    raw_entries,
)
from muster.git.store.paths import decode, is_data, printable
from muster.git.trees import AgentEntry
from muster.regex import WORD, Regex

MAX_DEPTH: Final = 16  # directories below a ref's root

#: So many shards of relays' refs are cached: those of twenty relays at once.
_SHARDS: Final = 20 * 256

_LOCAL: Final = "refs/heads/"
_REMOTE: Final = "refs/remotes/"
#: The memory of pulses (`muster.git.memory.pulses`).
PULSES: Final = "refs/muster/pulses"
_BROKEN: Final = Regex(rf"ignoring (?:broken|dangling) [{WORD}]*ref (\S+)")


@dataclass(frozen=True, slots=True)
class RecordedContents:
    """What a run read of a ref, by the record of that run: its data files, and what was left out of it. A file that
    could not be read is the error."""

    files: Mapping[str, bytes | UnreadableError]
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentRef:
    """One agent's ref, or one whose name only resembles an agent's.

    `name` is the full name; `commit` what it points at, empty if git calls the ref broken. `refused` says why the ref
    does not count, as the reason of a `Skipped` and its detail; empty for one that counts. `unread` says why its
    present state was not fetched: `commit` is then what was fetched before, empty for nothing. `identity` says who
    signed it, if agents have to sign. `recorded` is what it held in the past, which git has not any more.
    """

    name: str
    commit: str
    refused: tuple[str, str] | tuple[()] = ()
    unread: str = ""
    identity: SignerIdentity | None = None
    recorded: RecordedContents | None = field(default=None, compare=False, repr=False)
    #: The cluster that the ref speaks for; empty for none.
    cluster: str = field(init=False, compare=False, repr=False)
    #: Does it speak as the cluster's agent? A collector does not.
    is_agent: bool = field(init=False, compare=False, repr=False)
    #: `agents/prod-eu-1` or `origin/agents/prod-eu-1`: how messages and `SourceFile.ref` name it.
    short: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Computed once: each of ten thousand refs is asked several times per run.
        object.__setattr__(self, "cluster", speaks_for(self.name))
        object.__setattr__(self, "is_agent", bool(self.cluster) and not self.refused and not is_collected(self.name))
        object.__setattr__(self, "short", short_name(self.name))


@dataclass(frozen=True, slots=True)
class RefListing:
    """The branches of a repository and its remotes, and muster's own refs, as `for-each-ref` lists them: id and full
    name in a line each. `complaints` names the refs that are broken."""

    lines: bytes
    complaints: str

    def own(self) -> dict[str, str]:
        """Return where the memory of pulses and the branches of proposals point, by their full names."""
        if PULSES.encode() not in self.lines and BRANCHES.encode() not in self.lines:
            return {}
        listed = (os.fsdecode(line).partition(" ") for line in self.lines.split(b"\n"))
        return {name: oid for oid, _, name in listed if name == PULSES or _proposes(name)}


def _proposes(ref: str) -> bool:
    """Is this the full name of a branch of proposals, of this repository or of a remote?"""
    if ref.startswith(_REMOTE):
        remote, _, topic = ref.removeprefix(_REMOTE).partition(f"/{BRANCHES}")
        return remote != "" and topic != ""
    return ref.startswith(f"{_LOCAL}{BRANCHES}") and ref != f"{_LOCAL}{BRANCHES}"


def list_refs_of_run(repository: Repository) -> RefListing:
    """List once what a run asks about refs."""
    done = repository.git.run("for-each-ref", "--format=%(objectname) %(refname)", _LOCAL, _REMOTE, FROM, PULSES)
    return RefListing(done.stdout, done.stderr)


def agent_refs(
    repository: Repository,
    present: datetime | None = None,
    settings: AgentSettings = DEFAULTS,
    listing: RefListing | None = None,
) -> tuple[AgentRef, ...]:
    """Return the agents' refs, one per cluster, and those that do not count, sorted by name.

    Local branches and remote-tracking ones count alike, and so do the refs of other repositories and of relays, for the
    clusters that the `settings` give them. A cluster's folder in a relay's ref is an `AgentRef` too: its `commit` is
    then the folder's tree. If several refs speak for a cluster, the one with the latest committer date counts (on a tie
    the remote's): a clone may hold a heartbeat not yet pushed, or an old copy. A date after `present`, by default the
    wall clock, does not count: an agent that dates its commits ahead would hide the cluster's own ref until then.
    The refs are those of a `listing`, by default of a new one.
    """
    unfetched, where = refusals(repository), common_directory(repository)
    question = _RefsQuestion(listing or list_refs_of_run(repository), unfetched, settings)
    if (last := _last.get(where)) is not None and last[0] == question:
        return last[1]
    refs, contested = _group_refs(repository, question)
    dates = _commit_dates(repository, [ref for same in contested for ref in same])
    latest = int(((present or wall_clock()) + CLOCK_SKEW).timestamp())
    chosen_refs = (ref for same in contested for ref in _choose_ref(same, dates, latest))
    all_refs = tuple(sorted((*refs, *chosen_refs), key=lambda ref: ref.name))
    if not contested:  # the choice depends on the clock, too
        _last[where] = question, all_refs
    return all_refs


class _RefsQuestion(NamedTuple):
    listing: RefListing
    unfetched: Mapping[str, Refusal]
    settings: AgentSettings


#: The last answer for a repository: every run asks several times, and most of ten thousand agents did not push
#: meanwhile.
_last: dict[Path, tuple[_RefsQuestion, tuple[AgentRef, ...]]] = {}


def _group_refs(repository: Repository, asked: _RefsQuestion) -> tuple[list[AgentRef], list[list[AgentRef]]]:
    """Return the refs that count or do not, whatever their dates, and the groups of refs that speak for one cluster."""
    settings, unfetched = asked.settings, asked.unfetched
    complaints = asked.listing.complaints
    listed = [("", match[1]) for match in _BROKEN.finditer(complaints)] if complaints else []
    relays = list[tuple[str, str]]()
    remote_names = {remote.name for remote in settings.remotes}
    for record in os.fsdecode(asked.listing.lines).splitlines():
        commit, _, name = record.partition(" ")
        if remote_of(name) and remote_of(name) not in remote_names:
            continue  # of a repository that the Fleet does not name any more
        (relays if relay_of(name) in settings.relays else listed).append((commit, name))
    names = {name for _, name in (*listed, *relays)}
    listed += [("", name) for name in unfetched if name not in names and remote_of(name) in {"", *remote_names}]
    refs, by_cluster = list[AgentRef](), dict[str, list[AgentRef]]()
    for commit, name in listed:
        if not resembles(name) and not speaks_for(name):
            continue
        ref = AgentRef(name, commit, unread=unfetched[name].why if name in unfetched else "")
        if not ref.cluster:
            where = "misplaced" if misplaced(name) else "no-cluster"
            refs.append(AgentRef(name, commit, (where, ref.short)))
        elif (sent := settings.mandate_of(name)) is not None and ref.cluster not in sent:
            refs.append(AgentRef(name, commit, ("not-given", ref.cluster)))
        elif not commit:
            refs.append(ref)
        else:
            by_cluster.setdefault(ref.cluster, []).append(ref)
    for commit, name in relays:
        given, sent = settings.relays[relay_of(name)], settings.mandate_of(name)
        folders = relayed_folders(repository, commit)
        for shard in folders.collected:
            refs.extend(_collected(name, shard, given, sent, settings.signed))
        for shard in folders.agents:
            for ref in _relayed(name, shard, given, sent):
                if ref.refused:
                    refs.append(ref)
                else:
                    by_cluster.setdefault(ref.cluster, []).append(ref)
    refs.extend(same[0] for same in by_cluster.values() if len(same) == 1)
    return refs, [same for same in by_cluster.values() if len(same) > 1]


@lru_cache(maxsize=_SHARDS)
def _relayed(name: str, shard: Shard, given: Mandate, sent: Mandate | None) -> tuple[AgentRef, ...]:
    """The refs of a relay's clusters; refused for clusters that the relay or its repository may not speak for."""
    return tuple(
        AgentRef(relayed(name, cluster), tree)
        if cluster in given and (sent is None or cluster in sent)
        else AgentRef(relayed(name, cluster), tree, ("not-given", cluster))
        for cluster, tree in shard
    )


@lru_cache(maxsize=_SHARDS)
def _collected(
    name: str,
    shard: Shard,
    given: Mandate,
    sent: Mandate | None,
    signed: bool,  # noqa: FBT001 - a key of the cache
) -> tuple[AgentRef, ...]:
    """The same for what the relay's collectors say; all refused if reports have to be signed."""
    agents = _relayed(name, shard, given, sent)
    named = ((collected(name, ref.cluster), ref) for ref in agents)
    return tuple(
        AgentRef(ref_name, ref.commit, ref.refused or (("not-signed", ref.cluster) if signed else ()))
        for ref_name, ref in named
    )


def _choose_ref(same: Sequence[AgentRef], dates: dict[str, int], latest: int) -> Iterator[AgentRef]:
    """Yield the ref that speaks for a cluster, and refused those that would if they were not dated ahead."""
    ahead = {ref for ref in same if dates.get(ref.commit, 0) > latest}
    chosen = max(
        [ref for ref in same if ref not in ahead] or same,
        key=lambda ref: (dates.get(ref.commit, 0), not ref.name.startswith(_LOCAL), ref.name),
    )
    yield chosen
    for ref in sorted(ahead - {chosen}, key=lambda ref: ref.name):
        if chosen not in ahead and ref.commit != chosen.commit:
            yield replace(ref, refused=("dated-ahead", chosen.short))


class AgentFiles:
    """The data files of agent refs. `skipped` lists what cannot be read, complete from the start; `found` all files of
    the refs within their limits, sorted by ref and path."""

    def __init__(self, objects: Objects, refs: Sequence[AgentRef], limits: AgentLimits) -> None:
        """List the trees of `refs`; contents are read later. A ref that exceeds `limits` is left out."""
        self._objects, self._limits = objects, limits
        self._skipped: list[Skipped] = []
        self._recorded: dict[tuple[str, bytes], bytes | UnreadableError] = {}
        read = self._within(self._walk(self._root_trees(refs)))
        self.found = sorted((*read, *self._of_records(refs)), key=lambda entry: (entry.ref, entry.path))
        self._chosen = list(self._readable(self.found))

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(sorted(self._skipped, key=lambda skip: (skip.ref, skip.path)))

    def files(self) -> Iterator[SourceFile]:
        blobs = BlobSequence(self._objects, [entry.oid for entry in self._chosen])
        for index, entry in enumerate(self._chosen):
            kept = self._recorded.get((entry.ref, entry.path)) if self._recorded else None
            read = partial(blobs.read, index) if kept is None else partial(_recorded_content, kept)
            yield SourceFile(entry.path.decode(), entry.oid, read, entry.ref)

    def _of_records(self, refs: Sequence[AgentRef]) -> Iterator["AgentEntry"]:
        """Yield the files that records have of refs."""
        for ref in refs:
            for path, content in ref.recorded.files.items() if ref.recorded is not None else ():
                data, raw = b"" if isinstance(content, UnreadableError) else content, os.fsencode(path)
                self._recorded[ref.short, raw] = content
                oid = object_id("blob", data, format_of(ref.commit))
                yield AgentEntry(ref.short, raw, REGULAR[0], oid, len(data))

    def _root_trees(self, refs: Sequence[AgentRef]) -> Iterator["AgentEntry"]:
        sound = [ref for ref in refs if ref.commit and not ref.refused and ref.recorded is None]
        for ref in refs:
            if ref.refused:
                self._refuse(ref.short, *ref.refused)
            elif ref.unread:
                kept = "; its earlier content still counts" if ref.commit else ""
                self._refuse(ref.short, "over-limit", ref.unread + kept)
            elif not ref.commit:
                self._refuse(ref.short, LOST, "git calls the ref broken")
            if ref.recorded is not None:
                self._skipped.extend(ref.recorded.skipped)
        for ref, answer in zip(sound, self._objects.read([ref.commit for ref in sound]), strict=True):
            if isinstance(answer, UnreadableError):
                self._refuse(ref.short, _reason(answer), str(answer))
            elif answer.kind == "tree" and relay_of(ref.name):
                yield AgentEntry(ref.short, b"", DIRECTORY, ref.commit)
            elif answer.kind != "commit" or not (tree := commit_tree(answer.content)):
                self._refuse(ref.short, "unreadable", f"the ref points at a {answer.kind}, not at a commit")
            else:
                yield AgentEntry(ref.short, b"", DIRECTORY, tree)

    def _walk(self, roots: Iterator["AgentEntry"]) -> list["AgentEntry"]:
        """Return everything below `roots` except directories, of the refs within the limits."""
        level, files = list(roots), list[AgentEntry]()
        entries: Counter[str] = Counter()
        refused: dict[str, tuple[str, str]] = {}
        for _ in range(MAX_DEPTH + 1):
            below: list[AgentEntry] = []
            for directory, answer in zip(level, self._objects.read([entry.oid for entry in level]), strict=True):
                try:
                    children = list(_parse_tree(directory, answer))
                except (UnreadableError, ValueError) as error:
                    where = f"directory {printable(directory.path) or '/'}"
                    refused[directory.ref] = (_reason(error), f"{where}: {error}")
                    continue
                entries[directory.ref] += len(children)
                if entries[directory.ref] > self._limits.max_files:
                    refused[directory.ref] = ("over-limit", f"more than {self._limits.max_files} files and directories")
                below.extend(entry for entry in children if entry.mode == DIRECTORY)
                files.extend(entry for entry in children if entry.mode != DIRECTORY)
            level = [entry for entry in below if entry.ref not in refused]
        for entry in level:
            refused[entry.ref] = ("over-limit", f"directories nested deeper than {MAX_DEPTH}")
        for ref, reason in refused.items():
            self._refuse(ref, *reason)
        return [entry for entry in files if entry.ref not in refused]

    def _within(self, entries: Sequence["AgentEntry"]) -> Iterator["AgentEntry"]:
        """Yield the files, with their sizes, of the refs whose files together are within the limits."""
        files = [entry for entry in entries if entry.mode != SUBMODULE]
        sizes = zip(files, self._objects.sizes([entry.oid for entry in files]), strict=True)
        sized = [entry._replace(size=size) for entry, size in sizes]
        together: Counter[str] = Counter()
        for entry in sized:
            together[entry.ref] += entry.size or 0
        lost = {entry.ref: entry for entry in sized if entry.size is None}
        for ref, entry in lost.items():
            self._refuse(ref, LOST, f"{printable(entry.path)}: object {entry.oid}")
        over = {ref: size for ref, size in together.items() if size > self._limits.max_bytes}
        for ref, size in over.items():
            self._refuse(ref, "over-limit", f"{size} bytes, more than {self._limits.max_bytes}")
        elsewhere = (entry for entry in entries if entry.mode == SUBMODULE)
        return (entry for entry in (*sized, *elsewhere) if entry.ref not in over and entry.ref not in lost)

    def _readable(self, entries: Sequence["AgentEntry"]) -> Iterator["AgentEntry"]:
        """Yield the data files; report links, submodules and unreadable files that look like data."""
        for entry in entries:
            if not is_data(entry.path) and entry.mode not in (LINK, SUBMODULE):
                continue
            path, fault = decode(entry.path)
            obstacle = (fault, "") if fault else obstacle_to(entry.mode, entry.oid, entry.size)
            if obstacle is None:
                yield entry
            else:
                reason, detail = obstacle
                detail = self._link(path, entry.oid) if reason == "symlink" else detail
                self._skipped.append(Skipped(path, reason, detail, entry.ref))

    def _link(self, path: str, oid: str) -> str:
        try:
            return describe_link(path, printable(self._objects.blob(oid)))
        except UnreadableError as error:
            return str(error)

    def _refuse(self, ref: str, reason: str, detail: str) -> None:
        self._skipped.append(Skipped("", reason, detail, ref))


def _recorded_content(content: bytes | UnreadableError) -> bytes:
    if isinstance(content, UnreadableError):
        raise content
    return content


def _reason(error: Exception) -> str:
    """Why a part of a ref is not read: the repository has lost it, or it was never valid."""
    return LOST if isinstance(error, UnreadableError) and not isinstance(error, TooLargeError) else "unreadable"


def _parse_tree(directory: AgentEntry, answer: GitObject | UnreadableError) -> Iterator[AgentEntry]:
    if isinstance(answer, UnreadableError):
        raise answer
    if answer.kind != "tree":
        raise ValueError(f"it is a {answer.kind}, not a tree")
    prefix = directory.path + b"/" if directory.path else b""
    for mode, name, oid in raw_entries(answer.content, len(directory.oid) // 2):
        yield AgentEntry(directory.ref, prefix + name, mode, oid)


def _commit_dates(repository: Repository, refs: Sequence[AgentRef]) -> dict[str, int]:
    """Return the committer date of each ref's commit, in seconds; nothing for refs without one. Of a relay's folder,
    the date of the agent's own commit."""
    if not refs:
        return {}
    names = [f"{ref.commit}:{COMMIT}" if relay_of(ref.name) else ref.commit for ref in refs]
    answers = list(repository.objects.read(names))
    dates = {}
    for ref, answer in zip(refs, answers, strict=True):
        if not isinstance(answer, UnreadableError) and (seconds := committer_seconds(answer.content)) is not None:
            dates[ref.commit] = seconds
    return dates
