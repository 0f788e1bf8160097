"""What one evaluation of a fleet gives, and what several at one instant come to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from muster.data.codes import Code, Severity
from muster.data.decision import Decision, Failed, Held, Wake
from muster.data.finding import Finding
from muster.data.times import earliest
from muster.data.tree import Tree
from muster.fleet.fleet import sorted_objects

if TYPE_CHECKING:
    from muster.rules.policies.in_force import FleetWithPolicies
    from muster.rules.render import Rendered
    from muster.rules.stages import Context
    from muster.run.change import Change


@dataclass(frozen=True)
class Run:
    """What one evaluation gave. The attributes without underscore are stable from the first version on.

    `fleet` is the evaluated fleet with every decision in it. `context` is that of its stages in the end, None where
    muster failed before there was one. `failures` are the expressions that failed in what was looked at.
    """

    fleet: "FleetWithPolicies"
    now: datetime
    commit: str | None
    context: "Context | None" = field(default=None, repr=False, compare=False)
    failures: tuple[Failed, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def objects(self) -> list[Tree]:
        """Every assembled object with what was derived, sorted by kind, namespace and name."""
        return [body for id_ in sorted_objects(self.fleet) if (body := self.fleet.whole(id_)) is not None]

    @cached_property
    def files(self) -> dict[str, str | None]:
        """Derived files that differ from the snapshot's, by path; None: to be removed."""
        from muster.rules.render import changed_files

        return changed_files(self.fleet, self._rendered)

    @property
    def unwritten(self) -> list[Finding]:
        """The faults of muster in writing files: those stay as they are."""
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
        """Disruptive effects that a budget holds back, or that wait for approval: object, effect and reason, and the
        topic under which they are proposed."""
        return [
            {"kind": h.object.kind, "namespace": h.object.namespace, "name": h.object.name,
             "effect": h.effect, "reason": h.reason, **({"topic": h.wait.topic} if h.wait else {})}
            for h in self.fleet.held
        ]  # fmt: skip

    @cached_property
    def findings(self) -> list[Finding]:
        """What is wrong, sorted by place."""
        return self.fleet.sorted_findings()

    @cached_property
    def horizon(self) -> datetime | None:
        """When time alone would next change anything; None when it never would."""
        instants = chain(
            (decision.horizon for decision in self._decisions),
            (pulse.horizon for pulse in self.fleet.pulses),
            (held.horizon for held in self.fleet.held),
            (wake.horizon for wake in self.fleet.wakes),
        )
        return earliest(*instants)

    @cached_property
    def turn(self) -> datetime | None:
        """When time alone would next change more than that a pulse is due; None when it never would."""
        wakes = (wake for wake in self.fleet.wakes if not wake.pulse)
        outcomes: Iterable[Decision | Held | Wake] = chain(self._decisions, self.fleet.held, wakes)
        return earliest(*(outcome.horizon for outcome in outcomes))

    @property
    def _decisions(self) -> Iterator[Decision]:
        """What this run decided: when what stands of a part of a fleet is due, is among its wakes."""
        standing = self.fleet.beyond.standing
        return (one for id_, by_path in self.fleet.decided.items() if id_ not in standing for one in by_path.values())

    @property
    def failed(self) -> bool:
        """Whether any finding is an error."""
        return any(found.severity is Severity.ERROR for found in self.findings)


#: Derived files by path, as they lie over a snapshot; None removes one.
Files = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Settled:
    """Where the passes came to rest.

    `files` are all derived files that differ from the snapshot's, `changes` all transitions in order; `first` is
    the run on the snapshot itself, `last` the final one. `rested` is False where some objects did not come to rest:
    then nothing of theirs is in `files`, and a finding of `last` (MUS262) names each. `faults` are those of muster in
    writing files and telling transitions.
    """

    first: Run
    last: Run
    files: Files
    changes: "list[Change]"
    rested: bool
    faults: frozenset[Finding] = frozenset()

    @property
    def findings(self) -> list[Finding]:
        """All that is wrong in the end, sorted by place; also what only the first pass sees, and changes."""
        seen = (found for found in self.first.findings if found.code == Code.AGENT_REF_GONE)
        return sorted({*self.last.findings, *seen, *self.faults}, key=Finding.sort_key)
