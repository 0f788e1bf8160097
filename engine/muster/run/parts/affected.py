"""What must be evaluated again: for each change, what it can affect, and how a run notices it.

`BEFORE_READING` compares the question with the last run's state, `AFTER_READING` checks what the files contain,
`NOT_RECORDED` what is wrong with them, and `AFTER_DECIDING` the decisions. A row affects the neighbourhoods that it
names, what clusters share (`SHARED`: wide stages run), or the whole fleet (`FLEET`: WholeNeeded, with the row's text as
the reason). What stages are given has no rows of its own: what clusters were given is recorded, and compared
(`muster.rules.given`). Incremental runs are correct if and only if no other row is missing: the simulated fleets in
tests/run check it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CSR, kind_of
from muster.data.locations import FOLDER
from muster.dataclass import dataclass
from muster.fleet.faults import is_fault
from muster.fleet.fleet import Fleet
from muster.fleet.neighbourhoods import NeighbourhoodNames, neighbourhood_names
from muster.git.authors import written_since
from muster.git.changes import Blob, PathChange, changed_paths
from muster.git.derivedbranch import has_ancestor
from muster.git.errors import RepositoryError
from muster.git.store.entries import LINK, SUBMODULE
from muster.git.store.paths import IGNORE_FILE, is_data
from muster.rules.admission.judge import reads_users
from muster.rules.admission.reads import files_read, reads_clusters
from muster.run.memo.records import RunRecord, digest
from muster.run.memo.state import RunState
from muster.run.neighbourhood_records import CONTEXT, KeptNeighbourhoods
from muster.run.parts.part import FleetPart, Touched
from muster.run.question import (
    MOST,
    Question,
    WholeNeeded,
    default_neighbourhood,
    names_of,
    refs_by_name,
    tips_of,
    withheld_of,
)
from muster.run.run import Run

if TYPE_CHECKING:
    from muster.git.agents.refs import AgentRef
    from muster.rules.given import GivenTerms
    from muster.rules.stages import Terms

M = TypeVar("M")
#: The mode of a file that a run writes.
_FILE: Final = "100644"


class Affects(Enum):
    """How far a change reaches."""

    NEIGHBOURHOODS = "the neighbourhoods that it names"
    SHARED = "what clusters share"
    FLEET = "the whole fleet"


@dataclass(frozen=True, slots=True)
class ChangeRow(Generic[M]):
    """One change. `notice` returns the neighbourhoods that the change touches, from what is known at that moment; for a
    row that affects more than these, whether it happened."""

    change: str
    affects: Affects
    notice: Callable[[M], Touched | frozenset[int] | bool]


# -- before anything is read


@dataclass(frozen=True)
class Since:
    """A question and the state of the last run."""

    question: Question
    state: RunState
    facts: RunRecord

    @cached_property
    def paths(self) -> frozenset[str]:
        """The data files that changed, and those that the last run should have written. WholeNeeded if more changed
        than the content of single files."""
        question, last = self.question, self.facts.commit
        committed = changed_paths(question.repository, last, question.commit) if last != question.commit else ()
        written = self.state.written()
        landed = frozenset(
            change.path
            for change in committed
            if self.facts.steady and change.new == Blob(_FILE, written.get(change.path, ""))
        )
        others = (change for change in committed if change.path not in landed)
        missing = set[str]() if question.resumes else written.keys() - landed
        return frozenset((*data_of(question.files.changes), *data_of(others), *missing))

    @cached_property
    def written(self) -> frozenset[str] | None:
        """The files that people's commits wrote, if a policy reads who changed what; None if that is not known."""
        question, last = self.question, self.facts.commit
        if last == question.commit or not self.facts.users:
            return frozenset()
        return written_since(question.repository, last, question.commit)

    @cached_property
    def tips(self) -> str:
        """The question's agent refs as text (see `tips_of`). There are many, so it is computed once."""
        return tips_of(self.question)

    @cached_property
    def refs_differ(self) -> bool:
        """Whether any agent's ref was added, removed or moved."""
        return self.facts.tips_digest != digest(self.tips.encode())

    @cached_property
    def refs_before(self) -> Mapping[str, str]:
        """The state's line of each agent's ref, by name; empty if none differs."""
        return refs_by_name(self.state.tips()) if self.refs_differ else {}

    @cached_property
    def refs_now(self) -> Mapping[str, str]:
        """The same for the question's refs."""
        return refs_by_name(self.tips) if self.refs_differ else {}

    @cached_property
    def moved_refs(self) -> "tuple[AgentRef, ...]":
        """The refs that were added or moved."""
        refs = self.question.refs if self.refs_differ else ()
        return tuple(ref for ref in refs if self.refs_before.get(ref.name) != self.refs_now[ref.name])


def _history_rewritten(since: Since) -> bool:
    question, last = since.question, since.facts.commit
    if last == question.commit:
        return False
    try:
        return not has_ancestor(question.repository, last, question.commit)
    except RepositoryError:
        return True  # the commit of the last run is missing here


def _of_files(since: Since, paths: Iterable[str]) -> Touched:
    paths = frozenset(paths)
    neighbourhoods, unknown = since.state.of_files(paths)
    return Touched(frozenset(neighbourhoods), frozenset(unknown), labels=paths)


def _files_slipped(since: Since) -> Touched:
    """Each run reads incomplete files again, and the objects that they contained; each check, the files that differed
    from the commit at the last one."""
    files, held = since.facts.slips
    if not (paths := since.question.beside.union(files)):
        return Touched()
    return _of_files(since, paths) | Touched(frozenset(since.state.of_names(held)))


def _agent_ref_gone(since: Since) -> bool:
    return bool(since.refs_before.keys() - since.refs_now.keys())


def _odd_ref_moved(since: Since) -> bool:
    lines_before = (since.refs_before.get(ref.name, "") for ref in since.moved_refs)
    return any(ref.refused or ref.unread or not ref.cluster for ref in since.moved_refs) or any(
        line.startswith("?") for line in lines_before
    )


def _agents_spoke(since: Since) -> Touched:
    names = frozenset(ref.cluster for ref in since.moved_refs)
    state = since.state
    return Touched(frozenset(state.of_refs(ref.short for ref in since.moved_refs) | state.of_names(names)), names=names)


def _pulses_sent(since: Since) -> Touched:
    remembered = since.question.remembered
    if since.facts.memory == remembered.at:
        return Touched()
    before, now = since.state.published(), remembered.memory
    ids = {key.object for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    return Touched(frozenset(since.state.of_names(names_of(ids))))


#: The rows that checks and decisions share.
CHANGED: Final[tuple[ChangeRow[Since], ...]] = (
    ChangeRow("a data file changed", Affects.NEIGHBOURHOODS, lambda since: _of_files(since, since.paths)),
    ChangeRow(
        "time changes a decision",
        Affects.NEIGHBOURHOODS,
        lambda since: Touched(frozenset(since.state.due(since.question.second))),
    ),
    ChangeRow("an agent's ref is gone", Affects.FLEET, _agent_ref_gone),
    ChangeRow("a ref that does not count has changed", Affects.FLEET, _odd_ref_moved),
    ChangeRow("an agent reported", Affects.NEIGHBOURHOODS, _agents_spoke),
    ChangeRow("a file is incomplete", Affects.NEIGHBOURHOODS, _files_slipped),
)
BEFORE_READING: Final[tuple[ChangeRow[Since], ...]] = (
    ChangeRow(
        "it is earlier than at the last run", Affects.FLEET, lambda since: since.question.second < since.facts.now
    ),
    ChangeRow("history was rewritten", Affects.FLEET, _history_rewritten),
    ChangeRow(
        "a further repository stopped or resumed answering",
        Affects.FLEET,
        lambda since: since.facts.withheld != withheld_of(since.question),
    ),
    ChangeRow("it is not known which files have another author", Affects.FLEET, lambda since: since.written is None),
    ChangeRow(
        "a file was changed, and changed back by somebody else",
        Affects.NEIGHBOURHOODS,
        lambda since: Touched(frozenset(since.state.of_files(since.written or ())[0])),
    ),
    *CHANGED,
    ChangeRow("pulses went out", Affects.NEIGHBOURHOODS, _pulses_sent),
)


def touched_since(
    question: Question, state: RunState, facts: RunRecord, rows: Iterable[ChangeRow[Since]] = BEFORE_READING
) -> Touched:
    """Return what changed since the last run, and what is due. WholeNeeded if that affects the whole fleet."""
    since, touched = Since(question, state, facts), Touched()
    for row in rows:
        noticed = row.notice(since)
        if row.affects is Affects.FLEET and noticed:
            raise WholeNeeded(row.change)
        if isinstance(noticed, Touched):
            touched |= noticed
    return touched


def data_of(changes: Iterable[PathChange]) -> Iterator[str]:
    """Yield the paths of changed data files. WholeNeeded if more changed than the content of single files."""
    for change in changes:
        special = any(blob and blob.mode.encode() in (LINK, SUBMODULE) for blob in (change.old, change.new))
        if special or change.path == IGNORE_FILE:
            raise WholeNeeded("links, submodules or .musterignore changed")
        if is_data(change.path.encode("utf-8", "surrogateescape")):
            if "\\" in change.path:
                raise WholeNeeded("a path that cannot be shown as it is changed")
            yield change.path


# -- after the selected files are read


@dataclass(frozen=True)
class Reading:
    """A part whose files were read."""

    part: FleetPart
    fleet: Fleet

    @cached_property
    def _where(self) -> NeighbourhoodNames:
        return neighbourhood_names(self.fleet)

    @cached_property
    def neighbourhoods(self) -> Mapping[ObjectId, str]:
        """The neighbourhood of each object that was read."""
        where = self._where
        default = {part.id: default_neighbourhood(part.id) for part in self.fleet.read.parts}
        return {**{id_: where.names.get(name, name) for id_, name in default.items()}, **where.of}

    @cached_property
    def policy_files(self) -> frozenset[str]:
        """The files with policies, settings, or what policies read: also those that had none at the last run."""
        policies = frozenset(part.source.path for part in self.fleet.read.parts if kind_of(part.id) in CONTEXT)
        return policies | files_read(self.fleet, self.part.facts.reads)

    @cached_property
    def policies_changed(self) -> bool:
        """Did a file change that has policies or settings, or had them? WholeNeeded if it is not known what each
        cluster was given before."""
        part = self.part
        changed = {path for path in part.touched.labels if not path.startswith(FOLDER)}
        edited = bool(changed & (self.policy_files | {file.path for file in part.state.context()}))
        if edited and not part.rest.decided:
            raise WholeNeeded("a policy or a setting changed")
        return edited

    @cached_property
    def names(self) -> Mapping[str, frozenset[str]]:
        """The names of each neighbourhood."""
        by_neighbourhood: dict[str, set[str]] = {}
        for name, neighbourhood in self._where.names.items():
            by_neighbourhood.setdefault(neighbourhood, {neighbourhood}).add(name)
        return {neighbourhood: frozenset(names) for neighbourhood, names in by_neighbourhood.items()}

    @cached_property
    def own(self) -> frozenset[str]:
        """The neighbourhoods to decide: those of a near part without the shared ones."""
        neighbourhoods = frozenset(self.neighbourhoods.values())
        if not self.part.near:
            return neighbourhoods
        shared = self.part.state.names_of_shared() - self.part.stepping
        return frozenset(
            neighbourhood
            for neighbourhood in neighbourhoods
            if not {neighbourhood, *self.names.get(neighbourhood, ())} & shared
        )

    @property
    def standing(self) -> frozenset[ObjectId]:
        """The objects that were read and are not decided."""
        return frozenset(id_ for id_, neighbourhood in self.neighbourhoods.items() if neighbourhood not in self.own)


def _failing(reading: Reading) -> frozenset[int]:
    """The neighbourhoods in which any expression failed: it may be another one now, or gone."""
    part = reading.part
    return frozenset(part.state.failing() - part.chosen) if reading.policies_changed else frozenset()


def _policy_changed(reading: Reading) -> bool:
    return reading.part.near and reading.policies_changed


def _shared_object_moved(reading: Reading) -> bool:
    """A changed file contains an object of another neighbourhood that is not shared context, or a statement about a
    certificate request that no cluster owns: a request belongs to its cluster only while it exists."""
    part = reading.part
    if not part.near:
        return False
    others = [other for other in reading.fleet.read.parts if reading.neighbourhoods[other.id] not in reading.own]
    files = {other.source.path for other in others} - {file.path for file in part.state.context()}
    return bool(files & part.touched.labels) or any(CSR.has(other.id) and not other.source.ref for other in others)


def _foreign_object_changed(reading: Reading) -> bool:
    """A changed file has an object of an unknown kind that policies may match: they judge all of them together."""
    part = reading.part
    if not part.near or not part.facts.reads.foreign:
        return False
    return any(document.source.path in part.touched.labels for document in reading.fleet.read.foreign_objects)


def _read_of_others(reading: Reading) -> frozenset[int]:
    """The neighbourhoods that were read but not selected."""
    decided = reading.own
    names = {name for neighbourhood in decided for name in reading.names.get(neighbourhood, (neighbourhood,))}
    keys = {str(id_) for id_, neighbourhood in reading.neighbourhoods.items() if neighbourhood in decided}
    return frozenset(reading.part.state.of_names(names | keys) - reading.part.chosen)


AFTER_READING: Final[tuple[ChangeRow[Reading], ...]] = (
    ChangeRow("an expression that failed may be gone", Affects.NEIGHBOURHOODS, _failing),
    ChangeRow("a policy or a setting changed", Affects.SHARED, _policy_changed),
    ChangeRow("a shared object moved", Affects.SHARED, _shared_object_moved),
    ChangeRow("an object of an unknown kind changed", Affects.SHARED, _foreign_object_changed),
    ChangeRow("an object is in a file of another neighbourhood", Affects.NEIGHBOURHOODS, _read_of_others),
)


# -- after the selected files are checked


@dataclass(frozen=True)
class Checking:
    """A fleet or a part with the findings of a run. `slips`: the state can record incomplete files, because it is known
    which objects they contained."""

    fleet: Fleet
    findings: Iterable[Finding]
    slips: bool = False


def _not_whole(checking: Checking) -> bool:
    fleet = checking.fleet
    return fleet.unidentified or bool(fleet.read.damaged.elsewhere) or (bool(fleet.read.damaged) and not checking.slips)


#: Findings about many objects at once. A lost object of an agent may be readable again although no ref moves.
_OF_MANY: Final = frozenset((Code.DOES_NOT_SETTLE, Code.AGENT_OBJECT_LOST, Code.PROJECTIONS_COLLIDE))
#: What no record of a neighbourhood can contain, because it concerns several.
NOT_RECORDED: Final[tuple[ChangeRow[Checking], ...]] = (
    ChangeRow("a file is incomplete", Affects.FLEET, _not_whole),
    ChangeRow(
        "not all agents could be reached",
        Affects.FLEET,
        lambda checking: bool(checking.fleet.refs.unheard - checking.fleet.refs.withheld),
    ),
    ChangeRow(
        "an admission policy has objects of clusters as parameters",
        Affects.FLEET,
        lambda checking: reads_clusters(checking.fleet),
    ),
    ChangeRow(
        "an admission policy reads who changed an object, and here that is not known",
        Affects.FLEET,
        lambda checking: checking.fleet.read.authors is None and reads_users(checking.fleet),
    ),
    ChangeRow(
        "a finding concerns many objects",
        Affects.FLEET,
        lambda checking: any(finding.code in _OF_MANY or is_fault(finding) for finding in checking.findings),
    ),
)


def beyond_record(fleet: Fleet, findings: Iterable[Finding], *, slips: bool = False) -> str:
    """Return why a run cannot be recorded; empty if it can."""
    checking = Checking(fleet, findings, slips)
    return next((row.change for row in NOT_RECORDED if row.notice(checking)), "")


def require_record(fleet: Fleet, findings: Iterable[Finding], *, slips: bool = False) -> None:
    """WholeNeeded if a part cannot be recorded."""
    if why := beyond_record(fleet, findings, slips=slips):
        raise WholeNeeded(why)


# -- after the selected neighbourhoods are decided


@dataclass(frozen=True)
class Deciding:
    """A decided part, and its records for the state."""

    part: FleetPart
    run: Run
    kept: KeptNeighbourhoods

    @cached_property
    def totals(self) -> Mapping[str, int]:
        """The totals of the whole fleet."""
        return self.part.totals(self.kept)

    @cached_property
    def given(self) -> "GivenTerms":
        """What the run's stages were given."""
        from muster.rules.given import GivenTerms  # a check never asks this, nor the next

        assert self.run.terms is not None
        return GivenTerms(self.run.terms)

    @cached_property
    def progressing(self) -> frozenset[str] | None:
        """The objects in which the clusters of a near part made progress (see `stepping.progressing`)."""
        from muster.run.parts.stepping import progressing  # a check never asks this

        return progressing(self.part, self.kept, self.run.fleet)


class TermsMoved(WholeNeeded):
    """Shards were decided with another lease floor, or as if adapters were used, or were not."""

    def __init__(self, lease_floor: int, *, adapters: bool) -> None:
        super().__init__("clusters are given something else than before")
        self.lease_floor, self.adapters = lease_floor, adapters


def _decided_elsewhere(deciding: Deciding) -> bool:
    decided = deciding.run.fleet.decided
    return any(
        decided.get(id_) is not decisions
        for summary in deciding.part.summaries.values()
        for id_, decisions in summary.decisions()
        if decisions
    )


def _fleet_differs(deciding: Deciding) -> bool:
    """Whether every cluster is given something else, or adapters begin or cease to report: no near part asks others."""
    part = deciding.part
    reporting, reported = (bool(totals.get("adapters")) for totals in (deciding.totals, part.facts.totals))
    return part.near and (deciding.given.text != part.facts.given or reporting != reported)


def _terms_differ(deciding: Deciding) -> frozenset[int]:
    """The neighbourhoods whose clusters are given something else than when they were decided."""
    from muster.rules.given import differs

    part, given, summaries = deciding.part, deciding.given, deciding.part.summaries
    differing = (
        frozenset(
            id_
            for id_, name, before in part.state.given(part.chosen)
            if (rest := summaries.get(name)) and differs(before, given.about(rest.objects, rest.decided, rest.asked))
        )
        if summaries
        else frozenset[int]()
    )
    if len(differing) > MOST * part.state.count():
        _require_assumed(part, given.terms)
    return differing


def _require_assumed(part: FleetPart, terms: "Terms") -> None:
    """TermsMoved if shards were decided with another lease floor, or as if adapters were used, or were not."""
    from muster.rules.heartbeats.durations import LeaseFloor
    from muster.rules.stages import Traits

    shards, floor, adapters = part.rest.shards, terms.of(LeaseFloor).seconds, terms.of(Traits).uses_adapters
    if shards is not None and (floor, adapters) != (part.facts.lease_floor, shards.adapters):
        raise TermsMoved(floor, adapters=adapters)


def _ordered(deciding: Deciding) -> frozenset[int]:
    """The neighbourhoods to which wide stages pass on something about an object: they have not decided it."""
    part = deciding.part
    objects = deciding.given.terms.objects
    return frozenset(part.state.of_names(map(default_neighbourhood, objects))) - part.chosen if objects else frozenset()


def _first_or_last(deciding: Deciding) -> bool:
    """Whether there are derived files now and were none, or the reverse. Shards have compared that."""
    part = deciding.part
    return part.rest.shards is None and bool(deciding.totals.get("derived")) != bool(part.facts.totals.get("derived"))


def _summary_changed(deciding: Deciding) -> bool:
    """Whether another neighbourhood could read something new from the decisions."""
    part, kept = deciding.part, deciding.kept
    if not part.near:
        return False
    if any(record.troubled or (record.shared and record.name not in part.stepping) for record in kept.records):
        return True
    return deciding.progressing is None


def _progressed(deciding: Deciding) -> frozenset[int]:
    """The objects whose next step the progress of clusters may change."""
    part = deciding.part
    if not part.near:
        return frozenset()
    return frozenset(part.state.of_names(deciding.progressing or ())) - part.chosen


def _name_taken(deciding: Deciding) -> bool:
    names = (name for record in deciding.kept.records for name in record.names)
    return bool(deciding.part.state.of_names(names) - deciding.part.chosen)


def _reads_differ(deciding: Deciding) -> bool:
    """Whether admission policies read other objects than those whose files are known. Shards have compared that."""
    part = deciding.part
    return part.rest.shards is None and not deciding.run.fleet.compiled.reads.are_those_of(part.facts.reads)


READS_DIFFER: Final = ChangeRow("admission policies read other objects than before", Affects.FLEET, _reads_differ)
NAME_TAKEN: Final = ChangeRow("a neighbourhood has a name of another", Affects.FLEET, _name_taken)
AFTER_DECIDING: Final[tuple[ChangeRow[Deciding], ...]] = (
    READS_DIFFER,
    ChangeRow("a wide stage decides a cluster", Affects.FLEET, _decided_elsewhere),
    ChangeRow("the first or the last derived file", Affects.FLEET, _first_or_last),
    ChangeRow("all clusters are given something else", Affects.SHARED, _fleet_differs),
    ChangeRow("a cluster is given something else", Affects.NEIGHBOURHOODS, _terms_differ),
    ChangeRow("a wide stage orders something", Affects.NEIGHBOURHOODS, _ordered),
    ChangeRow("a cluster's summary changed", Affects.SHARED, _summary_changed),
    ChangeRow("a cluster made progress", Affects.NEIGHBOURHOODS, _progressed),
    NAME_TAKEN,
)
