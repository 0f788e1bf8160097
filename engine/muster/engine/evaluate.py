"""The function on which everything rests: a fleet repository and an instant in, all that follows out."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from muster.check.validate import validate
from muster.decide import pipeline
from muster.decide.render import Rendered, changed, render
from muster.engine.collector import without_collection
from muster.fleet.assemble import assemble
from muster.fleet.fleet import sorted_objects
from muster.fleet.hearing import hear
from muster.gitio.open import open_snapshot
from muster.gitio.pulse_memory import memory_of
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.kinds import FLEET
from muster.model.published import NOTHING_PUBLISHED, Memory
from muster.model.snapshot import Snapshot, agents_of
from muster.model.times import earliest
from muster.model.tree import Tree
from muster.policy.ruled import Ruled

NOBODY: Mapping[ObjectId, Finding] = MappingProxyType({})


@dataclass(frozen=True)
class Run:
    """What one evaluation gave. The attributes without underscore are stable from the first version on.

    `fleet` is the evaluated fleet with every decision in it, `before` the same fleet as it stood.
    """

    fleet: Ruled
    now: datetime
    commit: str | None

    @cached_property
    def objects(self) -> list[Tree]:
        """Every assembled object with what was derived, sorted by kind, namespace and name."""
        return [body for id_ in sorted_objects(self.fleet) if (body := self.fleet.whole(id_)) is not None]

    @cached_property
    def files(self) -> dict[str, str | None]:
        """Derived files that differ from the snapshot's, by path; None: to be removed."""
        return changed(self.fleet, self._rendered)

    @property
    def unwritten(self) -> list[Finding]:
        """The faults of muster in writing files: those stay as they are."""
        return self._rendered.findings

    @cached_property
    def _rendered(self) -> Rendered:
        return render(self.fleet)

    @cached_property
    def pulses(self) -> list[Tree]:
        """The CloudEvents that are due."""
        return [pulse.event for pulse in self.fleet.pulses]

    @cached_property
    def held(self) -> list[Tree]:
        """Disruptive effects that a budget holds back: object, effect and reason."""
        return [
            {"kind": h.object.kind, "namespace": h.object.namespace, "name": h.object.name,
             "effect": h.effect, "reason": h.reason}
            for h in self.fleet.held
        ]  # fmt: skip

    @cached_property
    def findings(self) -> list[Finding]:
        """What is wrong, sorted by place."""
        return self.fleet.sorted_findings()

    @cached_property
    def horizon(self) -> datetime | None:
        """When time alone would next change anything; None when it never would."""
        decisions = (decision for by_path in self.fleet.decided.values() for decision in by_path.values())
        instants = chain(
            (decision.horizon for decision in decisions),
            (pulse.horizon for pulse in self.fleet.pulses),
            (held.horizon for held in self.fleet.held),
            (wake.horizon for wake in self.fleet.wakes),
        )
        return earliest(*instants)

    @property
    def failed(self) -> bool:
        """Whether any finding is an error."""
        return any(found.severity is Severity.ERROR for found in self.findings)


def evaluate(path: str | Path, now: datetime, rev: str | None = None) -> Run:
    """Evaluate a directory (no git needed), or a repository at a revision, at the instant `now`.

    A repository remembers which pulses it has published; a directory does not, so its pulses follow from generations
    and reports alone. Nor has it agents' refs: clusters that spoke through such refs at the last run keep what was
    derived of them, and a finding says so. The network is never asked.

    `now` must carry a time zone; fractions of a second are dropped. Raises `muster.gitio.errors.RepositoryError` where
    there is nothing to read; everything that is wrong inside is a finding.
    """
    published = NOTHING_PUBLISHED if rev is None else memory_of(Path(path), os.environ)
    return evaluate_snapshot(open_snapshot(Path(path), rev), now, published)


def evaluate_snapshot(
    snapshot: Snapshot,
    now: datetime,
    published: Memory = NOTHING_PUBLISHED,
    restless: Mapping[ObjectId, Finding] = NOBODY,
) -> Run:
    """Evaluate what a snapshot holds; `published` are the pulses that went out before.

    The `restless` objects keep their last derived state as if they were broken, each with its finding.
    """
    if now.tzinfo is None:
        raise ValueError("now must carry a time zone, for example datetime.now(timezone.utc)")
    instant = now.astimezone(UTC).replace(microsecond=0)
    with without_collection():
        fleet = hear(check_snapshot(snapshot), agents_of(snapshot))
        broken, findings = fleet.broken | restless.keys(), (*fleet.findings, *restless.values())
        fleet = replace(fleet, published=published, broken=broken, findings=findings)
        return Run(pipeline.run(fleet, instant), instant, snapshot.commit)


def check_snapshot(snapshot: Snapshot, base: Snapshot | None = None) -> Ruled:
    """Return a snapshot's fleet with everything that is wrong in it found, and nothing decided.

    With a base, admission policies are also asked about what changed since then.
    """
    before = None if base is None else assemble(base)
    fleet = validate(assemble(snapshot), before)
    if fleet.settings.obeyed and any(FLEET.has(id_) for id_ in fleet.broken):
        fleet = validate(assemble(snapshot, obeying=False), before)  # its error is none that assembling can see
    return fleet
