"""Snapshots: the files of one revision, from a commit, the index, a work tree or a plain directory.

The implementations that use git are in `muster.git`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from muster.data.source import SourceFile
from muster.dataclass import dataclass

#: The reason why something on an agent's ref was not read: the repository has lost it.
LOST: Final = "lost"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that could contain an object but was not read.

    `reason` is one of `symlink`, `too-large`, `not-utf8-path`, `control-characters`, `dotgit`, `submodule`,
    `not-a-file`, `conflict` (unmerged in the index), `unreadable`, and of a whole agent ref `no-cluster`, `misplaced`,
    `dated-ahead`, `not-given`, `not-signed`, `over-limit`, `lost`, `too-many-unknown` and `too-many-refused`; `detail`
    says more (a link's target, a size, an error). `path` is escaped for display if its bytes are not printable. It is
    empty if a whole ref was left out.
    """

    path: str
    reason: str
    detail: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """Limits of one agent's ref: the bytes of all its files together, and the number of files and directories."""

    max_bytes: int = 4 << 20
    max_files: int = 1000


DEFAULT_LIMITS: Final = AgentLimits()


@dataclass(frozen=True, slots=True)
class SignerIdentity:
    """Who signed the content of an agent's ref, if agents have to sign.

    `user` is the signer; empty without a valid signature: then the content counts as a stranger's. `reason` and `doubt`
    say what is wrong with the commit, in a word and a sentence; both are empty if there is a `user`. `certificate` is a
    digest of the signer's certificate.
    """

    user: str = ""
    reason: str = ""
    doubt: str = ""
    certificate: str = ""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A further repository that agents push to and that did not answer, `why`, and the `clusters` that it reports
    for."""

    remote: str
    why: str
    clusters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Agents:
    """Which agents a snapshot could reach: an unreachable agent is not a silent one.

    `present` are the clusters with refs here. `asked`: the other refs were searched where agents push, on a remote, or
    here if there is none. `gone` are clusters whose refs are known to be gone; `retired` those that a person has
    retired. Refs over the `limits` do not count. Nothing is known of `withheld` clusters: nothing is decided about
    them, and the others do not wait. `identities` has the signer of each ref by cluster; None if agents need not sign.
    `unrecorded`: it is not known which agents there were, in the past, and none counts as missing.
    """

    present: frozenset[str] = frozenset()
    asked: bool = False
    gone: frozenset[str] = frozenset()
    limits: AgentLimits = DEFAULT_LIMITS
    withheld: tuple[Withheld, ...] = ()
    identities: Mapping[str, SignerIdentity] | None = None
    retired: frozenset[str] = frozenset()
    unrecorded: bool = False

    @property
    def unknown(self) -> frozenset[str]:
        """The withheld clusters."""
        return frozenset().union(*(repository.clusters for repository in self.withheld))


class StatedRemovals(NamedTuple):
    """The text of a trailer `Muster-Allow-Removal` in a person's commit: it counts for what the same commit removes.
    `was` are the changed and removed files before the commit, `became` the changed and added ones after it; `later` is
    every version that was committed since."""

    text: str
    commit: str
    was: Sequence[SourceFile]
    became: Sequence[SourceFile]
    later: Sequence[SourceFile]


class Past(Protocol):
    """The history since the last run: the files that it read, their versions since, and what commits since allow.

    The last run is the last one that committed something. Later runs may have read what was committed since, so every
    version of a file since then counts as read. Plain directories have no history; a history that is cut off before the
    last run has as much as there is. Reading it may cost git processes, so it is read only in cases of doubt.
    """

    @property
    def commit(self) -> str:
        """The commit of the last run that found every file complete; empty if it is not known."""

    @property
    def lingers(self) -> bool:
        """Were there runs since that commit, which found incomplete files?"""

    @property
    def proven(self) -> bool:
        """Is it certain that muster made that run? Else what it left out may have been hidden from the next one."""

    @property
    def allowances(self) -> tuple[StatedRemovals, ...]:
        """The trailers `Muster-Allow-Removal` of the commits since the last run, oldest first."""

    @property
    def earlier_allowances(self) -> tuple[StatedRemovals, ...]:
        """The same of commits before, since an earlier run: the last one may be one that a person forged."""

    def before(self, paths: Collection[str]) -> Mapping[str, Sequence[SourceFile]]:
        """Return the versions of each file at `paths` since the last run, including the one that it read, newest first.

        The newest may be the present one. A path without a file, or whose file was not read, has no entry.
        """

    def below(self, folder: str) -> Mapping[str, Sequence[SourceFile]]:
        """Return the same for every file under a folder; the empty one is the root."""

    def had(self, path: str, oid: str) -> bool:
        """Did the last run read a file with this id there?"""

    def replaced(self, paths: Collection[str]) -> Mapping[str, tuple[str, Sequence[SourceFile]]]:
        """Return the commit that gave each of these files its present content, and the versions before, newest first.

        A file that never had other content has no entry.
        """

    def changed_since(self, commit: str) -> Sequence[SourceFile]:
        """Return the files at a commit of those that differ now."""


class Author(NamedTuple):
    """Who wrote something, according to git, without proof."""

    name: str
    mail: str


class Authors(Protocol):
    """Who wrote the files of a snapshot.

    A snapshot has it if git knows. It may cost a walk through history, so it is read only if a policy needs it.
    """

    @property
    def at_work(self) -> Author | None:
        """Who would commit a change now; None if that is not known."""

    def of(self, files: Mapping[str, str]) -> Author | None:
        """Return who changed any of these files last; None if that is not known.

        `files` has the id of each by path, empty if the file is gone.
        """

    def is_signed(self, files: Mapping[str, str], key: str) -> bool:
        """Is the last change of these files signed with an ssh key, given as an OpenSSH line? A change that is not
        committed has no signature yet: True."""


class Snapshot(ABC):
    """The YAML and JSON files of one revision sorted by path, then those of the agent refs, sorted by ref and path.

    Paths compare by code points, which is the byte order of their UTF-8. Processes that it reads through end with the
    `with` block, with `close`, or with the object.
    """

    __slots__ = ()

    @property
    def commit(self) -> str | None:
        """The commit's id; None for a directory or the index."""
        return None

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The paths that were left out, and why. Complete once `files` has been exhausted."""
        return ()

    @property
    def ignored(self) -> tuple[SourceFile, ...]:
        """The files that `.musterignore` names. Complete once `files` has been exhausted."""
        return ()

    @property
    def agents(self) -> Agents:
        """Which agents could be reached: none, if their refs are not read (a plain directory)."""
        return Agents()

    @property
    def past(self) -> Past | None:
        """The history since the last run; None if there is none."""
        return None

    @property
    def authors(self) -> Authors | None:
        """Who wrote the files; None if that is not known."""
        return None

    @abstractmethod
    def files(self) -> Iterator[SourceFile]:
        """Yield every `*.yaml`, `*.yml` and `*.json` file that `.musterignore` does not name."""


class Over(Snapshot):
    """A snapshot over another one, `below`, whose properties it has unless it overrides them."""

    __slots__ = ()
    below: Snapshot

    @property
    def commit(self) -> str | None:
        """The commit below."""
        return self.below.commit

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The paths that were left out below."""
        return self.below.skipped

    @property
    def ignored(self) -> tuple[SourceFile, ...]:
        """The ignored files below."""
        return self.below.ignored

    @property
    def agents(self) -> Agents:
        """The agents below."""
        return self.below.agents

    @property
    def past(self) -> Past | None:
        """The history below."""
        return self.below.past

    @property
    def authors(self) -> Authors | None:
        """The authors below."""
        return self.below.authors
