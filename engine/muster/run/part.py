"""A part of a fleet by itself: what changed and what is due, beside what stands of all else.

For what it is looked at, to be checked (`staged`) or to be decided (`decided`), is for those who build on it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, CSR, is_cluster, kind_of
from muster.data.locations import FOLDER
from muster.data.snapshot import Snapshot
from muster.data.tree import Tree
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Beyond, Fleet
from muster.fleet.neighbourhoods import homes
from muster.fleet.objects import Object
from muster.rules.failures import OF_FAILURES
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.homes import CONTEXT, KeptNeighbourhoods, Summary, kind_name, read_summaries
from muster.run.question import PartScope, PoliciesEdited, Touched, WholeNeeded, default_home
from muster.run.records import get_failed, get_findings
from muster.run.state import File, KnownNeighbourhood, RunState

if TYPE_CHECKING:
    from muster.git.agents import AgentRef

A = TypeVar("A", bound=PartScope)


class RunReach(Enum):
    """How far a run looks beyond what was touched."""

    NEAR = "near"
    WIDE = "wide"


@dataclass
class PartialRun(Generic[A]):
    """The `chosen` neighbourhoods, which grow until they hold all that lies in one file or goes by one name with any of
    them, and what is `known` of them. They lie at `paths` and on `refs`.

    `edited`: what edited policies concern is among them.
    """

    question: A
    state: RunState
    facts: Mapping[str, Tree]
    touched: Touched
    chosen: frozenset[int]
    reach: RunReach
    edited: bool = False
    known: Mapping[int, KnownNeighbourhood] = field(default_factory=dict)
    paths: frozenset[str] = frozenset()
    refs: "tuple[AgentRef, ...]" = ()
    standing: frozenset[ObjectId] = frozenset()

    @contextmanager
    def read(self) -> Iterator[tuple[Snapshot, Fleet] | None]:
        """Read it, as far as it is known by now; None where it turns out to be a part of what was not chosen."""
        self._close()
        with self.question.snapshot(self.paths, self.refs) as snapshot:
            fleet = assemble(snapshot, partial=True)
            more = self._missed(fleet)
            self.chosen |= more
            yield None if more else (snapshot, fleet)

    # -- what to look at

    def _close(self) -> None:
        """Choose also what lies in one file with anything that is chosen."""
        state = self.state
        while True:
            more = state.sharing(self.chosen)
            if self.reach is RunReach.NEAR:
                there, _ = state.of_files(file.path for file in state.context() if not file.ref)
                more |= {id_ for id_, home in state.kept(there).items() if not home.shared}
            if more <= self.chosen:
                break
            self.chosen |= more
        self.known = state.kept(self.chosen)
        if len(self.known) > self.question.most * state.count():
            raise WholeNeeded("most of it changed")
        if self.reach is RunReach.NEAR and any(home.shared for home in self.known.values()):
            self.reach = RunReach.WIDE
            self.chosen |= state.whole()
            self._close()
            return
        files = state.files(self.chosen) | (state.context() if self.reach is RunReach.NEAR else set[File]())
        self.paths = frozenset(file.path for file in files if not file.ref) | self.touched.unknown
        shorts = {file.ref for file in files if file.ref}
        names = state.names(self.chosen) | self.touched.names
        self.refs = tuple(ref for ref in self.question.refs if ref.short in shorts or ref.cluster in names)
        if any(ref.refused for ref in self.refs):
            raise WholeNeeded("a ref that does not count is among them")

    def _missed(self, fleet: Fleet) -> frozenset[int]:
        """The neighbourhoods of which something lies in what was read although they are not chosen; none where all is
        there. Then it is known what stands (`standing`)."""
        if not self.edited:
            self._refuse_new_context(fleet)
        where = homes(fleet)
        default = {part.id: default_home(part.id) for part in fleet.parts}
        home_of = {**{id_: where.names.get(name, name) for id_, name in default.items()}, **where.of}
        groups: dict[str, set[str]] = {}
        for name, home in where.names.items():
            groups.setdefault(home, {home}).add(name)
        mine = frozenset(home_of.values())
        if self.reach is RunReach.NEAR:
            shared, context = self.state.names_of_shared(), {file.path for file in self.state.context()}
            mine = frozenset(home for home in mine if home not in shared and not groups.get(home, {home}) & shared)
            elsewhere = [part for part in fleet.parts if home_of[part.id] not in mine]
            strangers = {part.source.path for part in elsewhere} - context
            # A word about a request is the cluster's as long as that is there, and nobody's when it has gone.
            orphans = any(CSR.has(part.id) and not part.source.ref for part in elsewhere)
            if orphans or strangers & self.touched.labels:
                self.reach = RunReach.WIDE
                return frozenset(self.state.whole())
        names = {name for home in mine for name in groups.get(home, {home})}
        keys = {str(id_) for id_, home in home_of.items() if home in mine}
        self.standing = frozenset(id_ for id_, home in home_of.items() if home not in mine)
        return frozenset(self.state.of_names(names | keys) - self.chosen)

    def _refuse_new_context(self, fleet: Fleet) -> None:
        """PoliciesEdited where a policy or a setting changed, came or went: it rules more than what was read."""
        touched = {path for path in self.touched.labels if not path.startswith(FOLDER)}
        there = {part.source.path for part in fleet.parts if kind_of(part.id) in CONTEXT}
        if touched & (there | {file.path for file in self.state.context()}):
            raise PoliciesEdited

    def refuse_names_of_others(self, kept: KeptNeighbourhoods) -> None:
        """WholeNeeded where something that was looked at has come by the name of what was not."""
        if self.state.of_names(name for home in kept.homes for name in home.names) - self.chosen:
            raise WholeNeeded("a neighbourhood has a name of another")

    # -- what stands

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """What others may read of it, by neighbourhood; nobody does of a part that is near."""
        if self.reach is RunReach.NEAR:
            return {}
        return self.state.summaries(self.chosen, read_summaries)

    @cached_property
    def summarised(self) -> Mapping[ObjectId, Object]:
        """The objects that are in summaries."""
        return {obj.id: obj for summary in self.summaries.values() for obj in summary.objects}

    @cached_property
    def loose(self) -> tuple[Finding, ...]:
        """What was found of no neighbourhood at the last run, in files that are not looked at."""
        found = get_findings(self.facts["loose"])
        return tuple(
            one for one in found
            if (one.file or self.reach is RunReach.NEAR)
            and one.file not in self.touched.labels
            and one.file not in self.paths
            and one.file.partition(":")[0] not in self._read_refs
        )  # fmt: skip

    @cached_property
    def _read_refs(self) -> frozenset[str]:
        """The agents' refs that are looked at. What is wrong with one as a whole is said of its short name."""
        return frozenset(ref.short for ref in self.refs)

    @cached_property
    def others(self) -> tuple[Finding, ...]:
        """What is wrong with all that is not looked at."""
        kept = (one for tree in self.state.findings(self.chosen) for one in get_findings(tree))
        return (*kept, *self.loose)

    def own_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """What was found of what was looked at."""
        others = set(self.others)
        return [one for one in findings if one not in others]

    def with_the_others(self, fleet: FleetWithPolicies) -> Iterator[Finding]:
        """What is wrong with the fleet, also elsewhere; what it says of what is there to be read only, is not its to
        say."""
        if self.reach is RunReach.WIDE:
            yield from fleet.findings
        else:
            standing, read = fleet.beyond.standing, {part.source.label for part in fleet.parts}
            files = {part.source.label for part in fleet.parts if part.id not in standing} | self.touched.labels
            yield from (
                one for one in fleet.findings
                if one.file in files
                or (not one.file and one.object is not None and one.object not in standing)
                or one.code == Code.AGENTS_REMOTE_NOT_HEARD
                or one.code in OF_FAILURES
                or (":" in one.file and one.file not in read)
                or one.file in self._read_refs
            )  # fmt: skip
        yield from self.others

    @cached_property
    def _totals_of_others(self) -> Counter[str]:
        """What the fleet is as a whole, without what is looked at."""
        totals: Counter[str] = Counter(self.facts["totals"])
        for home in self.known.values():
            totals.subtract(home.totals)
        return totals

    def totals(self, kept: KeptNeighbourhoods) -> Counter[str]:
        """What the fleet is as a whole."""
        return self._totals_of_others + kept.totals

    def beyond(self, fleet: Fleet) -> Beyond:
        """What is to be known of what stands."""
        totals = self._totals_of_others
        present = Counter(id_[:2] for id_ in self.summarised)
        present.update(id_[:2] for id_ in self.standing.difference(fleet.broken).intersection(fleet.objects))
        left = {kind: totals[f"kind {kind_name(kind)}"] - present[kind.group, kind.name] for kind in ALL}
        near = self.reach is RunReach.NEAR
        return Beyond(
            standing=self.standing.union(self.summarised),
            counts={kind: count for kind, count in left.items() if count > 0},
            clusters=frozenset(id_.name for id_ in self.summarised if is_cluster(id_)),
            conditions=frozenset(
                name.removeprefix("type ") for name, count in totals.items() if count > 0 and name.startswith("type ")
            ),
            adapters=totals["adapters"] > 0,
            derived=totals["derived"] > 0,
            asked=not near,
            lease_floor=self.facts["lease floor"] if near else 0,
            disrupted=frozenset(id_ for summary in self.summaries.values() for id_ in summary.disrupted),
            failed=tuple(map(get_failed, self.state.failures(self.chosen))),
        )
