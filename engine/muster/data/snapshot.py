"""What the kernel reads: the files of one revision, wherever they come from.

A commit, the index (what is staged), a work tree or a plain directory all look alike from here. The git-backed
implementations live in `muster.git`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, Self

from muster.data.source import SourceFile

#: Why something on an agent's ref was not read: the repository has lost it, so what the agent said is not known.
LOST: Final = "lost"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that could hold an object but was not read.

    `reason` is one of `symlink`, `too-large`, `not-utf8-path`, `control-characters`, `dotgit`, `submodule`,
    `not-a-file`, `conflict` (unmerged in the index), `unreadable`, and of a whole agent ref `no-cluster`, `misplaced`,
    `dated-ahead`, `not-given`, `over-limit`, `lost`, `too-many-unknown` and `too-many-refused`; `detail` says more (a
    link's target, a size, an error). `path` is escaped for display where its bytes are not printable. It is empty where
    a whole ref was left out.
    """

    path: str
    reason: str
    detail: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """How much one agent's ref may hold: bytes of all its files together, and so many files and directories."""

    max_bytes: int = 4 << 20
    max_files: int = 1000


DEFAULT_LIMITS: Final = AgentLimits()


@dataclass(frozen=True, slots=True)
class SignerIdentity:
    """Who is behind what is read of an agent's ref, where agents have to sign.

    `user` signed what is read; empty where nobody did whose word counts: then only a stranger's words count. `reason`
    and `doubt` say what is wrong with what the ref points at, in a word and a sentence; both are empty where there is a
    `user`. `certificate` is a digest of the text of the certificate that vouches.
    """

    user: str = ""
    reason: str = ""
    doubt: str = ""
    certificate: str = ""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A further repository that agents push to and that could not be asked, `why`, and the `clusters` that it speaks
    for."""

    remote: str
    why: str
    clusters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Agents:
    """Which agents a snapshot could hear: not hearing one is another thing than its silence.

    `present` are the clusters whose refs are here. `asked` says whether those that are not here were looked for where
    agents push: a remote was asked, or there is none and so this repository is the place. `gone` are clusters whose
    refs are known to be gone; of those that have `retired` a person says so. What holds more than `limits` does not
    count. Of what is `withheld` nothing is known: nothing is decided about those clusters, and the others do not wait
    for it. `identities` has who is behind each ref by cluster; None where agents need not sign.
    """

    present: frozenset[str] = frozenset()
    asked: bool = False
    gone: frozenset[str] = frozenset()
    limits: AgentLimits = DEFAULT_LIMITS
    withheld: tuple[Withheld, ...] = ()
    identities: Mapping[str, SignerIdentity] | None = None
    retired: frozenset[str] = frozenset()

    @property
    def unknown(self) -> frozenset[str]:
        """The clusters of which nothing is known for that reason."""
        return frozenset().union(*(one.clusters for one in self.withheld))


class StatedRemovals(NamedTuple):
    """What a person's commit says of removals (`Muster-Allow-Removal`), in its own words: it counts for what that very
    commit removes. `was` are the files that it changed or removed as they were before, `became` those that it changed
    or added as they were then; `later` is every version that was committed after it."""

    text: str
    commit: str
    was: Sequence[SourceFile]
    became: Sequence[SourceFile]
    later: Sequence[SourceFile]


class Past(Protocol):
    """What history says of the last run: the files that it read, what they were since, and what commits since allow.

    The last run is the last that committed something. Others may have come after it and read what was committed since:
    so every version of a file since then counts as read.
    A snapshot has one where there is a history: not in a plain directory. Where it was cut off before the last run, it
    says what there is. Asking may cost git processes: it is asked only where something is in doubt.
    """

    @property
    def commit(self) -> str:
        """The commit that the last run evaluated that found every file whole; empty where it is not to be found."""

    @property
    def lingers(self) -> bool:
        """Whether there were runs since that commit, which found files that were not whole."""

    @property
    def allowances(self) -> tuple[StatedRemovals, ...]:
        """What the trailers `Muster-Allow-Removal` of the commits since the last run say, oldest first."""

    def before(self, paths: Collection[str]) -> Mapping[str, Sequence[SourceFile]]:
        """Return each of the files at `paths` as the last run read it and as it was since, newest first.

        The newest may be as it is now. A path at which there was no file, or none that was read, has no entry.
        """

    def below(self, folder: str) -> Mapping[str, Sequence[SourceFile]]:
        """Return the same of every file under a folder; the empty one is the root."""

    def had(self, path: str, oid: str) -> bool:
        """Return whether the last run read a file of this id there."""


class Author(NamedTuple):
    """Who wrote something, as git says: nobody has proved it."""

    name: str
    mail: str


class Authors(Protocol):
    """Who wrote the files of a snapshot.

    A snapshot has one where git knows. Asking may cost a walk through history: it is asked only where a policy wants to
    know.
    """

    @property
    def at_work(self) -> Author | None:
        """Who would commit a change here and now; None where that is not known."""

    def of(self, files: Mapping[str, str]) -> Author | None:
        """Return who changed any of these files last; None where that is not known.

        `files` has the id of each by path, empty where the file is gone.
        """


class Snapshot(ABC):
    """The YAML and JSON files of one revision sorted by path, then those of the agent refs, sorted by ref and path.

    Paths compare by code points, which is the byte order of their UTF-8. What is read through processes ends with the
    block that a snapshot is used in, or with `close`; they also end with the object.
    """

    __slots__ = ()

    @property
    def commit(self) -> str | None:
        """The commit's id; None for a directory or the index."""
        return None

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out and why. Complete once `files` has been exhausted."""
        return ()

    @property
    def ignored(self) -> tuple[SourceFile, ...]:
        """The files that `.musterignore` names. Complete once `files` has been exhausted."""
        return ()

    @property
    def agents(self) -> Agents:
        """Which agents it could hear: none, where it does not look at their refs (a plain directory)."""
        return Agents()

    @property
    def past(self) -> Past | None:
        """What history says of the last run; None where it says nothing."""
        return None

    @property
    def authors(self) -> Authors | None:
        """Who wrote the files; None where nobody knows."""
        return None

    @abstractmethod
    def files(self) -> Iterator[SourceFile]:
        """Yield every `*.yaml`, `*.yml` and `*.json` file that `.musterignore` does not name."""

    def close(self) -> None:  # noqa: B027 - most have nothing to end
        """End the processes that it reads through. Reading a file afterwards starts them again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Over(Snapshot):
    """What lies over another snapshot, and says of everything else what that one says."""

    __slots__ = ()
    below: Snapshot

    @property
    def commit(self) -> str | None:
        """The commit below."""
        return self.below.commit

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out below."""
        return self.below.skipped

    @property
    def ignored(self) -> tuple[SourceFile, ...]:
        """What `.musterignore` names below."""
        return self.below.ignored

    @property
    def agents(self) -> Agents:
        """Which agents the snapshot below could hear."""
        return self.below.agents

    @property
    def past(self) -> Past | None:
        """What history says of the last run: what it says of the files below."""
        return self.below.past

    @property
    def authors(self) -> Authors | None:
        """Who wrote the files below."""
        return self.below.authors
