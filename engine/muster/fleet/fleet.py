"""The fleet: every object of a snapshot, what the last run derived, and what this run has decided so far.

A `Fleet` is an immutable value. Stages read it and return outcomes; `with_outcomes` gives the fleet that the next stage
sees. An incremental run decides only some neighbourhoods: `Beyond` holds what it knows about the rest, whose decisions
hold and whose files it does not write.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Self, TypeVar

from muster.data.decision import Decision, Failed, Held, Memory, Outcome, ProjectedFile, Pulse, Wake
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, Kind
from muster.data.snapshot import Authors, SignerIdentity
from muster.data.source import Part
from muster.dataclass import dataclass
from muster.fleet.foreign import ByKind, Foreign
from muster.fleet.objects import Object, with_params
from muster.fleet.reading import NOTHING_DAMAGED, DamagedFiles
from muster.fleet.settings import Settings
from muster.fleet.view import View


@dataclass(frozen=True, slots=True)
class Beyond:
    """What an incremental run knows about the rest of the fleet.

    `standing`: objects that this run only reads. `counts`: numbers of sound objects not even read, by kind; `clusters`:
    names of all clusters of the rest; `conditions`: their condition types; `names`: what references may name there
    (`muster.fleet.shared.names_in_use`). `adapters`: does any adapter report there; `derived`: is any file derived
    there. `asked`: do wide stages run? If not, their results of the last run hold, and
    clusters need to know `lease_floor`. `disrupted`: the standing clusters with a requested disruptive effect; `found`:
    findings about the rest; `failed`: expressions that failed there. `steps`: the objects whose steps are decided
    although wide stages do not run, each with its `StepRecord` of the last run. `files_unseen`: the files of
    Projections were not read, so those that are recorded count as present.
    """

    standing: frozenset[ObjectId] = frozenset()
    counts: Mapping[Kind, int] = field(default_factory=dict)
    clusters: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    adapters: bool = False
    derived: bool = False
    asked: bool = True
    lease_floor: int = 0
    disrupted: frozenset[ObjectId] = frozenset()
    found: frozenset[Finding] = frozenset()
    failed: tuple[Failed, ...] = ()
    steps: Mapping[ObjectId, bytes] = field(default_factory=dict)
    files_unseen: bool = False


#: A full run has no rest.
NOTHING_BEYOND = Beyond()


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """What was read, besides the objects that it makes up.

    `parts`: all parts, including those that do not count. `damaged` and `whole_at`: the files that cannot be read, and
    the commit of the last run at which every file could; empty if all can now. `foreign`: people's objects of unknown
    kinds, which admission policies may match; `authors`: who wrote which file, None if unknown. `builtin`: the bundle's
    objects that no input replaces. `derived`: the content id of each file under derived/. `allowed`: the
    clusters whose removal is allowed by the commit that removes them; `idle_allowances`: allowances in commits that
    name none of the clusters they remove.
    """

    parts: Sequence[Part] = ()
    damaged: DamagedFiles = NOTHING_DAMAGED
    whole_at: str = ""
    foreign: ByKind = field(default_factory=dict)
    authors: Authors | None = None
    builtin: Mapping[ObjectId, Object] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    allowed: frozenset[ObjectId] = frozenset()
    idle_allowances: tuple[str, ...] = ()

    @property
    def foreign_objects(self) -> Iterator[Foreign]:
        """The objects of unknown kinds, of all of these."""
        return chain.from_iterable(self.foreign.values())


@dataclass(frozen=True, slots=True)
class RefsRead:
    """The clusters' agent refs (`muster.fleet.agent_refs`).

    `speaking`: the clusters with refs of their own; `unheard`: those that had one at the last run, but it cannot be
    read here; `withheld`: those of them whose remote did not answer. `identities`: the verified signer of each ref,
    None if agents need not sign. `lost`: the clusters whose agents' reports no longer arrive, or cannot be read;
    `unread`: those whose reports cannot be read.
    """

    speaking: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()
    withheld: frozenset[str] = frozenset()
    lost: frozenset[ObjectId] = frozenset()
    unread: frozenset[str] = frozenset()
    identities: Mapping[str, SignerIdentity] | None = None


@dataclass(frozen=True)
class Fleet(View):
    """Everything that a run may read, and what it has decided so far.

    `read`, `refs` and `published` (the pulses published before, the only input that is not in the snapshot) are inputs
    of the run, besides the objects. `beyond` is the rest of the fleet, in an incremental run. `departed`: removed
    clusters whose agents still report, by name, with these reports. `undeclared`: objects that are reported and not
    declared. `asked`: the labels that agents request, by cluster; they have no effect until a person sets them.

    Decided, besides what a view has: `pulses`, `wakes`, `projected`, the texts of Projections' files by object and
    entry of its record, and after the last stage `texts`, the derived files by object.
    """

    settings: Settings = field(kw_only=True)
    read: ReadFiles = ReadFiles()
    refs: RefsRead = RefsRead()
    published: Memory = field(default_factory=dict)
    beyond: Beyond = NOTHING_BEYOND
    departed: Mapping[str, Object | None] = field(default_factory=dict)
    undeclared: frozenset[ObjectId] = frozenset()
    asked: Mapping[ObjectId, Mapping[str, str]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    pulses: tuple[Pulse, ...] = ()
    wakes: tuple[Wake, ...] = ()
    projected: Mapping[tuple[ObjectId, str], str | None] = field(default_factory=dict)
    texts: Mapping[ObjectId, str] = field(default_factory=dict)

    # -- parts of a fleet

    @property
    def partial(self) -> bool:
        """Does this run decide only a part of the fleet?"""
        return self.beyond is not NOTHING_BEYOND

    def looked_at(self) -> View:
        """The objects that this run decides, not those that it only reads."""
        undecided = self.beyond.standing
        if not undecided:
            return self
        looked_up = self._index.results
        view = looked_up.get(undecided)
        if not isinstance(view, View):  # every local stage asks: what it looks up in the objects stays known
            view = looked_up[undecided] = self.only({*self.objects, *self.previous, *self.broken} - undecided)
        return replace(
            view,
            decided={id_: decided for id_, decided in self.decided.items() if id_ not in undecided},
            held=tuple(held for held in self.held if held.object not in undecided),
            index=view._index,
        )

    def counts(self) -> dict[Kind, int]:
        """Numbers of sound objects by kind, in the whole fleet."""
        return {kind: len(self.of(kind)) + self.beyond.counts.get(kind, 0) for kind in ALL}

    # -- policies and findings

    def policies(self, kind: Kind) -> tuple[Object, ...]:
        """Objects of a policy kind by name, including built-in ones that are not replaced, with parameters from the
        Fleet."""
        builtin = (obj for id_, obj in self.read.builtin.items() if kind.has(id_))
        policies = sorted((*self.of(kind), *builtin), key=lambda obj: obj.id)
        return tuple(with_params(obj, self.settings.policy_params(obj.id.name)) for obj in policies)

    def sorted_findings(self) -> list[Finding]:
        """All findings without duplicates, sorted by place."""
        return sorted(set(self.findings), key=Finding.sort_key)

    def with_outcomes(self, outcomes: Iterable[Outcome]) -> Self:
        """Return the fleet as the next stage sees it."""
        decisions = list[Decision]()
        pulses, held, wakes, findings = list(self.pulses), list(self.held), list(self.wakes), list(self.findings)
        projected = dict(self.projected)
        for outcome in outcomes:
            if outcome.__class__ is Decision:  # nearly all
                decisions.append(outcome)
            elif isinstance(outcome, Pulse):
                pulses.append(outcome)
            elif isinstance(outcome, Held):
                held.append(outcome)
            elif isinstance(outcome, Wake):
                wakes.append(outcome)
            elif isinstance(outcome, ProjectedFile):
                projected[outcome.object, outcome.entry] = outcome.text
            elif isinstance(outcome, Finding):
                findings.append(outcome)
            else:
                decisions.append(outcome)
        return replace(
            self.with_decisions(decisions),
            texts={},
            pulses=tuple(pulses),
            held=tuple(held),
            wakes=tuple(wakes),
            findings=tuple(findings),
            projected=projected,
        )


#: A fleet, with or without its compiled policies.
AnyFleet = TypeVar("AnyFleet", bound=Fleet)


def sorted_objects(fleet: Fleet) -> Iterator[ObjectId]:
    """Every object in the inputs or decided, by kind, namespace and name."""
    ids = {*fleet.objects, *fleet.decided}
    return iter(sorted(ids, key=lambda id_: (id_.kind, id_.namespace, id_.name, id_.group)))
