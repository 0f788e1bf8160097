"""What a run is asked, and where it has to look since the last one: at what changed, who spoke, and what is due."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from muster.data.decision import Memory
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.snapshot import Snapshot
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.git.changes import PathChange, changed_paths
from muster.git.derivedbranch import has_ancestor
from muster.git.entries import LINK, SUBMODULE
from muster.git.errors import RepositoryError
from muster.git.paths import IGNORE_FILE, is_data
from muster.git.repository import Repository
from muster.git.snapshot import CommitSnapshot
from muster.run.records import text_of, tree_of

if TYPE_CHECKING:
    from muster.git.agentrefs import AgentRefs
    from muster.git.agents import AgentRef
    from muster.rules.policies.witness import Witness
    from muster.run.state import RunState

#: The part of a fleet that is looked at by itself at most: more of it costs as much as the whole.
MOST: Final = 0.6


class WholeNeeded(Exception):  # noqa: N818 - not an error: the whole fleet is looked at
    """A part of the fleet does not do; why, for whoever wants to know."""


class PartScope(Protocol):
    """What a part of a fleet is looked at for. Where more than `most` of the neighbourhoods are concerned, all are."""

    @property
    def repository(self) -> Repository:
        """Where it lies."""

    @property
    def commit(self) -> str:
        """The commit that is asked about, or that on which is built what is."""

    @property
    def changes(self) -> Sequence[PathChange]:
        """What is built on it changes; nothing where the commit itself is asked about."""

    @property
    def second(self) -> int:
        """As of when, in seconds since the epoch."""

    @property
    def most(self) -> float:
        """The part of the fleet that is looked at by itself at most."""

    @property
    def refs(self) -> "Sequence[AgentRef]":
        """The agents' refs that are read."""

    def snapshot(
        self, only: Collection[str] | None = None, refs: "Collection[AgentRef] | None" = None
    ) -> AbstractContextManager[Snapshot]:
        """The files; of the paths and refs named, where not all are looked at."""


class PoliciesEdited(WholeNeeded):
    """Policies changed, came or went, and nobody has looked yet whom that concerns."""

    def __init__(self) -> None:
        super().__init__("a policy or a setting changed")


class LeasesMoved(WholeNeeded):
    """Leases last so many seconds at least, which is not what clusters were decided by."""

    def __init__(self, seconds: int) -> None:
        super().__init__("leases last longer or shorter than before")
        self.seconds = seconds


class Remembers(Protocol):
    """What went out before. `at` changes whenever it does."""

    @property
    def memory(self) -> Memory:
        """The last pulse of each object and policy."""

    @property
    def at(self) -> str:
        """A name of this memory, another for another one."""


@dataclass(frozen=True)
class Question:
    """What a run is asked: to decide a commit, with the agents that were heard, as of an instant.

    With `uncommitted`, the work tree that is built on it: these are its changes, see `muster.git.status`. `beside`
    are files that are looked at whether they changed or not. A `witness` is told how expressions were evaluated.
    """

    repository: Repository
    commit: str
    heard: "AgentRefs"
    now: datetime
    remembered: Remembers
    most: float = MOST
    uncommitted: Sequence[PathChange] | None = None
    beside: frozenset[str] = frozenset()
    witness: "Witness | None" = None

    def at(self, commit: str) -> "Question":
        """The same question of another commit."""
        return replace(self, commit=commit, witness=None)

    @property
    def changes(self) -> Sequence[PathChange]:
        """What a work tree changes of the commit."""
        return self.uncommitted or ()

    @property
    def decided(self) -> str | None:
        """The commit that is decided; None for a work tree."""
        return self.commit if self.uncommitted is None else None

    @property
    def second(self) -> int:
        """The instant, in seconds since the epoch."""
        return int(self.now.timestamp())

    @property
    def refs(self) -> "Sequence[AgentRef]":
        """The agents' refs that were heard."""
        return self.heard.refs

    def snapshot(
        self, only: Collection[str] | None = None, refs: "Collection[AgentRef] | None" = None
    ) -> AbstractContextManager[Snapshot]:
        """The files to decide on; of the paths and refs named, where not all are looked at."""
        if self.uncommitted is not None:
            from muster.git.open import work_tree_snapshot

            return work_tree_snapshot(self.repository, self.heard, self.uncommitted, only, refs)
        chosen = self.heard.refs if refs is None else tuple(refs)
        return CommitSnapshot(self.repository, self.commit, chosen, self.heard.agents, only)


@dataclass(frozen=True, slots=True)
class Touched:
    """What a run has to look at: neighbourhoods, paths in which none is known to lie, and the clusters of which agents
    spoke. `labels` are all files that changed."""

    homes: frozenset[int]
    unknown: frozenset[str]
    names: frozenset[str]
    labels: frozenset[str]

    def __bool__(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self.homes or self.unknown or self.names)


def data_of(changes: Iterable[PathChange]) -> Iterator[str]:
    """The paths of data files among changes. WholeNeeded where more changed than what single files hold."""
    for change in changes:
        special = any(blob and blob.mode.encode() in (LINK, SUBMODULE) for blob in (change.old, change.new))
        if special or change.path == IGNORE_FILE:
            raise WholeNeeded("links, submodules or .musterignore changed")
        if is_data(change.path.encode("utf-8", "surrogateescape")):
            if "\\" in change.path:
                raise WholeNeeded("a path that cannot be shown as it is changed")
            yield change.path


def _follows(question: Question, commit: str) -> bool:
    """Whether what is asked about follows a commit; not where that is not even here."""
    try:
        return has_ancestor(question.repository, commit, question.commit)
    except RepositoryError:
        return False


def touched(question: Question, state: "RunState", facts: Mapping[str, Tree]) -> Touched:
    """Where something changed since the last run, and what is due. WholeNeeded where that is not to be told."""
    if question.second < facts["now"]:
        raise WholeNeeded("it is earlier than at the last run")
    if facts["commit"] != question.commit and not _follows(question, facts["commit"]):
        raise WholeNeeded("history was rewritten")
    if facts["withheld"] != withheld_of(question):
        raise WholeNeeded("a further repository has fallen silent, or answers again")
    found = changed(question, state, facts)
    # Each run reads the files that are not whole, and the objects that they held.
    slipped, held = facts["slips"]
    if beside := question.beside.union(slipped):
        there, unknown = state.of_files(beside)
        found = replace(found, homes=found.homes | there | state.of_names(held), unknown=found.unknown | unknown,
                        labels=found.labels | beside)  # fmt: skip
    if facts["memory"] == question.remembered.at:
        return found
    then = {tuple(entry[0]): entry for entry in state.fact("published")}
    present = {tuple(entry[0]): entry for entry in published_entries(question.remembered.memory)}
    ids = {ObjectId(*key) for key in then.keys() | present.keys() if then.get(key) != present.get(key)}
    return replace(found, homes=found.homes | state.of_names(names_of(ids)))


def changed(asked: PartScope, state: "RunState", facts: Mapping[str, Tree]) -> Touched:
    """Where files are others than those that the state is of, or agents spoke, and what is due."""
    paths = set(data_of(asked.changes))
    if facts["commit"] != asked.commit:
        paths.update(data_of(changed_paths(asked.repository, facts["commit"], asked.commit)))
    there, unknown = state.of_files(paths)
    homes, names, tips = there | state.due(asked.second), frozenset[str](), tips_of(asked)
    if facts["tips digest"] != digest(tips):
        before, now = _by_name(state.fact("tips")), _by_name(tips)
        if before.keys() - now.keys():
            raise WholeNeeded("an agent's ref is gone")
        spoke = [ref for ref in asked.refs if before.get(ref.name) != now[ref.name]]
        if any(ref.refused or ref.unread or not ref.cluster for ref in spoke) or _had_unread(before, spoke):
            raise WholeNeeded("a ref that does not count has changed")
        names = frozenset(ref.cluster for ref in spoke)
        homes |= state.of_refs(ref.short for ref in spoke) | state.of_names(names)
    return Touched(frozenset(homes), frozenset(unknown), names, frozenset(paths))


def withheld_of(question: Question) -> list[Tree]:
    """The further repositories that do not answer, and the clusters of which nothing is known for that. Why may be said
    in other words each time."""
    return [[one.remote, sorted(one.clusters)] for one in question.heard.agents.withheld]


def tips_of(asked: PartScope) -> str:
    """The agents' refs as they were heard, a line each: the name, and the commit or, where there is more to say, a list
    in JSON that ends in why it was not read. They are many, and every look compares them: hence no tree."""
    return "\n".join([
        f"{ref.name} {ref.commit}" if not (ref.refused or ref.unread or ref.identity)
        else f"{ref.name} {text_of([ref.commit, list(ref.refused), _behind(ref), ref.unread])}"
        for ref in asked.refs
    ])  # fmt: skip


def _by_name(tips: str) -> dict[str, str]:
    """What is said of each ref."""
    return {name: said for name, _, said in (line.partition(" ") for line in tips.split("\n") if line)}


def _behind(ref: "AgentRef") -> Tree:
    known = ref.identity
    return None if known is None else [known.user, known.reason, known.doubt]


def _had_unread(before: Mapping[str, str], spoke: "Iterable[AgentRef]") -> bool:
    """Whether some of the refs could not be fetched before."""
    said = (before.get(ref.name, "") for ref in spoke)
    return any(text.startswith("[") and tree_of(text)[-1] for text in said)


def names_of(ids: Iterable[ObjectId]) -> set[str]:
    """Return the names to look up the neighbourhoods of objects with."""
    return {name for id_ in ids for name in (default_home(id_), str(id_))}


def default_home(id_: ObjectId) -> str:
    """Where an object belongs as far as its id tells."""
    return id_.name if is_cluster(id_) else id_.namespace


def published_entries(memory: Memory) -> list[Tree]:
    """What is remembered of pulses, by object."""
    by_object = grouped(
        (key.object, [key.policy, sent.generation, format_time(sent.time), sent.count])
        for key, sent in sorted(memory.items())
    )
    return [[list(id_), *entries] for id_, entries in by_object.items()]


def digest(text: str) -> str:
    """A short text that differs where texts do."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
