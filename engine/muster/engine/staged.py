"""Checking what is staged: what the next commit touches, and nothing else, where an earlier check has left a state.

The state is one of checks: it says where everything lies and what is wrong with it, and nothing is decided. It is of
the commit on which the index is built; neighbourhoods of which a file is staged are looked at again at every check.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muster.check.validate import remedies_only, validate
from muster.engine.answer import beyond_record, require_record
from muster.engine.checking import check_against, check_snapshot, is_fleet_broken
from muster.engine.collector import without_collection
from muster.engine.homes import Kept, keep
from muster.engine.part import Part, Reach
from muster.engine.question import MOST, Touched, WholeNeeded, data_of
from muster.engine.records import put_findings
from muster.engine.state import Home, State
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.fleet.hearing import proposed
from muster.gitio.changes import PathChange, changed_paths
from muster.gitio.errors import RepositoryError
from muster.gitio.index import IndexSnapshot
from muster.gitio.repository import Repository
from muster.gitio.snapshot import CommitSnapshot
from muster.model.finding import Finding
from muster.model.tree import Tree
from muster.policy.ruled import Ruled

if TYPE_CHECKING:
    from muster.gitio.agents import AgentRef

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Staged:
    """The question what is wrong with the index. `commit` is that on which it is built, `changes` what it changes."""

    repository: Repository
    commit: str
    changes: Sequence[PathChange]
    now: datetime = _ALWAYS
    most: float = MOST
    refs: "tuple[AgentRef, ...]" = ()  # the index has none

    def snapshot(
        self,
        only: Collection[str] | None = None,
        refs: "Collection[AgentRef] | None" = None,  # noqa: ARG002 - nobody's are read
    ) -> IndexSnapshot:
        """What is staged; of the paths named, where not all are looked at."""
        return IndexSnapshot(self.repository, only)


def staged_fleet(
    repository: Repository, head: str | None, changes: Sequence[PathChange], state: State | None
) -> tuple[Ruled, int]:
    """Return what is staged, checked: as far as it depends on what the next commit `changes`, where `state` knows the
    rest, else the whole of it (`Fleet.partial` says which). Also how many objects there are in all.

    `head` is the commit on which it is built; None for the first."""
    if state is None or head is None:
        base = CommitSnapshot(repository, head) if head else None
        fleet = check_snapshot(IndexSnapshot(repository), base)
        return fleet, len(fleet.objects)
    asked = Staged(repository, head, changes)
    try:
        with without_collection():
            return _part(asked, state)
    except (WholeNeeded, RepositoryError):
        pass
    except Exception:  # noqa: BLE001, S110 - whatever is wrong with a part, the whole is checked by itself
        pass
    fleet = _whole(asked, state)
    return fleet, len(fleet.objects)


@dataclass(frozen=True, slots=True)
class Checked:
    """A part of a fleet with what is wrong in it, and what is to be kept of that: see `Answer`."""

    fleet: Ruled
    kept: Kept
    totals: Counter[str]
    loose: tuple[Finding, ...]
    gone: frozenset[int]


class CheckedPart(Part[Staged]):
    """A part, checked."""

    def check(self, base: Callable[[Collection[str]], Fleet]) -> Checked:
        """Check it; `base` gives the same files as they were, for rules that speak of changes."""
        while True:
            with self.read() as found:
                if found is not None:
                    fleet = found[1]
                    break
        require_record(fleet, ())
        before = base(self.paths)
        ruled = validate(replace(fleet, beyond=self.beyond(fleet)), before, remedies_only)
        if ruled.settings.obeyed and is_fleet_broken(ruled):
            raise WholeNeeded("the Fleet is broken")
        require_record(ruled, ruled.findings)
        own = self.own_findings(self.with_the_others(ruled))
        kept = keep(ruled, None, self.question.now, own, written=self.touched.labels, there=before.parts)
        self.refuse_names_of_others(kept)
        return Checked(ruled, kept, self.totals(kept), (*kept.loose, *self.loose), self.chosen)


def _part(asked: Staged, state: State) -> tuple[Ruled, int]:
    from muster.decide.removals import removals

    facts = state.facts()
    if facts is None:
        raise WholeNeeded("nothing was checked by this version")
    paths = set(data_of(asked.changes))
    if facts["commit"] != asked.commit:
        paths.update(data_of(changed_paths(asked.repository, facts["commit"], asked.commit)))
    there, unknown = state.of_files(paths)
    touched = Touched(frozenset(there | state.due(0)), frozenset(unknown), frozenset(), frozenset(paths))

    def base(only: Collection[str]) -> Fleet:
        with CommitSnapshot(asked.repository, asked.commit, only=only) as before:
            return assemble(before)

    found = CheckedPart(asked, state, facts, touched, touched.homes, Reach.NEAR).check(base)
    fleet = found.fleet
    if removals(replace(fleet, broken=fleet.broken.union(proposed(fleet))), asked.now).gone:
        raise WholeNeeded("clusters are removed, which many at once may not be")
    _keep(state, asked, found.kept.homes, found.totals, found.loose, found.gone)
    return fleet, found.totals["objects"]


def _whole(asked: Staged, state: State) -> Ruled:
    with without_collection(), CommitSnapshot(asked.repository, asked.commit) as below, asked.snapshot() as index:
        before = assemble(below)
        fleet = check_against(index, before)
        if is_fleet_broken(fleet) or beyond_record(fleet, fleet.findings):
            return fleet
        staged = {change.path for change in asked.changes}
        kept = keep(fleet, None, asked.now, fleet.findings, written=staged, there=before.parts)
        _keep(state, asked, kept.homes, kept.totals, kept.loose, None)
    return fleet


def _keep(
    state: State, asked: Staged, homes: Collection[Home], totals: Mapping[str, int], loose: Collection[Finding],
    gone: frozenset[int] | None,
) -> None:  # fmt: skip
    facts: dict[str, Tree] = {
        "commit": asked.commit, "now": 0, "totals": {name: n for name, n in sorted(totals.items()) if n},
        "loose": put_findings(loose), "lease floor": 0, "holds": False,
    }  # fmt: skip
    try:
        state.replace(facts, homes, gone)
    except sqlite3.Error:
        return
