"""Checking what is staged: what the next commit touches, and nothing else, where an earlier check has left a state.

The state is one of checks: it says where everything lies and what is wrong with it, and nothing is decided. It is of
the commit on which the index is built; neighbourhoods of which a file is staged are looked at again at every check.
"""

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muster.engine.collector import without_collection
from muster.engine.question import Question, Touched, WholeNeeded, data_of
from muster.gitio.changes import changed_paths, staged_changes
from muster.gitio.errors import RepositoryError
from muster.gitio.hearing import Heard
from muster.gitio.index import IndexSnapshot
from muster.gitio.pulse_memory import Remembered
from muster.gitio.repository import Repository
from muster.gitio.snapshot import CommitSnapshot
from muster.model.snapshot import Agents
from muster.model.tree import Tree

if TYPE_CHECKING:
    from muster.engine.state import Home, State
    from muster.fleet.fleet import Fleet
    from muster.gitio.agents import AgentRef
    from muster.model.finding import Finding
    from muster.policy.ruled import Ruled

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Staged(Question):
    """The question what is wrong with the index; `commit` is that on which it is built."""

    def snapshot(
        self,
        only: Collection[str] | None = None,
        refs: "Collection[AgentRef] | None" = None,  # noqa: ARG002 - the index has none
    ) -> IndexSnapshot:
        """What is staged; of the paths named, where not all are looked at. Nobody's refs are."""
        return IndexSnapshot(self.repository, only)


def staged_fleet(repository: Repository, state: "State | None") -> "tuple[Ruled, int]":
    """Return what is staged, checked: as far as it depends on what the next commit touches, where `state` knows the
    rest, else the whole of it (`Fleet.partial` says which). Also how many objects there are in all."""
    head = repository.git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if state is not None and head:
        asked = Staged(repository, head, Heard((), Agents()), _ALWAYS, Remembered(repository))
        try:
            with without_collection():
                return _part(asked, state)
        except (WholeNeeded, RepositoryError):
            pass
        except Exception:  # noqa: BLE001, S110 - whatever is wrong with a part, the whole is checked by itself
            pass
        fleet = _whole(asked, state)
        return fleet, len(fleet.objects)
    from muster.engine.evaluate import check_snapshot

    base = CommitSnapshot(repository, head) if head else None
    fleet = check_snapshot(IndexSnapshot(repository), base)
    return fleet, len(fleet.objects)


def _part(asked: Staged, state: "State") -> "tuple[Ruled, int]":
    from muster.decide.removals import removals
    from muster.engine.part import Part, Reach
    from muster.fleet.assemble import assemble
    from muster.fleet.hearing import proposed

    facts = state.facts()
    if facts is None:
        raise WholeNeeded("nothing was checked by this version")
    paths = set(data_of(staged_changes(asked.repository, asked.commit)))
    if facts["commit"] != asked.commit:
        paths.update(data_of(changed_paths(asked.repository, facts["commit"], asked.commit)))
    there, unknown = state.of_files(paths)
    touched = Touched(frozenset(there | state.due(0)), frozenset(unknown), frozenset(), frozenset(paths))

    def base(only: Collection[str]) -> "Fleet":
        with CommitSnapshot(asked.repository, asked.commit, only=only) as before:
            return assemble(before)

    found = Part(asked, state, facts, touched, touched.homes, Reach.NEAR, decides=False).check(base)
    fleet = found.fleet
    if removals(replace(fleet, broken=fleet.broken.union(proposed(fleet))), asked.now).gone:
        raise WholeNeeded("clusters are removed, which many at once may not be")
    _keep(state, asked, found.kept.homes, found.totals, found.loose, found.gone)
    return fleet, found.totals["objects"]


def _whole(asked: Staged, state: "State") -> "Ruled":
    from muster.check.validate import validate
    from muster.engine.answer import beyond_record
    from muster.engine.homes import keep
    from muster.fleet.assemble import assemble
    from muster.model.kinds import FLEET

    with without_collection(), CommitSnapshot(asked.repository, asked.commit) as below, asked.snapshot() as index:
        before = assemble(below)
        fleet = validate(assemble(index), before)
        if fleet.settings.obeyed and any(FLEET.has(id_) for id_ in fleet.broken):
            return validate(assemble(index, obeying=False), before)
        if beyond_record(fleet, fleet.findings):
            return fleet
        staged = {change.path for change in staged_changes(asked.repository, asked.commit)}
        kept = keep(fleet, None, asked.now, fleet.findings, written=staged, there=before.parts)
        _keep(state, asked, kept.homes, kept.totals, kept.loose, None)
    return fleet


def _keep(
    state: "State", asked: Staged, homes: "Collection[Home]", totals: Mapping[str, int],
    loose: "Collection[Finding]", gone: frozenset[int] | None,
) -> None:  # fmt: skip
    from muster.engine.records import put_findings

    facts: dict[str, Tree] = {
        "commit": asked.commit, "now": 0, "totals": {name: n for name, n in sorted(totals.items()) if n},
        "loose": put_findings(loose), "lease floor": 0, "holds": False,
    }  # fmt: skip
    try:
        state.replace(facts, homes, gone)
    except sqlite3.Error:
        return
