"""The question that a run answers: which files, with which agents, as of which instant."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from muster.data.decision import NOTHING_PUBLISHED, Memory
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster, kind_of
from muster.data.snapshot import Agents, Snapshot
from muster.dataclass import dataclass
from muster.fleet.neighbourhoods import STEPPING
from muster.git.changes import PathChange
from muster.git.repository import Repository
from muster.git.snapshot import CommitSnapshot
from muster.rules.policies.lazy import Witness
from muster.run.memo.records import digest

if TYPE_CHECKING:
    from muster.git.agents.listing import AgentRefs
    from muster.git.agents.refs import AgentRef

#: An incremental run evaluates at most this share of the neighbourhoods: more of them cost as much as a full run.
MOST: Final = 0.6


class WholeNeeded(Exception):  # noqa: N818 - not an error: a full run follows
    """An incremental run cannot answer; the text says why a full run is needed."""


class Remembers(Protocol):
    """The pulses that were published before."""

    @property
    def memory(self) -> Memory:
        """The last pulse of each object and policy."""

    @property
    def at(self) -> str:
        """The version of the memory: it changes whenever the memory does."""


@dataclass(frozen=True, slots=True)
class NothingRemembered:
    """No pulses were published. Satisfies `Remembers`."""

    memory: Memory = field(default_factory=lambda: NOTHING_PUBLISHED)
    at: str = ""


Refs: TypeAlias = "Collection[AgentRef] | None"


@dataclass(frozen=True, slots=True)
class FileSource:
    """Where the files of a run are read: a commit, or a work tree or index that differs from it by `changes`.

    `read` opens them for a question; with `only` and `refs`, just those paths and agents' refs.
    """

    read: "Callable[[Question, Collection[str] | None, Refs], Snapshot]"
    changes: Sequence[PathChange] = ()


def read_commit(question: "Question", only: Collection[str] | None, refs: Refs) -> CommitSnapshot:
    """The files of the commit."""
    refs_to_read = tuple(question.refs if refs is None else refs)
    return CommitSnapshot(question.repository, question.commit, refs_to_read, question.agents, only)


def read_work_tree(question: "Question", only: Collection[str] | None, refs: Refs) -> Snapshot:
    """The files of the work tree."""
    # The hook reads the index alone, and must not pay for this import.
    from muster.git.open import work_tree_snapshot

    return work_tree_snapshot(question.repository, question.heard, question.files.changes, only, refs)


COMMITTED: Final = FileSource(read_commit)


@dataclass(frozen=True)
class Question:
    """Decide or check a commit, or changes on top of it, with the agents' refs as fetched, as of an instant.

    `agent_refs_or_none` is None if agents' refs are not read at all (the index). `files` says where the files are read.
    `beside` are files to evaluate even if they did not change. A `witness` records how expressions were evaluated.
    `resumes`: an earlier run at the same instant did not land, and what it decided holds where nothing changed since.
    """

    repository: Repository
    commit: str
    agent_refs_or_none: "AgentRefs | None"
    now: datetime
    remembered: Remembers = NothingRemembered()
    most: float = MOST
    files: FileSource = COMMITTED
    beside: frozenset[str] = frozenset()
    witness: Witness | None = None
    resumes: bool = False

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
        """The commit that is decided; None for uncommitted files."""
        return self.commit if self.files is COMMITTED else None

    @property
    def heard(self) -> "AgentRefs":
        """The agents' refs as fetched. ValueError if they are not read."""
        if self.agent_refs_or_none is None:
            raise ValueError("a question about the index reads no agents' refs")
        return self.agent_refs_or_none

    @property
    def hears(self) -> bool:
        """Are agents' refs read?"""
        return self.agent_refs_or_none is not None

    @property
    def refs(self) -> "Sequence[AgentRef]":
        """The agents' refs that are read."""
        return () if self.agent_refs_or_none is None else self.agent_refs_or_none.refs

    @property
    def agents(self) -> Agents | None:
        """Which agents could be reached; None if their refs are not read."""
        return None if self.agent_refs_or_none is None else self.agent_refs_or_none.agents

    def snapshot(self, only: Collection[str] | None = None, refs: Refs = None) -> Snapshot:
        """The files to evaluate; with `only` and `refs` just those paths and agents' refs."""
        return self.files.read(self, only, refs)

    def base(self, only: Collection[str] | None = None, refs: Refs = None) -> CommitSnapshot:
        """The same files as the commit has them."""
        return read_commit(self, only, refs)


def default_neighbourhood(id_: ObjectId) -> str:
    """Return the name of an object's neighbourhood, as far as its id tells."""
    if kind_of(id_) in STEPPING:
        return str(id_)
    return id_.name if is_cluster(id_) else id_.namespace


# -- what is compared with the last run


def withheld_of(question: Question) -> list[tuple[str, list[str]]]:
    """Return the further repositories that do not answer, each with the clusters that are unknown for that reason. The
    error text is left out: it may differ each time."""
    agents = question.agents
    return (
        [] if agents is None else [(repository.remote, sorted(repository.clusters)) for repository in agents.withheld]
    )


def tips_of(question: Question) -> str:
    """Return the agents' refs as text, a line each: the name, the commit (after a `?` if the ref was not read), and a
    digest of further facts if there are any. There are many, and every run compares them: hence no tree."""
    return "\n".join(
        [
            f"{ref.name} {ref.commit}"
            if not (ref.refused or ref.unread or ref.identity)
            else f"{ref.name} {'?' if ref.unread else ''}{ref.commit} {_more(ref)}"
            for ref in question.refs
        ]
    )


def refs_by_name(tips: str) -> dict[str, str]:
    """Return the line of each ref in the text of `tips_of`, by name."""
    return {name: rest for name, _, rest in (line.partition(" ") for line in tips.split("\n") if line)}


def _more(ref: "AgentRef") -> str:
    signer = ref.identity
    identity = None if signer is None else (signer.user, signer.reason, signer.doubt)
    return digest(repr((list(ref.refused), identity, ref.unread)).encode("utf-8", "surrogatepass"))


def names_of(ids: Iterable[ObjectId]) -> set[str]:
    """Return the names by which to look up the neighbourhoods of objects."""
    return {name for id_ in ids for name in (default_neighbourhood(id_), str(id_))}
