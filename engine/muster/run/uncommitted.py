"""Checking uncommitted files, of the index or the work tree. With the state of an earlier check, only what they change.

The state of checks says in which files everything is and what is wrong with it; nothing is decided. It describes the
commit below; neighbourhoods with changes on top of that are checked again each time.
"""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS, REMEDY, ROLLOUT, is_cluster, kind_of
from muster.data.snapshot import Snapshot
from muster.data.tree import dig
from muster.dataclass import dataclass
from muster.fleet.acceptance import is_declared
from muster.fleet.agent_refs import accepted_by_ref
from muster.fleet.assemble import assemble
from muster.fleet.faults import fell_back, guarded
from muster.fleet.files import loading_once
from muster.fleet.fleet import Beyond, Fleet
from muster.fleet.shared import SET
from muster.git.changes import PathChange
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.git.snapshot import staged_snapshot
from muster.git.trees import count_entries
from muster.rules.admission.judge import judges_removals, reads_users
from muster.rules.checks.of_clusters import references_of_clusters
from muster.rules.checks.validate import every_policy, remedies_only, validate
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import (
    check_against,
    is_fleet_broken,
    require_fleet_sound,
    with_findings,
    with_references,
    with_removals,
)
from muster.run.collector import without_collection
from muster.run.memo.records import RunInputs, RunRecord, digest
from muster.run.memo.state import KnownNeighbourhood, NeighbourhoodRecord, RunState
from muster.run.neighbourhood_records import CONTEXT, NAME, ORPHANS, keep, kind_name
from muster.run.parts.affected import (
    CHANGED,
    NAME_TAKEN,
    READS_DIFFER,
    Affects,
    ChangeRow,
    Deciding,
    require_record,
    touched_since,
)
from muster.run.parts.growing import enlarged_part, read_part
from muster.run.parts.part import LAST_CHECK, CheckedPart, FleetPart, Touched
from muster.run.question import COMMITTED, FileSource, Question, Refs, WholeNeeded, read_work_tree, tips_of
from muster.run.run import Run

if TYPE_CHECKING:
    from muster.git.agents.listing import AgentRefs
    from muster.run.shards.executors import Executor
    from muster.run.shards.workers import Workers

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


@dataclass(frozen=True, slots=True)
class UncommittedCheck:
    """The checked fleet with the uncommitted changes, the number of all its objects, and the findings that the changes
    bring about, if that was asked."""

    fleet: FleetWithPolicies
    count: int
    brought_about: Sequence[Finding] = ()


def check_uncommitted(
    question: Question,
    state: RunState | None,
    files: Collection[str] = (),
    *,
    now: datetime,
    compare: bool = False,
    workers: "Workers | None" = None,
) -> UncommittedCheck:
    """Check the fleet with the uncommitted changes, as of `now`; `compare` it with the commit, too.

    With a `state`, only the changes and `files` are checked, with everything that depends on them; `Fleet.partial` says
    whether that was possible. If it has nothing, the commit is checked first and recorded; in shards, by `workers`, if
    it is large.
    """
    if state is not None:
        try:
            with without_collection():
                return _check_with_state(question, state, files, workers, compare=compare)
        except (WholeNeeded, RepositoryError, sqlite3.Error):
            pass
        except Exception as error:  # noqa: BLE001 - the boundary: a full check finds the same
            fell_back("checking a part of the fleet", error)
    with without_collection():
        return _check_whole(question, now, compare=compare)


def _check_with_state(
    question: Question, state: RunState, files: Collection[str], workers: "Workers | None", *, compare: bool
) -> UncommittedCheck:
    """Check what the changes affect. WholeNeeded if that is not possible, even with a state of this very commit."""
    facts = state.facts()
    if facts is not None:
        try:
            return _check_part(question, state, files, compare=compare)
        except WholeNeeded:
            if facts.commit == question.commit and not facts.slips[0]:
                raise
    _check_commit(question, state, workers)
    return _check_part(question, state, files, compare=compare)


def _check_commit(question: Question, state: RunState, workers: "Workers | None") -> None:
    """Check the commit without the changes, and record what is wrong with it. WholeNeeded if that is not possible."""
    from muster.run.shards.workers import ONE_PER_CORE  # there is a state of most fleets

    committed, workers = replace(question, files=COMMITTED), workers or ONE_PER_CORE
    executor = workers.executor(count_entries(question.repository, question.commit) + len(question.refs))
    if executor is not None:
        try:
            _check_in_shards(committed, state, executor, workers.files)
        except WholeNeeded:
            pass  # of what cannot be checked in shards
        else:
            return
    before = assemble(question.base())
    fleet = with_references(check_against(question.base(), before, read=before), heard=question.hears)
    if is_fleet_broken(fleet):
        raise WholeNeeded("the Fleet is broken")
    _require_checkable(fleet, fleet.findings)
    kept = keep(fleet, None, question.now, fleet.findings, there=before.read.parts)
    _keep(state, committed, fleet, kept.records, kept.totals, kept.loose, None)


def _check_in_shards(question: Question, state: RunState, executor: "Executor", files: int) -> None:
    from muster.run.shards.sharded import check_in_shards  # for large fleets

    done, rest = check_in_shards(question, executor, files, partial(_check, rows=(NAME_TAKEN,)))
    facts = _record(question, done.fleet, done.part.totals(done.kept), (*done.kept.loose, *done.part.loose))
    with contextlib.suppress(sqlite3.Error):
        rest.replaces(state, facts, done.kept.records, done.part.chosen, {})


def _brought_about(now: Iterable[Finding], before: Callable[[], Iterable[Finding]]) -> Sequence[Finding]:
    """The findings of which there are more than before, sorted by place. Lines move, so they do not count."""
    present = {finding for finding in now if finding.code != Code.WAIVER}
    if not present:
        return ()
    earlier = Counter(finding.identity for finding in set(before()))
    later = Counter(finding.identity for finding in present)
    caused = (finding for finding in now if later[finding.identity] > earlier[finding.identity])
    return tuple(sorted(set(caused), key=Finding.sort_key))


def _check_part(question: Question, state: RunState, files: Collection[str], *, compare: bool) -> UncommittedCheck:
    facts = state.facts()
    if facts is None:
        raise WholeNeeded("nothing was checked by this version")
    touched = touched_since(question, state, facts, CHANGED)
    named, unknown = state.of_files(files)
    touched |= Touched(frozenset(named), frozenset(unknown), labels=frozenset(unknown))
    done = _check(FleetPart(question, state, facts, touched, touched.neighbourhoods, rest=LAST_CHECK), AFTER_CHECKING)
    part, kept, base = done.part, done.kept, done.committed
    caused = _brought_about(done.own, lambda: _checked(part, base, base).findings) if compare else ()
    checked = replace(done.fleet, beyond=replace(done.fleet.beyond, found=frozenset(part.others)))
    if _loses_clusters(checked):
        from muster.rules.registration.removals import removals

        if removals(replace(checked, broken=checked.broken.union(accepted_by_ref(checked))), question.now).gone:
            raise WholeNeeded("clusters are removed, which many at once may not be")
    totals = part.totals(kept)
    _keep(state, question, checked, kept.records, totals, (*kept.loose, *part.loose), part.chosen)
    return UncommittedCheck(checked, totals["objects"], caused)


def _check(part: FleetPart, rows: Sequence[ChangeRow[Deciding]]) -> CheckedPart:
    """Check a part, enlarged as far as that turns out to be required. WholeNeeded if the whole fleet must be read."""
    question = part.question
    while True:
        part, fleet, before = _read(part)
        checked = _checked(part, fleet, before)
        _require_checkable(checked, checked.findings)
        findings = tuple(part.with_the_others(checked))
        own_findings = part.own_findings(findings)
        kept = keep(checked, None, question.now, own_findings, there=before.read.parts)
        larger = enlarged_part(part, rows, Deciding(part, Run(checked, question.instant, None), kept))
        if larger is None:
            return CheckedPart(part, replace(checked, findings=findings), own_findings, before, kept)
        part = larger


def _checked(part: FleetPart, fleet: Fleet, base: Fleet) -> FleetWithPolicies:
    """Check what was read of a part. WholeNeeded if the whole fleet must be read for that."""
    require_record(fleet, ())
    beyond = part.beyond(fleet)
    compiled = every_policy if _has_policies(fleet, beyond) else remedies_only
    checked = require_fleet_sound(validate(replace(fleet, beyond=beyond), base, compiled))
    if part.near:
        references = partial(references_of_clusters, checked)
        return with_findings(checked, guarded("checking references", references, "one check is left out"))
    whole = replace(checked, objects={**part.summarised, **checked.objects})
    return replace(checked, findings=with_references(whole, heard=part.question.hears).findings)


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


def _check_whole(question: Question, now: datetime, *, compare: bool) -> UncommittedCheck:
    with loading_once():
        before = assemble(question.base())
        snapshot, read = question.snapshot(), None if question.files.changes else before
        fleet = with_references(check_against(snapshot, before, read=read), heard=question.hears)
    fleet = with_removals(fleet, now)

    def earlier() -> Iterable[Finding]:
        committed = with_references(check_against(question.base(), before, read=before), heard=question.hears)
        return with_removals(committed, now).findings

    return UncommittedCheck(fleet, len(fleet.objects), _brought_about(fleet.findings, earlier) if compare else ())


# -- what else must be checked


def _differ(deciding: Deciding, prefixes: tuple[str, ...]) -> bool:
    """Did the first or the last of what totals count come or go?"""
    before, now = deciding.part.facts.totals, deciding.totals
    names = (name for name in before.keys() | now.keys() if name.startswith(prefixes))
    return any(bool(before.get(name)) != bool(now.get(name)) for name in names)


def _sets_differ(deciding: Deciding) -> bool:
    """The labels of any cluster may name a set."""
    return _differ(deciding, (f"{NAME}{SET}",))


def _clusters_differ(deciding: Deciding) -> bool:
    names = [f"kind {kind_name(kind)}" for kind in CLUSTERS]

    def counts(neighbourhoods: Iterable[NeighbourhoodRecord | KnownNeighbourhood]) -> Mapping[str, int]:
        numbers = ((record.name, sum(record.totals.get(name, 0) for name in names)) for record in neighbourhoods)
        return {name: count for name, count in numbers if count}

    return counts(deciding.kept.records) != counts(deciding.part.known.values())


def _orphans_misjudged(deciding: Deciding) -> bool:
    """Objects beyond the part have no cluster, and those may be other clusters now."""
    orphans = deciding.totals.get(ORPHANS, 0) - deciding.kept.totals.get(ORPHANS, 0)
    return orphans > 0 and _clusters_differ(deciding)


def _read_by_shared(deciding: Deciding) -> bool:
    """What clusters share reads something new, or anything that is part of it changed."""
    part, kept, fleet = deciding.part, deciding.kept, deciding.run.fleet
    if not part.near:
        return False
    if any(record.shared for record in kept.records) or kept.totals.get(ORPHANS):
        return True
    if _differ(deciding, (NAME, "type ")):
        return True
    if any(dig(obj.spec, "clusterAffinity", "clusterNames") for obj in fleet.of(REMEDY)) and _clusters_differ(deciding):
        return True
    digests = {record.name: record.digest for record in kept.records}
    moved = digests != {record.name: record.digest for record in part.known.values()}
    return moved and any(obj.spec.get("stages") for obj in fleet.of(ROLLOUT))


AFTER_CHECKING: Final[tuple[ChangeRow[Deciding], ...]] = (
    READS_DIFFER,
    NAME_TAKEN,
    ChangeRow("a set came or went", Affects.FLEET, _sets_differ),
    ChangeRow("a cluster came or went that an object may be meant for", Affects.FLEET, _orphans_misjudged),
    ChangeRow("a reference may be answered in another way", Affects.SHARED, _read_by_shared),
)


def _require_checkable(fleet: Fleet, findings: Iterable[Finding]) -> None:
    """WholeNeeded if what was found cannot be kept, depends on who would commit, or on what is removed."""
    require_record(fleet, findings)
    if reads_users(fleet) or judges_removals(fleet):
        raise WholeNeeded("an admission policy reads who changed an object, or judges removals")


def _keep(
    state: RunState,
    question: Question,
    fleet: FleetWithPolicies,
    neighbourhoods: Collection[NeighbourhoodRecord],
    totals: Mapping[str, int],
    loose: Collection[Finding],
    gone: frozenset[int] | None,
) -> None:
    with contextlib.suppress(sqlite3.Error):
        state.replace(_record(question, fleet, totals, loose), neighbourhoods, gone)


def _record(
    question: Question, fleet: FleetWithPolicies, totals: Mapping[str, int], loose: Iterable[Finding]
) -> RunRecord:
    tips = tips_of(question)
    return RunRecord(
        question.commit,
        totals={name: n for name, n in sorted(totals.items()) if n},
        loose=tuple(loose),
        reads=fleet.compiled.reads,
        tips_digest=digest(tips.encode()),
        inputs=RunInputs(tips),
        slips=(sorted({change.path for change in question.files.changes}), []),
    )
