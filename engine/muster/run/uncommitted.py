"""Checking uncommitted files, of the index or the work tree. With the state of an earlier check, only what they change.

The state of checks says in which files everything is and what is wrong with it; nothing is decided. It describes the
commit below; neighbourhoods with changes on top of that are checked again each time.
"""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from muster.data.finding import Finding
from muster.data.kinds import is_cluster, kind_of
from muster.data.snapshot import Snapshot
from muster.fleet.acceptance import is_declared
from muster.fleet.agent_refs import accepted_by_ref
from muster.fleet.assemble import assemble
from muster.fleet.faults import fell_back
from muster.fleet.fleet import Beyond, Fleet
from muster.git.changes import PathChange
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.git.snapshot import staged_snapshot
from muster.rules.checks.validate import every_policy, remedies_only, validate
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
from muster.run.homes import CONTEXT, keep
from muster.run.part import LAST_CHECK, FleetPart, Touched
from muster.run.question import FileSource, Question, Refs, WholeNeeded, read_work_tree, tips_of
from muster.run.records import RunInputs, RunRecord, digest
from muster.run.run import Run
from muster.run.state import Home, RunState

if TYPE_CHECKING:
    from muster.git.agentrefs import AgentRefs

_ALWAYS: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_index(question: Question, only: Collection[str] | None, _refs: Refs) -> Snapshot:
    """The staged files. The index has no agents."""
    return staged_snapshot(question.repository, only)


def check_question(
    repository: Repository, commit: str, changes: Sequence[PathChange], heard: "AgentRefs | None" = None
) -> Question:
    """Return the question what is wrong with changes on top of a commit: in the work tree with agents' refs in `heard`;
    in the index without."""
    files = FileSource(read_index if heard is None else read_work_tree, changes)
    return Question(repository, commit, heard, _ALWAYS, files=files)


def check_uncommitted(
    question: Question, state: RunState | None, files: Collection[str] = ()
) -> tuple[FleetWithPolicies, int]:
    """Return the checked fleet with the uncommitted changes, and the number of all objects.

    With a `state`, only the changes and `files` are checked, with everything that depends on them; `Fleet.partial` says
    whether that was possible.
    """
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
    facts = state.facts()
    if facts is None:
        raise WholeNeeded("nothing was checked by this version")
    touched = touched_since(question, state, facts, CHANGED)
    named, _ = state.of_files(files)
    touched |= Touched(frozenset(named))
    part, fleet, before = _read(FleetPart(question, state, facts, touched, touched.homes, rest=LAST_CHECK))
    require_record(fleet, ())
    beyond = part.beyond(fleet)
    compiled = every_policy if _has_policies(fleet, beyond) else remedies_only
    checked = require_fleet_sound(validate(replace(fleet, beyond=beyond), before, compiled))
    require_record(checked, checked.findings)
    findings = tuple(part.with_the_others(checked))
    own = part.own_findings(findings)
    kept = keep(checked, None, question.now, own, written=touched.labels, there=before.read.parts)
    noticed(part, (NAME_TAKEN,), Deciding(part, Run(checked, question.instant, None), kept))
    checked = replace(checked, findings=findings, beyond=replace(checked.beyond, found=frozenset(part.others)))
    if _loses_clusters(checked):
        from muster.rules.registration.removals import removals

        if removals(replace(checked, broken=checked.broken.union(accepted_by_ref(checked))), question.now).gone:
            raise WholeNeeded("clusters are removed, which many at once may not be")
    totals = part.totals(kept)
    _keep(state, question, kept.homes, totals, (*kept.loose, *part.loose), part.chosen)
    return checked, totals["objects"]


def _has_policies(fleet: Fleet, beyond: Beyond) -> bool:
    """Are policies among the objects that are checked, so that their findings replace those of the last check?"""
    return any(kind_of(id_) in CONTEXT for id_ in (fleet.objects.keys() | fleet.broken) - beyond.standing)


def _loses_clusters(fleet: Fleet) -> bool:
    """Is a cluster of the last run not in the fleet any more, or only in an agent's reports?"""
    clusters = ((id_, before) for id_, before in fleet.previous.items() if is_cluster(id_))
    return not all(is_declared(id_, fleet.objects.get(id_), before) for id_, before in clusters)


def _read(part: FleetPart) -> tuple[FleetPart, Fleet, Fleet]:
    """Read a part, as large as it must be, and its committed files."""
    while True:
        part, _, fleet = read_part(part)
        if fleet is not None:
            break
    below = part.question.base(part.paths, part.refs)
    return part, fleet, assemble(below)


def _check_whole(question: Question, state: RunState | None) -> FleetWithPolicies:
    with without_collection():
        before = assemble(question.base())
        fleet = check_against(question.snapshot(), before)
        if state is not None and not is_fleet_broken(fleet) and not beyond_record(fleet, fleet.findings):
            written = {change.path for change in question.files.changes}
            kept = keep(fleet, None, question.now, fleet.findings, written=written, there=before.read.parts)
            policies = {file.path for home in kept.homes for file in home.files if file.context}
            if written.isdisjoint(policies):  # else the state would depend on policies that may never be committed
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
        slips=(sorted({change.path for change in question.files.changes}), []),
    )  # fmt: skip
    try:
        state.replace(facts, homes, gone)
    except sqlite3.Error:
        return
