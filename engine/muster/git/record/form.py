"""The form of a record: a tree of files, made and read back. `muster.git.record` describes it.

A record is data of others. Reading one raises MalformedError for everything that is not exactly a record: nothing of it
counts then. What it can take is bounded by the sizes of its files.
"""

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeAlias

from muster.data.codec import MalformedError, from_tree, to_tree
from muster.data.snapshot import SignerIdentity
from muster.data.tree import Tree, read_json
from muster.dataclass import dataclass
from muster.git.errors import UnreadableError
from muster.git.record.renewals import MOST_RENEWALS, RenewTime, packed, unpacked, with_renewals, without_renewals

VERSION: Final = 1
#: Of one file of a record, and of all of them.
MAX_FILE_BYTES, MAX_BYTES = 64 << 20, 256 << 20
#: The files of a record; PULSES, COMMITS and LATE are missing if there is nothing to say.
RUN, REFS, AGES, PULSES, COMMITS, LATE = "run.json", "refs", "ages", "pulses", "commits", "late"
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))
#: Up to so many refs are in one file, in 16, else in 256: one that changes is stored anew.
_ONE, _FEW = 64, 1024


@dataclass(frozen=True, slots=True)
class SilentRemote:
    """A further repository that did not answer, why, and the clusters that it speaks for."""

    remote: str
    why: str
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """`run.json`: what a record says of the run as a whole. `now` and `source` are those of its commit's trailers;
    `muster` is the version that decided; `memory` that of the memory of pulses; `notes` are lines of the commit's
    message about the run itself. `watched`: the instant since which LATE has all renewals that came late, empty if no
    process watched. The others are as in `muster.data.snapshot.Agents`."""

    version: int
    muster: str
    now: str
    source: str
    memory: str = ""
    asked: bool = False
    signed: bool = False
    limits: tuple[int, int] = (0, 0)
    gone: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    withheld: tuple[SilentRemote, ...] = ()
    notes: tuple[str, ...] = ()
    watched: str = ""


#: A file of a ref: its text without renewals; base64 of what is not UTF-8; or the error that prevented reading it.
Content: TypeAlias = list[str | int] | str | dict[str, str]


@dataclass(frozen=True, slots=True)
class RefRow:
    """A line of `refs/`: what a run knew of a ref. `files` is None if nothing was read of it; `digits` are those of the
    fraction of each of its renewals, and `skipped` what was not read: path, reason and detail. The others are as in
    `muster.git.agents.refs.AgentRef`."""

    ref: str
    refused: tuple[str, str] | None = None
    unread: str = ""
    identity: SignerIdentity | None = None
    files: dict[str, Content] | None = None
    digits: tuple[int, ...] = ()
    skipped: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LateRenewal:
    """A renewal that came late between two recording runs: that of a ref, the `before` one and the one that ended the
    silence, both as written."""

    ref: str
    before: str
    renewed: str


@dataclass(frozen=True, slots=True)
class SignedCommit:
    """The commit of a ref whose cluster the run decided anew, as git stores it, in base64; and its newest renewal."""

    ref: str
    text: str
    renewed: str = ""


@dataclass(frozen=True, slots=True)
class RecordParts:
    """What a record holds: the rows with their renewals, in its order."""

    facts: RunFacts
    rows: Sequence[tuple[RefRow, Sequence[RenewTime]]] = ()
    pulses: Mapping[str, bytes] = field(default_factory=dict)
    commits: Mapping[str, bytes] = field(default_factory=dict)
    late: Sequence[LateRenewal] = ()


def row_content(data: bytes, now: int, renewals: list[RenewTime]) -> Content:
    """Return a file's content as a row holds it; its renewals are added to `renewals`."""
    try:
        return without_renewals(data.decode(), now, renewals)
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def content_bytes(content: Content, renewals: Sequence[str]) -> bytes:
    """Return the file's content. MalformedError if it is none; UnreadableError if it could not be read then."""
    if isinstance(content, dict):
        raise UnreadableError(content.get("error", ""))
    try:
        if isinstance(content, str):
            return base64.b64decode(content, validate=True)
        return with_renewals(content, renewals).encode()
    except (ValueError, IndexError) as error:
        raise MalformedError(f"a file of an agent cannot be put together: {error}") from None


def shard_of(digest: str, refs: int) -> str:
    """Return the path of the file that has a ref's row, given a hex digest of its name, and the number of all refs."""
    digits = 0 if refs <= _ONE else 1 if refs <= _FEW else 2
    return f"{REFS}/{digest[:digits].ljust(2, '-')}"


def row_line(row: RefRow) -> bytes:
    """Return a row as a line of JSON, without what is empty."""
    tree = {name: value for name, value in to_tree(row).items() if value or (name == "files" and value is not None)}
    return _line(tree)


def facts_bytes(facts: RunFacts) -> bytes:
    return _line({name: value for name, value in to_tree(facts).items() if value})


def ages_bytes(renewals: Iterable[Sequence[RenewTime]], now: int) -> bytes:
    return packed([renewal for several in renewals for renewal in several], now)


def commits_bytes(commits: Mapping[str, bytes], renewed: Mapping[str, str]) -> bytes:
    """Return commits, and the newest renewals in them, by the names of refs, as lines of JSON."""
    return b"".join(
        _line({"ref": ref, "text": base64.b64encode(commit).decode(), "renewed": renewed.get(ref, "")})
        for ref, commit in sorted(commits.items())
    )


def parse_commits(data: bytes) -> dict[str, tuple[bytes, str]]:
    """Return the commits in a record, each with its newest renewal, by the names of refs. MalformedError if they are
    none."""
    commits = [from_tree(SignedCommit, tree) for tree in _lines(data)]
    return {commit.ref: (content_bytes(commit.text, ()), commit.renewed) for commit in commits}


def late_bytes(late: Iterable[LateRenewal]) -> bytes:
    return b"".join(_line(to_tree(renewal)) for renewal in late)


def parse_record(files: Mapping[str, bytes], now: int) -> RecordParts:
    """Return what the files of a record hold; `now` is the second of its run. MalformedError if they are none."""
    facts = parse_facts(files.get(RUN, b""))
    shards = [path for path in sorted(files) if path.startswith(f"{REFS}/")]
    rows = [from_tree(RefRow, tree) for path in shards for tree in _lines(files[path])]
    if any(len(row.digits) > MOST_RENEWALS for row in rows):
        raise MalformedError("a ref has too many renewals")
    try:
        renewals = iter(unpacked(files.get(AGES, b""), [count for row in rows for count in row.digits], now))
    except (ValueError, OverflowError, OSError) as error:
        raise MalformedError(str(error)) from None
    return RecordParts(
        facts,
        [(row, [next(renewals) for _ in row.digits]) for row in rows],
        {path.removeprefix(f"{PULSES}/"): data for path, data in files.items() if path.startswith(f"{PULSES}/")},
        {ref: text for ref, (text, _) in parse_commits(files.get(COMMITS, b"")).items()},
        [from_tree(LateRenewal, tree) for tree in _lines(files.get(LATE, b""))],
    )


def parse_facts(data: bytes) -> RunFacts:
    """Return `run.json`. MalformedError if it is none."""
    facts = [from_tree(RunFacts, tree) for tree in _lines(data)]
    if len(facts) != 1:
        raise MalformedError(f"{RUN} is not one line of JSON")
    return facts[0]


def _lines(data: bytes) -> Iterator[Tree]:
    if data and not data.endswith(b"\n"):
        raise MalformedError("the last line is cut off")
    for line in data.split(b"\n")[:-1]:
        try:
            tree = read_json(line)
            if b"\\ud" in line.lower():  # half a character, unless it stands for a byte of a name that is not UTF-8
                os.fsencode(json.dumps(tree, ensure_ascii=False))
        except ValueError as error:
            raise MalformedError(f"a line is not JSON: {error}") from None
        yield tree


def _line(tree: Tree) -> bytes:
    return _ENCODER.encode(tree).encode() + b"\n"
