"""Checking what is not committed yet, in the index or the work tree: where an earlier check has left a state, only what
it changes of the commit on which it is built.

The state is one of checks: it says where everything lies and what is wrong with it, and nothing is decided. It is of
that commit; neighbourhoods in which anything is changed on top of it are looked at again at every check.
"""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from muster.data.finding import Finding
from muster.data.snapshot import Snapshot
from muster.fleet.agent_refs import accepted_by_ref
from muster.fleet.assemble import assemble
from muster.fleet.faults import fell_back
from muster.fleet.fleet import Fleet
from muster.git.changes import PathChange
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.git.snapshot import staged_snapshot
from muster.rules.checks.validate import remedies_only, validate
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.affected import (
    CHANGED,
    NAME_TAKEN,
    Deciding,
    beyond_record,
    require_record,
    touched_since,
)
from muster.run.checking import check_against, is_fleet_broken, require_fleet_sound
from muster.run.collector import without_collection
from muster.run.growing import noticed, read_part
from muster.run.homes import keep
from muster.run.part import LAST_CHECK, FleetPart, Touched
from muster.run.question import Question, WholeNeeded, WorkTreeFiles, tips_of
from muster.run.records import RunInputs, RunRecord, digest
from muster.run.run import Run
from muster.run.state import Home, RunState

if TYPE_CHECKING:
    from muster.git.agentrefs import AgentRefs
    from muster.git.agents import AgentRef

_ALWAYS: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class IndexFiles:
    """The files of the index, which differs from the commit by `changes`. Satisfies `FileSource`."""

    changes: Sequence[PathChange]

    def snapshot(
        self,
        question: Question,
        only: Collection[str] | None,
        refs: "Collection[AgentRef] | None",  # noqa: ARG002
    ) -> AbstractContextManager[Snapshot]:
        """The staged files. The index has no agents."""
        return staged_snapshot(question.repository, only)


def check_question(
    repository: Repository, commit: str, changes: Sequence[PathChange], heard: "AgentRefs | None" = None
) -> Question:
    """The question what is wrong with what is built on a commit: with the work tree and what the agents that were
    `heard` say beside it; with the index if none were."""
    files = IndexFiles(changes) if heard is None else WorkTreeFiles(changes)
    return Question(repository, commit, heard, _ALWAYS, files=files)


def check_uncommitted(
    question: Question, state: RunState | None, files: Collection[str] = ()
) -> tuple[FleetWithPolicies, int]:
    """Return what is not committed yet, checked: what it changes and what lies in `files`, with all that depends on it,
    if `state` knows the rest, else the whole of it (`Fleet.partial` says which). Also how many objects there are in
    all."""
    if state is not None:
        try:
            with without_collection():
                return _check_part(question, state, files)
        except (WholeNeeded, RepositoryError, sqlite3.Error):
            pass
        except Exception as error:  # noqa: BLE001 - the boundary: a full check finds the same
            fell_back("checking a part of the fleet", error)
    fleet = _check_whole(question, state)
    return fleet, len(fleet.objects)


def _check_part(question: Question, state: RunState, files: Collection[str]) -> tuple[FleetWithPolicies, int]:
    from muster.rules.registration.removals import removals  # a full check never asks

    facts = state.facts()
    if facts is None:
        raise WholeNeeded("nothing was checked by this version")
    touched = touched_since(question, state, facts, CHANGED)
    named, _ = state.of_files(files)
    touched |= Touched(frozenset(named))
    part, fleet, before = _read(FleetPart(question, state, facts, touched, touched.homes, rest=LAST_CHECK))
    require_record(fleet, ())
    checked = require_fleet_sound(validate(replace(fleet, beyond=part.beyond(fleet)), before, remedies_only))
    require_record(checked, checked.findings)
    findings = tuple(part.with_the_others(checked))
    own = part.own_findings(findings)
    kept = keep(checked, None, question.now, own, written=touched.labels, there=before.read.parts)
    noticed(part, (NAME_TAKEN,), Deciding(part, Run(checked, question.instant, None), kept))
    checked = replace(checked, findings=findings, beyond=replace(checked.beyond, found=frozenset(part.others)))
    if removals(replace(checked, broken=checked.broken.union(accepted_by_ref(checked))), question.now).gone:
        raise WholeNeeded("clusters are removed, which many at once may not be")
    totals = part.totals(kept)
    _keep(state, question, kept.homes, totals, (*kept.loose, *part.loose), part.chosen)
    return checked, totals["objects"]


def _read(part: FleetPart) -> tuple[FleetPart, Fleet, Fleet]:
    """Read a part, as large as it must be, and the same as it was committed."""
    while True:
        with read_part(part) as (part, _, fleet):
            if fleet is not None:
                break
    with part.question.base(part.paths, part.refs) as below:
        return part, fleet, assemble(below)


def _check_whole(question: Question, state: RunState | None) -> FleetWithPolicies:
    with without_collection(), question.base() as below, question.snapshot() as snapshot:
        before = assemble(below)
        fleet = check_against(snapshot, before)
        if state is not None and not is_fleet_broken(fleet) and not beyond_record(fleet, fleet.findings):
            written = {change.path for change in question.files.changes}
            kept = keep(fleet, None, question.now, fleet.findings, written=written, there=before.read.parts)
            policies = {file.path for home in kept.homes for file in home.files if file.context}
            if written.isdisjoint(policies):  # else what is kept would be of policies that may never be committed
                _keep(state, question, kept.homes, kept.totals, kept.loose, None)
    return fleet


def _keep(
    state: RunState, question: Question, homes: Collection[Home], totals: Mapping[str, int],
    loose: Collection[Finding], gone: frozenset[int] | None,
) -> None:  # fmt: skip
    tips = tips_of(question)
    facts = RunRecord(
        question.commit, totals={name: n for name, n in sorted(totals.items()) if n}, loose=tuple(loose),
        tips_digest=digest(tips.encode()), inputs=RunInputs(tips),
    )  # fmt: skip
    try:
        state.replace(facts, homes, gone)
    except sqlite3.Error:
        return
