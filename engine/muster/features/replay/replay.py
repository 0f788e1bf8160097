"""A replay: what policies would have decided over past commits, and how that differs from what was committed.

Every run that committed something is repeated at its own instant, with the inputs at that time and the state that the
replay itself has derived: so it shows how the whole fleet would have developed, not only each single run. Runs without
a commit left no trace and are not repeated.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, POLICIES, ROLLOUT, id_of_body, of_kinds
from muster.data.locations import FOLDER, is_projected
from muster.data.snapshot import Agents
from muster.data.source import Layer
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.features.replay.strategy import (
    ReplayedStrategies,
    RolloutReplay,
    is_of_strategy,
    strategies_of,
    strategies_text,
    strategy_document,
)
from muster.features.whatif.rehearsal import Rehearsal, rehearsal
from muster.features.whatif.supposing import Edits, Supposition
from muster.fleet.assemble import assemble
from muster.git.agentrefs import AgentRefs
from muster.git.changes import changed_paths
from muster.git.enginecommits import EngineCommit, EngineCommits
from muster.git.entries import required_file
from muster.git.log import read_log
from muster.git.objects import Objects
from muster.git.repository import Repository, blob_at
from muster.git.snapshot import CommitSnapshot
from muster.run.change import Change
from muster.run.changes import object_changes
from muster.run.facts import UNTOLD


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that the replay decided differently, from the run at `since` to the one at `until`; None: to the last
    one. Empty texts mean that the field is absent."""

    object: ObjectId
    field: str
    since: datetime
    until: datetime | None
    committed: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many runs were replayed, and the differences, by object and time. `unheard`: some clusters have agent refs,
    which have no history, and were not replayed."""

    runs: int
    differences: tuple[Difference, ...]
    unheard: bool = False
    rollouts: tuple[RolloutReplay, ...] = ()


_NOBODY: Final = AgentRefs((), Agents())
_CLUSTERS: Final = f"{FOLDER}{MANAGED_CLUSTER.folder}/"
_ROLLOUTS: Final = f"{FOLDER}{ROLLOUT.folder}/"


def replay(
    repository: Repository, start: str, end: str, policies: str, files: Mapping[str, bytes] | None = None
) -> Replayed:
    """Repeat the runs after the commit `start` up to `end`, with the policies of the commit `policies`, some of them
    replaced by `files`, which may also have Rollouts with other strategies. NotSupposable for a malformed file."""
    runs = list(_runs(repository, start, end))
    given, files = strategies_of(files or {})
    with rehearsal(repository, start, _NOBODY) as trial:
        fixed = _policies(repository, (start, end, policies))
        trial.suppose({("", path): blob_at(repository, policies, path) for path in fixed})
        fixed.update(path for _, path in _put(trial, files))
        found, at, heard = _Differences(), start, True
        objects = trial.repository.objects  # which also reads those that it borrows
        strategies = _strategies(repository, trial, start, runs, given) if given else None
        for run in runs:
            if strategies is not None:
                at = _between(repository, trial, strategies, at, run, fixed)
            edits: Edits = _inputs(repository, objects, at, run.commit, fixed)
            if strategies is not None:
                edits = strategies.changed_edits(edits)
            trial.suppose(edits)
            settled = strategies.step(trial, run.now) if strategies is not None else trial.step(run.now)
            heard = heard and not settled.first.fleet.refs.unheard
            found.look(trial, objects, run)
            at = run.commit
    results = strategies.results() if strategies is not None else ()
    differences = tuple(one for one in found.all if not is_of_strategy(one.object, one.field, given))
    return Replayed(len(runs), differences, unheard=not heard, rollouts=results)


def _strategies(
    repository: Repository, trial: Rehearsal, start: str, runs: Sequence[EngineCommit], given: Mapping[ObjectId, Tree]
) -> ReplayedStrategies:
    """Read what happened in fact, and put the strategies into the fleet at the start."""
    snapshot = CommitSnapshot(trial.repository, trial.commit, (), Agents())
    fleet = assemble(snapshot)
    strategies = ReplayedStrategies(given, Supposition(fleet))
    at_start = [(id_.name, fleet.previous[id_]) for id_ in of_kinds(fleet.previous, MANAGED_CLUSTER)]
    for id_ in of_kinds(fleet.previous, ROLLOUT, MANAGED_CLUSTER):
        strategies.see_fact(id_, fleet.previous[id_])
    paths = {
        part.source.path for id_ in given if (obj := fleet.objects.get(id_)) is not None
        for part in obj.parts if part.layer is Layer.INPUT
    }  # fmt: skip
    trial.suppose({("", path): strategies.changed(data) for path in paths
                   if (data := blob_at(trial.repository, trial.commit, path)) is not None})  # fmt: skip
    at, objects = start, repository.objects
    for run in runs:
        changes = changed_paths(repository, at, run.commit)
        for change in sorted(changes, key=lambda change: not change.path.startswith(_ROLLOUTS)):
            if change.new is None:
                continue
            data = required_file(objects, change.path, change.new.oid).read()
            if change.path.startswith((_CLUSTERS, _ROLLOUTS)):
                body = first_body(data, FOLDER)
                if (seen := id_of_body(body)) is not None:
                    strategies.see_fact(seen, body)
            elif not change.path.startswith(FOLDER):
                strategies.see_input(data, run.now)
        at = run.commit
    for cluster, body in at_start:
        strategies.begin(cluster, body)
    return strategies


def _between(
    repository: Repository, trial: Rehearsal, strategies: ReplayedStrategies, at: str, run: EngineCommit,
    fixed: Collection[str],
) -> str:  # fmt: skip
    """Make the runs before one of the past that the other strategy needs, each with the inputs at its instant. Returns
    the last commit whose inputs are there.

    Inputs that were committed by a clock that is not the runs' are as of the next run.
    """
    if strategies.now is None:
        return at
    log = read_log(repository, f"{at}..{run.commit}", first_parent=True, oldest_first=True)
    pending = [(one.commit, one.committed) for one in log if one.commit != run.commit]
    while (due := strategies.due) is not None and due < run.now:
        while pending and strategies.now < pending[0][1] <= due:
            commit, _ = pending.pop(0)
            trial.suppose(strategies.changed_edits(_inputs(repository, trial.repository.objects, at, commit, fixed)))
            at = commit
        strategies.step(trial, due)
    return at


def _runs(repository: Repository, start: str, end: str) -> Iterator[EngineCommit]:
    log = read_log(repository, f"{start}..{end}", first_parent=True, oldest_first=True)
    engine = EngineCommits(repository, end)
    yield from filter(None, engine.of([one.commit for one in log]))


def _policies(repository: Repository, commits: tuple[str, ...]) -> set[str]:
    """The files with policies in any of these commits."""
    found = set[str]()
    for commit in dict.fromkeys(commits):
        snapshot = CommitSnapshot(repository, commit, (), Agents())
        for id_, obj in assemble(snapshot).objects.items():
            if any(kind.has(id_) for kind in POLICIES):
                found.update(part.source.path for part in obj.parts if part.layer is Layer.INPUT)
    return found


def _put(trial: Rehearsal, files: Mapping[str, bytes]) -> Edits:
    """Replace policies by those of the same name in files. Returns the edits."""
    if not files:
        return {}
    snapshot = CommitSnapshot(trial.repository, trial.commit, (), Agents())
    supposition = Supposition(assemble(snapshot))
    for name, data in files.items():
        supposition.put(name, data)
    edits = supposition.edits
    trial.suppose(edits)
    return edits


def _inputs(
    repository: Repository, objects: Objects, old: str, new: str, ruling: Collection[str]
) -> dict[tuple[str, str], bytes | None]:
    """The edits of people between two commits, without policies."""
    return {
        ("", change.path): None if change.new is None else required_file(objects, change.path, change.new.oid).read()
        for change in changed_paths(repository, old, new)
        if not change.path.startswith(FOLDER) and change.path not in ruling
    }


class _Differences:
    """The differences so far: `_over` have ended, `_standing` continue."""

    def __init__(self) -> None:
        self._over: list[Difference] = []
        self._standing: dict[tuple[ObjectId, str], Difference] = {}

    @property
    def all(self) -> tuple[Difference, ...]:
        """All of them."""
        return tuple(sorted((*self._over, *self._standing.values()), key=lambda d: (d.object, d.since, d.field)))

    def look(self, trial: Rehearsal, objects: Objects, run: EngineCommit) -> None:
        """Compare the replay's derived files with the committed ones."""
        seen = set[tuple[ObjectId, str]]()
        for change in _differing(trial, objects, run.commit):
            key, here = (change.object, change.field), (change.before, change.after)
            seen.add(key)
            standing = self._standing.get(key)
            if standing is not None and (standing.committed, standing.replayed) == here:
                continue
            if standing is not None:
                self._over.append(replace(standing, until=run.now))
            self._standing[key] = Difference(*key, run.now, None, *here)
        for key in self._standing.keys() - seen:
            self._over.append(replace(self._standing.pop(key), until=run.now))


def _differing(trial: Rehearsal, objects: Objects, commit: str) -> Iterator[Change]:
    """The changes from a commit to the replay, without times and others that are not facts."""
    for change in changed_paths(trial.repository, commit, trial.commit):
        if not change.path.startswith(FOLDER) or is_projected(change.path):
            continue
        was = first_body(required_file(objects, change.path, change.old.oid).read(), FOLDER) if change.old else None
        would = first_body(required_file(objects, change.path, change.new.oid).read(), FOLDER) if change.new else None
        id_ = id_of_body(would if would is not None else was)
        if id_ is not None and was != would:
            yield from (c for c in object_changes(id_, was, would, lambda _: "") if c.fact.sort not in UNTOLD)


def replay_text(found: Replayed) -> str:
    """Return what other strategies would have done, a table by object and time, and a summary."""
    return f"{strategies_text(found.rollouts)}\n{_text(found)}" if found.rollouts else _text(found)


def _text(found: Replayed) -> str:
    if not found.runs:
        return "no run of muster made a commit in this range: nothing was replayed\n"
    runs = f"{found.runs} run{'' if found.runs == 1 else 's'} replayed"
    if not found.differences:
        others = "all other" if found.rollouts else "all"
        return f"{runs}: {others} decisions would have been the same.\n"
    rows = [
        [str(d.object), d.field, format_time(d.since), format_time(d.until) if d.until else "-", d.committed or "-",
         d.replayed or "-"]
        for d in found.differences
    ]  # fmt: skip
    count = len(found.differences)
    table = table_text(["OBJECT", "WHAT", "FROM", "UNTIL", "COMMITTED", "WOULD HAVE BEEN"], rows)
    return f"{table}\n{runs}: {count} difference{'' if count == 1 else 's'}.\n"


def replay_document(found: Replayed) -> Tree:
    """Return the replay as JSON data."""
    return {
        "runs": found.runs,
        "unheard": found.unheard,
        **({"rollouts": [strategy_document(one) for one in found.rollouts]} if found.rollouts else {}),
        "differences": [
            {
                "object": object_document(d.object),
                "field": d.field, "since": format_time(d.since), "until": format_time(d.until) if d.until else None,
                "committed": d.committed or None, "replayed": d.replayed or None,
            }
            for d in found.differences
        ],
    }  # fmt: skip
