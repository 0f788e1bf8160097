"""The question that a run answers: which files, with which agents, as of which instant."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from muster.data.decision import NOTHING_PUBLISHED, Memory
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.snapshot import Agents, Snapshot
from muster.git.changes import PathChange
from muster.git.repository import Repository
from muster.git.snapshot import CommitSnapshot
from muster.run.records import digest

if TYPE_CHECKING:
    from muster.git.agentrefs import AgentRefs
    from muster.git.agents import AgentRef
    from muster.rules.policies.lazy import Witness

#: An incremental run looks at no more than this share of the neighbourhoods: more of them cost as much as a full run.
MOST: Final = 0.6


class WholeNeeded(Exception):  # noqa: N818 - not an error: a full run follows
    """An incremental run cannot answer; the text says why a full run is needed."""


class Remembers(Protocol):
    """The pulses that went out before."""

    @property
    def memory(self) -> Memory:
        """The last pulse of each object and policy."""

    @property
    def at(self) -> str:
        """The version of the memory: it changes whenever the memory does."""


@dataclass(frozen=True, slots=True)
class NothingRemembered:
    """No pulses went out. Satisfies `Remembers`."""

    memory: Memory = field(default_factory=lambda: NOTHING_PUBLISHED)
    at: str = ""


class FileSource(Protocol):
    """Where the files of a run are read: a commit, or a work tree or an index built on one."""

    @property
    def changes(self) -> Sequence[PathChange]:
        """The paths that differ from the commit."""

    def snapshot(
        self, question: "Question", only: Collection[str] | None, refs: "Collection[AgentRef] | None"
    ) -> AbstractContextManager[Snapshot]:
        """The files; with `only` and `refs` just those paths and agents' refs."""


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """The files of the commit itself. Satisfies `FileSource`."""

    changes: Sequence[PathChange] = ()

    def snapshot(
        self, question: "Question", only: Collection[str] | None, refs: "Collection[AgentRef] | None"
    ) -> CommitSnapshot:
        """The commit's files."""
        return CommitSnapshot(
            question.repository, question.commit, tuple(question.refs if refs is None else refs), question.agents, only
        )


@dataclass(frozen=True, slots=True)
class WorkTreeFiles:
    """The files of the work tree, which differs from the commit by `changes`. Satisfies `FileSource`."""

    changes: Sequence[PathChange]

    def snapshot(
        self, question: "Question", only: Collection[str] | None, refs: "Collection[AgentRef] | None"
    ) -> AbstractContextManager[Snapshot]:
        """The work tree's files."""
        # The hook reads the index alone, and must not pay for this import.
        from muster.git.open import work_tree_snapshot

        return work_tree_snapshot(question.repository, question.heard, self.changes, only, refs)


COMMITTED: Final = CommitFiles()


@dataclass(frozen=True)
class Question:
    """Decide or check a commit, or what is built on it, with the agents that were heard, as of an instant.

    `heard_or_none` is None if agents are not asked at all (the index). `files` says where the files are read. `beside`
    are files to look at even if they did not change. A `witness` is told how expressions were evaluated.
    """

    repository: Repository
    commit: str
    heard_or_none: "AgentRefs | None"
    now: datetime
    remembered: Remembers = NothingRemembered()
    most: float = MOST
    files: FileSource = COMMITTED
    beside: frozenset[str] = frozenset()
    witness: "Witness | None" = None

    def at(self, commit: str) -> "Question":
        """The same question about another commit."""
        return replace(self, commit=commit, witness=None)

    @property
    def instant(self) -> datetime:
        """The instant in UTC, without fractions of a second."""
        return self.now.astimezone(UTC).replace(microsecond=0)

    @property
    def second(self) -> int:
        """The instant, in seconds since the epoch."""
        return int(self.now.timestamp())

    @property
    def decided(self) -> str | None:
        """The commit that is decided; None for what is not committed."""
        return self.commit if self.files is COMMITTED else None

    @property
    def heard(self) -> "AgentRefs":
        """The agents that were heard. ValueError if agents are not asked."""
        if self.heard_or_none is None:
            raise ValueError("a question about the index asks no agents")
        return self.heard_or_none

    @property
    def refs(self) -> "Sequence[AgentRef]":
        """The agents' refs that are read."""
        return () if self.heard_or_none is None else self.heard_or_none.refs

    @property
    def agents(self) -> Agents | None:
        """Which agents were heard; None if they are not asked."""
        return None if self.heard_or_none is None else self.heard_or_none.agents

    def snapshot(
        self, only: Collection[str] | None = None, refs: "Collection[AgentRef] | None" = None
    ) -> AbstractContextManager[Snapshot]:
        """The files to look at; with `only` and `refs` just those paths and agents' refs."""
        return self.files.snapshot(self, only, refs)

    def base(self, only: Collection[str] | None = None, refs: "Collection[AgentRef] | None" = None) -> CommitSnapshot:
        """The same files as the commit has them."""
        return COMMITTED.snapshot(self, only, refs)


def default_home(id_: ObjectId) -> str:
    """The name of the neighbourhood of an object, as far as its id tells."""
    return id_.name if is_cluster(id_) else id_.namespace


# -- what is compared with the last run


def withheld_of(question: Question) -> list[tuple[str, list[str]]]:
    """The further repositories that do not answer, and the clusters that are unknown for that reason. The error text is
    left out: it may differ each time."""
    agents = question.agents
    return [] if agents is None else [(one.remote, sorted(one.clusters)) for one in agents.withheld]


def tips_of(question: Question) -> str:
    """The agents' refs as they were heard, a line each: the name and the commit, and if there is more to say, a digest
    of it, behind a `?` if the ref was not read. They are many, and every look compares them: hence no tree."""
    return "\n".join([
        f"{ref.name} {ref.commit}" if not (ref.refused or ref.unread or ref.identity)
        else f"{ref.name} {'?' if ref.unread else ''}{ref.commit} {_more(ref)}"
        for ref in question.refs
    ])  # fmt: skip


def refs_by_name(tips: str) -> dict[str, str]:
    """What `tips_of` says of each ref."""
    return {name: said for name, _, said in (line.partition(" ") for line in tips.split("\n") if line)}


def _more(ref: "AgentRef") -> str:
    known = ref.identity
    identity = None if known is None else (known.user, known.reason, known.doubt)
    return digest(repr((list(ref.refused), identity, ref.unread)).encode("utf-8", "surrogatepass"))


def names_of(ids: Iterable[ObjectId]) -> set[str]:
    """The names by which to look up the neighbourhoods of objects."""
    return {name for id_ in ids for name in (default_home(id_), str(id_))}
