"""Checking what is not committed yet, in the index or the work tree: where an earlier check has left a state, only what
it changes of the commit on which it is built.

The state is one of checks: it says where everything lies and what is wrong with it, and nothing is decided. It is of
that commit; neighbourhoods in which anything is changed on top of it are looked at again at every check.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muster.data.finding import Finding
from muster.data.snapshot import Snapshot
from muster.data.tree import Tree
from muster.fleet.agent_refs import accepted_by_ref
from muster.fleet.assemble import assemble
from muster.fleet.faults import fell_back
from muster.git.changes import PathChange
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.git.snapshot import CommitSnapshot, staged_snapshot
from muster.rules.checks.validate import remedies_only, validate
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.answer import beyond_record, require_record
from muster.run.checking import check_against, is_fleet_broken
from muster.run.collector import without_collection
from muster.run.homes import KeptNeighbourhoods, keep
from muster.run.part import PartialRun, RunReach
from muster.run.question import MOST, WholeNeeded, changed, digest, tips_of
from muster.run.records import put_findings
from muster.run.state import Home, RunState

if TYPE_CHECKING:
    from muster.git.agentrefs import AgentRefs
    from muster.git.agents import AgentRef

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class UncommittedQuestion:
    """The question what is wrong with the work tree, and what agents say beside it; with the index where nobody was
    `heard`, which has no agents. `commit` is that on which it is built, and `changes` what it changes of it."""

    repository: Repository
    commit: str
    changes: Sequence[PathChange]
    heard: "AgentRefs | None" = None
    now: datetime = _ALWAYS
    second: int = 0
    most: float = MOST

    @property
    def refs(self) -> "Sequence[AgentRef]":
        """The agents' refs that are read."""
        return () if self.heard is None else self.heard.refs

    def snapshot(
        self, only: Collection[str] | None = None, refs: "Collection[AgentRef] | None" = None
    ) -> AbstractContextManager[Snapshot]:
        """What is there; of the paths and refs named, where not all are looked at."""
        if self.heard is None:
            return staged_snapshot(self.repository, only)

        from muster.git.open import work_tree_snapshot  # the hook asks about the index alone

        return work_tree_snapshot(self.repository, self.heard, self.changes, only, refs)

    def base(self, only: Collection[str] | None = None, refs: "Collection[AgentRef] | None" = None) -> CommitSnapshot:
        """The same of the commit, beside which agents say what they say."""
        heard = self.heard
        agents = None if heard is None else heard.agents
        return CommitSnapshot(self.repository, self.commit, tuple(self.refs if refs is None else refs), agents, only)


def check_uncommitted(
    asked: UncommittedQuestion, state: RunState | None, files: Collection[str] = ()
) -> tuple[FleetWithPolicies, int]:
    """Return what is not committed yet, checked: what it changes and what lies in `files`, with all that depends on it,
    where `state` knows the rest, else the whole of it (`Fleet.partial` says which). Also how many objects there are in
    all."""
    if state is not None:
        try:
            with without_collection():
                return _part(asked, state, files)
        except (WholeNeeded, RepositoryError, sqlite3.Error):
            pass
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a part, the whole is checked by itself
            fell_back("checking a part of the fleet", error)
    fleet = _whole(asked, state)
    return fleet, len(fleet.objects)


@dataclass(frozen=True, slots=True)
class Checked:
    """A part of a fleet with what is wrong in it, and what is to be kept of that: see `Answer`."""

    fleet: FleetWithPolicies
    kept: KeptNeighbourhoods
    totals: Counter[str]
    loose: tuple[Finding, ...]
    gone: frozenset[int]


class CheckedPart(PartialRun[UncommittedQuestion]):
    """A part, checked."""

    def check(self) -> Checked:
        """Check it."""
        while True:
            with self.read() as found:
                if found is not None:
                    fleet = found[1]
                    break
        require_record(fleet, ())
        with self.question.base(self.paths, self.refs) as below:
            before = assemble(below)
        ruled = validate(replace(fleet, beyond=self.beyond(fleet)), before, remedies_only)
        if ruled.settings.obeyed and is_fleet_broken(ruled):
            raise WholeNeeded("the Fleet is broken")
        require_record(ruled, ruled.findings)
        findings = tuple(self.with_the_others(ruled))
        own = self.own_findings(findings)
        kept = keep(ruled, None, self.question.now, own, written=self.touched.labels, there=before.parts)
        self.refuse_names_of_others(kept)
        whole = replace(ruled, findings=findings, beyond=replace(ruled.beyond, found=frozenset(self.others)))
        return Checked(whole, kept, self.totals(kept), (*kept.loose, *self.loose), self.chosen)


def _part(asked: UncommittedQuestion, state: RunState, files: Collection[str]) -> tuple[FleetWithPolicies, int]:
    from muster.rules.registration.removals import removals

    facts = state.facts()
    if facts is None:
        raise WholeNeeded("nothing was checked by this version")
    touched = changed(asked, state, facts)
    named, _ = state.of_files(files)
    touched = replace(touched, homes=touched.homes | named)
    found = CheckedPart(asked, state, facts, touched, touched.homes, RunReach.NEAR).check()
    fleet = found.fleet
    if removals(replace(fleet, broken=fleet.broken.union(accepted_by_ref(fleet))), asked.now).gone:
        raise WholeNeeded("clusters are removed, which many at once may not be")
    _keep(state, asked, found.kept.homes, found.totals, found.loose, found.gone)
    return fleet, found.totals["objects"]


def _whole(asked: UncommittedQuestion, state: RunState | None) -> FleetWithPolicies:
    with without_collection(), asked.base() as below, asked.snapshot() as snapshot:
        before = assemble(below)
        fleet = check_against(snapshot, before)
        if state is not None and not is_fleet_broken(fleet) and not beyond_record(fleet, fleet.findings):
            written = {change.path for change in asked.changes}
            kept = keep(fleet, None, asked.now, fleet.findings, written=written, there=before.parts)
            policies = {file.path for home in kept.homes for file in home.files if file.context}
            if written.isdisjoint(policies):  # else what is kept would be of policies that nobody may ever commit
                _keep(state, asked, kept.homes, kept.totals, kept.loose, None)
    return fleet


def _keep(
    state: RunState, asked: UncommittedQuestion, homes: Collection[Home], totals: Mapping[str, int],
    loose: Collection[Finding],
    gone: frozenset[int] | None,
) -> None:  # fmt: skip
    tips = tips_of(asked)
    facts: dict[str, Tree] = {
        "commit": asked.commit, "now": 0, "totals": {name: n for name, n in sorted(totals.items()) if n},
        "loose": put_findings(loose), "lease floor": 0, "holds": [], "tips": tips,
        "tips digest": digest(tips),
    }  # fmt: skip
    try:
        state.replace(facts, homes, gone)
    except sqlite3.Error:
        return
