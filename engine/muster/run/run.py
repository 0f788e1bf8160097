"""The result of one evaluation of a fleet, and of several passes at one instant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from muster.data.codes import Code, Severity
from muster.data.decision import Decision, Failed, Held, Wake
from muster.data.finding import Finding
from muster.data.times import earliest
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.fleet import sorted_objects

if TYPE_CHECKING:
    from muster.rules.policies.in_force import FleetWithPolicies
    from muster.rules.render import Rendered
    from muster.rules.stages import Terms
    from muster.run.transition import Transition


@dataclass(frozen=True)
class Run:
    """The result of one evaluation. The attributes without underscore are stable from the first version on.

    `fleet` is the evaluated fleet with every decision in it. `terms` are what its stages were given at the end, None if
    muster failed before there were any. `failures` are the expressions that failed.
    """

    fleet: "FleetWithPolicies"
    now: datetime
    commit: str | None
    terms: "Terms | None" = field(default=None, repr=False, compare=False)
    failures: tuple[Failed, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def objects(self) -> list[Tree]:
        """Every assembled object with its derived part, sorted by kind, namespace and name."""
        return [body for id_ in sorted_objects(self.fleet) if (body := self.fleet.whole(id_)) is not None]

    @cached_property
    def files(self) -> dict[str, str | None]:
        """Derived files that differ from the snapshot's, by path; None: to be removed."""
        from muster.rules.render import changed_files

        return changed_files(self.fleet, self._rendered)

    @property
    def unwritten(self) -> list[Finding]:
        """Faults of muster in writing files, which stay as they are."""
        return self._rendered.findings

    @cached_property
    def _rendered(self) -> "Rendered":
        from muster.rules.render import render

        return render(self.fleet)

    @cached_property
    def pulses(self) -> list[Tree]:
        """The CloudEvents that are due."""
        return [pulse.event for pulse in self.fleet.pulses]

    @cached_property
    def held(self) -> list[Tree]:
        """Disruptive effects that a budget holds back, or that wait for approval: object, effect, reason, and the topic
        of the proposal."""
        return [
            {
                "kind": h.object.kind,
                "namespace": h.object.namespace,
                "name": h.object.name,
                "effect": h.effect,
                "reason": h.reason,
                **({"topic": h.wait.topic} if h.wait else {}),
            }
            for h in self.fleet.held
        ]

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings, sorted by place."""
        return self.fleet.sorted_findings()

    @cached_property
    def horizon(self) -> datetime | None:
        """When time alone would next change anything; None for never."""
        instants = chain(
            (decision.horizon for decision in self._decisions),
            (pulse.horizon for pulse in self.fleet.pulses),
            (held.horizon for held in self.fleet.held),
            (wake.horizon for wake in self.fleet.wakes),
        )
        return earliest(*instants)

    @cached_property
    def turn(self) -> datetime | None:
        """When time alone would next change anything except that a pulse is due; None for never."""
        wakes = (wake for wake in self.fleet.wakes if not wake.pulse)
        outcomes: Iterable[Decision | Held | Wake] = chain(self._decisions, self.fleet.held, wakes)
        return earliest(*(outcome.horizon for outcome in outcomes))

    @property
    def _decisions(self) -> Iterator[Decision]:
        """This run's own decisions. Wakes have the horizons of the rest."""
        standing = self.fleet.beyond.standing
        return (
            decision
            for id_, by_path in self.fleet.decided.items()
            if id_ not in standing
            for decision in by_path.values()
        )

    @property
    def failed(self) -> bool:
        """Is any finding an error?"""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


#: Derived files by path, to be written over a snapshot; None removes one.
Files = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of all passes.

    `files` are all derived files that differ from the snapshot's, `changes` the transitions by object; `first` is the
    run on the snapshot itself, `last` the final one. `rested` is False if some objects did not come to rest: their
    files are not in `files`, and a finding of `last` (MUS262) names each. `faults` are muster's own in writing files
    and describing transitions.
    """

    first: Run
    last: Run
    files: Files
    changes: "Sequence[Transition]"
    rested: bool
    faults: frozenset[Finding] = frozenset()

    @property
    def findings(self) -> list[Finding]:
        """The findings at the end, sorted by place, with those that only the first pass sees because it mends them."""
        seen = (finding for finding in self.first.findings if finding.code == Code.AGENT_REF_GONE)
        return sorted({*self.last.findings, *seen, *self.faults}, key=Finding.sort_key)
