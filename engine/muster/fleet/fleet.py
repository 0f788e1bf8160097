"""The fleet: every object of a snapshot, what the last run derived, and what this run has decided so far.

A `Fleet` is a value. Stages read what they are given of it and return outcomes; `with_outcomes` gives the fleet in
which these are visible to the next one. Nothing in it is ever mutated.

What a part of a fleet knows of the rest: for a run that looks at some neighbourhoods and lets the others stand.

What stands is decided already; this run reads of it what wide stages read, decides nothing of it and writes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from muster.data.decision import Decision, Failed, Held, Memory, Outcome, Pulse, Wake
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, Kind
from muster.data.snapshot import Authors, SignerIdentity
from muster.data.source import Part
from muster.data.tree import Tree
from muster.fleet.foreign import ByKind
from muster.fleet.missed.slips import NO_SLIPS, Slips
from muster.fleet.objects import Object, with_params
from muster.fleet.settings import Settings
from muster.fleet.view import View


@dataclass(frozen=True, slots=True)
class Beyond:
    """The rest of a fleet.

    `standing` are the objects that are there to be read and nothing else. `counts` says how many sound objects of each
    kind there are that are not even that, `clusters` how all clusters of the rest are called, `conditions` which types
    of conditions it knows. `adapters`: whether any adapter reports there; `derived`: whether any file is derived.
    `asked`: whether wide stages are; if not, what they said at the last run holds, of which clusters need to know
    `lease_floor`. `disrupted` are the clusters among those that stand on which a disruptive effect is asked for,
    and `found` is what was found of the rest; `failed` are the expressions that failed there.
    """

    standing: frozenset[ObjectId] = frozenset()
    counts: Mapping[Kind, int] = field(default_factory=dict)
    clusters: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()
    adapters: bool = False
    derived: bool = False
    asked: bool = True
    lease_floor: int = 0
    disrupted: frozenset[ObjectId] = frozenset()
    found: frozenset[Finding] = frozenset()
    failed: tuple[Failed, ...] = ()


#: A fleet that is looked at as a whole.
NOTHING_BEYOND = Beyond()


@dataclass(frozen=True)
class Fleet(View):
    """Everything that a run may look at.

    `builtin`: the bundle's objects that no input replaces.
    `departed`: clusters that people have removed while their agents still speak, by name, with what those say.
    `asked`: the labels that agents ask for, by cluster: nothing of them counts until a person gives them.
    `foreign`: people's objects of kinds that nobody knows, of which admission policies may speak; `authors`: who wrote
    which file, None where nobody knows.
    `speaking`: the clusters that speak through refs of their own; `unheard`: those that did at the last run, and whose
    refs could not be looked at (`muster.fleet.hearing`), of which nobody waits for those that are `withheld`.
    `identities`: who is behind what is read of each, None where nobody asks. `lost`: the clusters of whose agents
    nothing is received any more.
    `beyond`: what stands of it, where only a part is decided.
    `published`: the pulses that went out before, the one thing that is not in the snapshot.
    """

    settings: Settings = field(kw_only=True)
    builtin: Mapping[ObjectId, Object] = field(default_factory=dict)
    undeclared: frozenset[ObjectId] = frozenset()  # reports speak of them, and nobody declares them
    departed: Mapping[str, Object | None] = field(default_factory=dict)
    allowed: frozenset[ObjectId] = frozenset()  # clusters whose removal is allowed by the commit that removes them
    idle_allowances: tuple[str, ...] = ()  # what commits allow that names no cluster which they remove
    parts: Sequence[Part] = ()  # all that was read, also what counts for nothing
    slips: Slips = NO_SLIPS
    whole_at: str = ""  # where a file is not: the commit of the last run at which every file was whole
    asked: Mapping[ObjectId, Mapping[str, str]] = field(default_factory=dict)
    foreign: ByKind = field(default_factory=dict)
    authors: Authors | None = None
    findings: tuple[Finding, ...] = ()
    derived_files: Mapping[str, str] = field(default_factory=dict)  # path -> content id, everything under derived/
    as_written: Mapping[str, Tree] = field(default_factory=dict)  # path -> tree of a file as muster writes it
    texts: Mapping[ObjectId, str | None] = field(default_factory=dict)  # once all is decided; None: the file stands
    speaking: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()
    withheld: frozenset[str] = frozenset()
    lost: frozenset[ObjectId] = frozenset()
    identities: Mapping[str, SignerIdentity] | None = None
    published: Memory = field(default_factory=dict)
    pulses: tuple[Pulse, ...] = ()
    wakes: tuple[Wake, ...] = ()
    beyond: Beyond = NOTHING_BEYOND

    # -- parts of a fleet

    @property
    def partial(self) -> bool:
        """Whether some of the fleet stands, and only the rest is decided."""
        return self.beyond is not NOTHING_BEYOND

    def looked_at(self) -> View:
        """The objects of which this run decides: all of them, but for those that stand."""
        standing = self.beyond.standing
        if not standing:
            return self
        return self.only({*self.objects, *self.previous, *self.broken, *self.decided} - standing)

    def counts(self) -> dict[Kind, int]:
        """How many sound objects of each kind there are, also beyond what is looked at."""
        return {kind: len(self.of(kind)) + self.beyond.counts.get(kind, 0) for kind in ALL}

    # -- policies and findings

    def policies(self, kind: Kind) -> tuple[Object, ...]:
        """Objects of a policy kind, the built-in ones that no object of the fleet replaces among them, by name.

        Parameters that the Fleet sets are in them.
        """
        builtin = (obj for id_, obj in self.builtin.items() if kind.has(id_))
        found = sorted((*self.of(kind), *builtin), key=lambda obj: obj.id)
        return tuple(with_params(obj, self.settings.policy_params(obj.id.name)) for obj in found)

    def sorted_findings(self) -> list[Finding]:
        """What is wrong, each once, sorted by place."""
        return sorted(set(self.findings), key=Finding.sort_key)

    def with_outcomes(self, outcomes: Iterable[Outcome]) -> Self:
        """Return the fleet as the next stage sees it."""
        decisions = list[Decision]()
        pulses, held, wakes, findings = list(self.pulses), list(self.held), list(self.wakes), list(self.findings)
        for outcome in outcomes:
            if isinstance(outcome, Pulse):
                pulses.append(outcome)
            elif isinstance(outcome, Held):
                held.append(outcome)
            elif isinstance(outcome, Wake):
                wakes.append(outcome)
            elif isinstance(outcome, Finding):
                findings.append(outcome)
            else:
                decisions.append(outcome)
        after = replace(
            self.with_decisions(decisions), texts={}, pulses=tuple(pulses), held=tuple(held), wakes=tuple(wakes),
            findings=tuple(findings),
        )  # fmt: skip
        return after.sorted_as(self)


#: A fleet, with or without the policies that rule it.
AnyFleet = TypeVar("AnyFleet", bound=Fleet)


def sorted_objects(fleet: Fleet) -> Iterator[ObjectId]:
    """Every object that exists in the inputs or was decided, by kind, namespace and name."""
    ids = {*fleet.objects, *fleet.decided}
    return iter(sorted(ids, key=lambda id_: (id_.kind, id_.namespace, id_.name, id_.group)))
