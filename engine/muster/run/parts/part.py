"""A part of a fleet: the neighbourhoods that a run evaluates, and what it knows of the rest.

A part is selected before anything is decided. `larger` returns the next one if reading or deciding shows that more must
be evaluated (`muster.run.parts.affected`). A part is checked (`muster.run.uncommitted`) or decided
(`muster.run.incremental`).
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, is_cluster
from muster.data.locations import derived_path
from muster.dataclass import dataclass
from muster.fleet.fleet import Beyond, Fleet
from muster.fleet.objects import Object
from muster.fleet.settings import Settings
from muster.git.trees import list_paths
from muster.rules.failures import OF_FAILURES
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.memo.records import RunRecord
from muster.run.memo.state import File, KnownNeighbourhood, RunState
from muster.run.neighbourhood_records import NAME, KeptNeighbourhoods, Summary, kind_name, read_summaries
from muster.run.question import Question, WholeNeeded

if TYPE_CHECKING:
    from muster.git.agents.refs import AgentRef


@dataclass(frozen=True, slots=True)
class Touched:
    """What a run has to evaluate: `neighbourhoods`, paths without a known neighbourhood (`unknown`), and `names` of
    clusters whose agents reported. `labels` are all changed files."""

    neighbourhoods: frozenset[int] = frozenset()
    unknown: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Is there anything to evaluate?"""
        return bool(self.neighbourhoods or self.unknown or self.names)

    def __or__(self, other: "Touched") -> "Touched":
        """Both."""
        return Touched(
            self.neighbourhoods | other.neighbourhoods,
            self.unknown | other.unknown,
            self.names | other.names,
            self.labels | other.labels,
        )


@dataclass(frozen=True, slots=True)
class ShardTerms:
    """What shards assumed about the fleet: `fresh`: nothing is derived yet; `adapters`: some adapter reports."""

    fresh: bool
    adapters: bool


@dataclass(frozen=True, slots=True)
class Rest:
    """What a run may use of the rest of the fleet.

    `decided`: it is known what each cluster was given. `shards`: the rest was decided in shards with these assumptions,
    and `read` are their summaries.
    """

    decided: bool = True
    shards: ShardTerms | None = None
    read: Mapping[str, Summary] = field(default_factory=dict)


#: The rest as of the last run, and as of the last check, which has no decisions.
LAST_RUN, LAST_CHECK = Rest(), Rest(decided=False)


@dataclass(frozen=True)
class FleetPart:
    """The `chosen` neighbourhoods. They are `known` from the last run, and are at `paths` and on `refs`; `standing` are
    the objects that were read but are not decided, once that is known.

    `near`: only the chosen neighbourhoods are decided; otherwise wide stages run too.
    """

    question: Question
    state: RunState
    facts: RunRecord
    touched: Touched
    chosen: frozenset[int]
    near: bool = True
    rest: Rest = LAST_RUN
    known: Mapping[int, KnownNeighbourhood] = field(default_factory=dict)
    paths: frozenset[str] = frozenset()
    refs: "Sequence[AgentRef]" = ()
    standing: frozenset[ObjectId] = frozenset()

    # -- what to evaluate

    def larger(self, more: Iterable[int] = (), *, wide: bool = False) -> "FleetPart":
        """Return the part with more chosen neighbourhoods; `wide`: wide stages are required."""
        near = self.near and not wide
        more = frozenset(more) if near else self.state.whole().union(more)
        return replace(self, chosen=self.chosen | more, near=near)

    def closed(self) -> "FleetPart":
        """Return the part that also has everything that shares a file with it."""
        state, chosen, near = self.state, self.chosen, self.near
        while True:
            more = state.sharing(chosen)
            if near:
                with_policies, _ = state.of_files(file.path for file in state.context() if not file.ref)
                more |= {id_ for id_, record in state.kept(with_policies).items() if not record.shared}
            if more <= chosen:
                break
            chosen |= more
        neighbourhoods = state.kept(chosen)
        if len(neighbourhoods) > self.question.most * state.count():
            raise WholeNeeded("most of it changed")
        if near and any(record.wide for record in neighbourhoods.values()):
            return replace(self, chosen=chosen).larger(wide=True).closed()
        files = state.files(chosen) | (state.context() if near else set[File]())
        shorts = {file.ref for file in files if file.ref}
        names = state.names(chosen) | self.touched.names
        refs = tuple(ref for ref in self.question.refs if ref.short in shorts or ref.cluster in names)
        if any(ref.refused for ref in refs):
            raise WholeNeeded("a ref that does not count is among them")
        paths = frozenset(file.path for file in files if not file.ref) | self.touched.unknown
        return replace(self, chosen=chosen, known=neighbourhoods, paths=paths, refs=refs)

    # -- what is known of the rest

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """The summaries of the rest, by neighbourhood; empty for a near part, which reads none."""
        if self.rest.shards is not None:
            chosen = {record.name for record in self.known.values()}
            return {name: summary for name, summary in self.rest.read.items() if name not in chosen}
        return {} if self.near else self.state.summaries(self.chosen, read_summaries)

    @cached_property
    def summarised(self) -> Mapping[ObjectId, Object]:
        """The objects in summaries."""
        return {obj.id: obj for summary in self.summaries.values() for obj in summary.objects}

    @cached_property
    def new_clusters(self) -> frozenset[ObjectId]:
        """The clusters of the rest that have no derived file yet, because the run that first saw them did not land."""
        if not self.question.resumes:
            return frozenset()
        written = self.state.written()
        paths = {path: id_ for id_ in filter(is_cluster, self.summarised) if (path := self._derived(id_)) in written}
        question = self.question
        there = list_paths(question.repository.git, question.commit, [os.fsencode(path) for path in paths])
        return frozenset(paths.values()).difference(paths[os.fsdecode(entry.path)] for entry in there)

    def _derived(self, id_: ObjectId) -> str:
        return derived_path(id_, Settings(self.facts.settings).shards)

    @cached_property
    def loose(self) -> tuple[Finding, ...]:
        """The findings of no neighbourhood at the last run, in files that are not evaluated."""
        return tuple(
            finding
            for finding in self.facts.loose
            if (finding.file or self.near)
            and finding.file not in self.touched.labels
            and finding.file not in self.paths
            and finding.file.partition(":")[0] not in self._read_refs
        )

    @cached_property
    def _read_refs(self) -> frozenset[str]:
        """The agents' refs of the part. Findings about a whole ref have its short name as the file."""
        return frozenset(ref.short for ref in self.refs)

    @cached_property
    def others(self) -> tuple[Finding, ...]:
        """The findings of the rest."""
        return (*self.state.findings(self.chosen), *self.loose)

    def own_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings of the part itself."""
        others = set(self.others)
        return [finding for finding in findings if finding not in others]

    def with_the_others(self, fleet: FleetWithPolicies) -> Iterator[Finding]:
        """Yield the findings of the whole fleet, without those of a near part about objects that it only reads."""
        if not self.near:
            yield from fleet.findings
        else:
            standing, read = fleet.beyond.standing, {part.source.label for part in fleet.read.parts}
            read.update(document.source.label for document in fleet.read.foreign_objects)
            files = {part.source.label for part in fleet.read.parts if part.id not in standing} | self.touched.labels
            yield from (
                finding
                for finding in fleet.findings
                if finding.file in files
                or (not finding.file and finding.object is not None and finding.object not in standing)
                or finding.code == Code.AGENTS_REMOTE_NOT_HEARD
                or finding.code in OF_FAILURES
                or (":" in finding.file and finding.file not in read)
                or finding.file in self._read_refs
            )
        yield from self.others

    @cached_property
    def _totals_of_others(self) -> Counter[str]:
        """The totals of the rest."""
        totals: Counter[str] = Counter(self.facts.totals)
        for record in self.known.values():
            totals.subtract(record.totals)
        return totals

    def totals(self, kept: KeptNeighbourhoods) -> Counter[str]:
        """The totals of the whole fleet."""
        return self._totals_of_others + kept.totals

    @cached_property
    def stepping(self) -> frozenset[str]:
        """The chosen neighbourhoods of a near part whose objects take their step."""
        return frozenset(record.name for record in self.known.values() if record.steps)

    def _steps(self, fleet: Fleet) -> Mapping[ObjectId, bytes]:
        records = self.state.steps(self.stepping)
        return {id_: records[name] for id_ in fleet.objects if records and (name := str(id_)) in records}

    def beyond(self, fleet: Fleet) -> Beyond:
        """Return what the fleet assembled from the part knows of the rest."""
        totals = self._totals_of_others
        present = Counter(id_[:2] for id_ in self.summarised)
        present.update(id_[:2] for id_ in self.standing.difference(fleet.broken).intersection(fleet.objects))
        left = {kind: totals[f"kind {kind_name(kind)}"] - present[kind.group, kind.name] for kind in ALL}
        shards = self.rest.shards
        works = (id_ for summary in self.summaries.values() for id_, _ in summary.works)
        return Beyond(
            standing=self.standing.union(self.summarised, works),
            counts={kind: count for kind, count in left.items() if count > 0},
            clusters=frozenset(id_.name for id_ in self.summarised if is_cluster(id_)),
            conditions=frozenset(
                name.removeprefix("type ") for name, count in totals.items() if count > 0 and name.startswith("type ")
            ),
            names=frozenset(
                name.removeprefix(NAME) for name, count in totals.items() if count > 0 and name.startswith(NAME)
            ),
            adapters=totals["adapters"] > 0,
            derived=totals["derived"] > 0 if shards is None else not shards.fresh,
            asked=not self.near,
            steps=self._steps(fleet) if self.near else {},
            lease_floor=self.facts.lease_floor if self.near else 0,
            disrupted=frozenset(id_ for summary in self.summaries.values() for id_ in summary.disrupted),
            failed=tuple(self.state.failures(self.chosen)),
        )


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """A checked part: its fleet with the findings of the whole fleet, those of its `own`, the same files as they are
    committed, and the records for the state."""

    part: FleetPart
    fleet: FleetWithPolicies
    own: Sequence[Finding]
    committed: Fleet
    kept: KeptNeighbourhoods
