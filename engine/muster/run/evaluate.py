"""The central function: a fleet repository and an instant in, decisions out."""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from muster.data.decision import NOTHING_PUBLISHED, Memory
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.snapshot import Snapshot
from muster.fleet.agent_refs import with_agent_refs
from muster.git.memory.pulses import Remembered
from muster.git.open import open_commit, open_snapshot
from muster.git.record.past import past_of, snapshot_then
from muster.git.repository import open_repository, resolve
from muster.rules import pipeline
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.lazy import Witness
from muster.run.collector import without_collection
from muster.run.progress import RunStep, doing
from muster.run.run import Run
from muster.run.scope import WHOLE, Scope

NONE_RESTLESS: Mapping[ObjectId, Finding] = MappingProxyType({})


def evaluate(path: str | Path, now: datetime, rev: str | None = None) -> Run:
    """Evaluate a directory (no git needed), or a repository at a revision, at the instant `now`.

    A repository remembers which pulses it has published. A directory does not, so its pulses depend on generations and
    reports alone. It has no agents' refs either: clusters that reported through such refs at the last run keep their
    derived state, with a finding. A past revision is evaluated with what was known then (`muster.git.record.past`). The
    network is never used.

    `now` must carry a time zone; fractions of a second are dropped. Raises `muster.git.errors.RepositoryError` if
    there is nothing to read; mistakes in files are findings.
    """
    if rev is None:
        return evaluate_snapshot(open_snapshot(Path(path)), now)
    repository = open_repository(Path(path), os.environ)
    commit = resolve(repository, rev)
    past = past_of(repository, commit, now, ask=False)
    if past is not None:
        return evaluate_snapshot(snapshot_then(repository, commit, past), now, past.memory)
    return evaluate_snapshot(open_commit(repository, rev), now, Remembered(repository).memory)


def evaluate_snapshot(
    snapshot: Snapshot,
    now: datetime,
    published: Memory = NOTHING_PUBLISHED,
    restless: Mapping[ObjectId, Finding] = NONE_RESTLESS,
    witness: Witness | None = None,
    scope: Scope = WHOLE,
) -> Run:
    """Evaluate a snapshot within a scope; `published` are the earlier pulses.

    The `restless` objects keep their last derived state as if they were broken, each with its finding. A `witness`
    records how expressions were evaluated.
    """
    if now.tzinfo is None:
        raise ValueError("now must carry a time zone, for example datetime.now(timezone.utc)")
    instant = now.astimezone(UTC).replace(microsecond=0)
    with without_collection():
        doing(RunStep.READING)
        fleet = scope.with_rest_of_fleet(with_agent_refs(scope.checked(snapshot), snapshot.agents))
        doing(RunStep.DECIDING)
        return scope.with_earlier_findings(
            decide(replace(fleet, published=published, witness=witness), instant, restless, snapshot.commit)
        )


def decide(fleet: FleetWithPolicies, now: datetime, restless: Mapping[ObjectId, Finding], commit: str | None) -> Run:
    """Decide a fleet, with its agents' reports, at a whole second; the `restless` objects keep their derived state.

    Held effects are sorted by object, whether they are decided now or are from the last run.
    """
    broken, findings = fleet.broken | restless.keys(), (*fleet.findings, *restless.values())
    decided = pipeline.run(replace(fleet, broken=broken, findings=findings), now)
    fleet = decided.fleet
    held = tuple(
        sorted(fleet.held, key=lambda effect: (effect.object, effect.effect, effect.because.rule, effect.reason))
    )
    return Run(replace(fleet, held=held), now, commit, decided.terms, decided.failed)
