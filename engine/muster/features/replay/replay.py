"""A replay: what policies would have decided over past commits, and where that differs from what was committed.

Every run that committed something is made again, at its own instant, over what people had committed by then and over
what the replay itself had derived before: so it shows what would have become of the fleet, and not only what each run
would have said. Runs that had nothing to commit left no trace and are not made again.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND, POLICIES
from muster.data.locations import FOLDER
from muster.data.snapshot import Agents
from muster.data.source import Layer
from muster.data.times import format_time
from muster.data.tree import Tree, dig
from muster.data.yaml.loader import first_body
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
    """Something of an object that was committed one way and would have been decided another, from the run at `since`
    until that at `until`; None: still at the last one. Empty texts mean: not at all."""

    object: ObjectId
    field: str
    since: datetime
    until: datetime | None
    committed: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many runs were replayed, and the differences, by object and time. `unheard`: clusters speak through refs of
    their own, whose past no history has, and stayed as they were."""

    runs: int
    differences: tuple[Difference, ...]
    unheard: bool = False


_NOBODY: Final = AgentRefs((), Agents())


def replay(
    repository: Repository, start: str, end: str, policies: str, files: Mapping[str, bytes] | None = None
) -> Replayed:
    """Make the runs after the commit `start` up to `end` again, by the policies of the commit `policies`; `files` lie
    over those. NotSupposable for a file that cannot be read."""
    runs = list(_runs(repository, start, end))
    with rehearsal(repository, start, _NOBODY) as trial:
        fixed = _policies(repository, (start, end, policies))
        trial.suppose({("", path): blob_at(repository, policies, path) for path in fixed})
        fixed.update(path for _, path in _put(trial, files or {}))
        found, at, heard = _Differences(), start, True
        with closing(Objects(trial.repository.git)) as objects:  # which also reads those that it borrows
            for run in runs:
                trial.suppose(_inputs(repository, objects, at, run.commit, fixed))
                settled = trial.step(run.now)
                heard = heard and not settled.first.fleet.refs.unheard
                found.look(trial, objects, run)
                at = run.commit
    return Replayed(len(runs), found.all, unheard=not heard)


def _runs(repository: Repository, start: str, end: str) -> Iterator[EngineCommit]:
    log = read_log(repository, f"{start}..{end}", first_parent=True, oldest_first=True)
    with closing(EngineCommits(repository, end)) as engine:
        yield from filter(None, engine.of([one.commit for one in log]))


def _policies(repository: Repository, commits: tuple[str, ...]) -> set[str]:
    """The files in which any of these commits has policies."""
    found = set[str]()
    for commit in dict.fromkeys(commits):
        with CommitSnapshot(repository, commit, (), Agents()) as snapshot:
            for id_, obj in assemble(snapshot).objects.items():
                if any(kind.has(id_) for kind in POLICIES):
                    found.update(part.source.path for part in obj.parts if part.layer is Layer.INPUT)
    return found


def _put(trial: Rehearsal, files: Mapping[str, bytes]) -> Edits:
    """Have the policies in some files take the place of those that are called the same. Returns what that changed."""
    if not files:
        return {}
    with CommitSnapshot(trial.repository, trial.commit, (), Agents()) as snapshot:
        supposition = Supposition(assemble(snapshot))
        for name, data in files.items():
            supposition.put(name, data)
        edits = supposition.edits
    trial.suppose(edits)
    return edits


def _inputs(
    repository: Repository, objects: Objects, old: str, new: str, ruling: Collection[str]
) -> dict[tuple[str, str], bytes | None]:
    """What people changed between two commits, the policies left out."""
    return {
        ("", change.path): None if change.new is None else required_file(objects, change.path, change.new.oid).read()
        for change in changed_paths(repository, old, new)
        if not change.path.startswith(FOLDER) and change.path not in ruling
    }


class _Differences:
    """The differences so far: those that are over, and those that stand."""

    def __init__(self) -> None:
        self._over: list[Difference] = []
        self._standing: dict[tuple[ObjectId, str], Difference] = {}

    @property
    def all(self) -> tuple[Difference, ...]:
        """All of them."""
        return tuple(sorted((*self._over, *self._standing.values()), key=lambda d: (d.object, d.since, d.field)))

    def look(self, trial: Rehearsal, objects: Objects, run: EngineCommit) -> None:
        """Compare what the replay has derived with what was committed."""
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
    """What is another in the replay than in a commit; not times, or anything else that no fact tells of."""
    for change in changed_paths(trial.repository, commit, trial.commit):
        if not change.path.startswith(FOLDER):
            continue
        was = first_body(required_file(objects, change.path, change.old.oid).read(), FOLDER) if change.old else None
        would = first_body(required_file(objects, change.path, change.new.oid).read(), FOLDER) if change.new else None
        id_ = _id(would if would is not None else was)
        if id_ is not None and was != would:
            yield from (c for c in object_changes(id_, was, would, lambda _: "") if c.fact.sort not in UNTOLD)


def _id(body: Tree) -> ObjectId | None:
    kind = BY_GROUP_KIND.get((str(dig(body, "apiVersion")).rpartition("/")[0], str(dig(body, "kind"))))
    name, namespace = dig(body, "metadata", "name"), dig(body, "metadata", "namespace")
    return kind.id(str(name), str(namespace or "")) if kind is not None and name else None


def replay_text(found: Replayed) -> str:
    """Return a table by object and time, and a line that sums up."""
    runs = f"{found.runs} run{'' if found.runs == 1 else 's'} replayed"
    if not found.differences:
        return f"{runs}: all would have been decided as it was.\n"
    rows = [
        [str(d.object), d.field, format_time(d.since), format_time(d.until) if d.until else "-", d.committed or "-",
         d.replayed or "-"]
        for d in found.differences
    ]  # fmt: skip
    count = len(found.differences)
    table = table_text(["OBJECT", "WHAT", "FROM", "UNTIL", "COMMITTED", "WOULD HAVE BEEN"], rows)
    return f"{table}\n{runs}: {count} difference{'' if count == 1 else 's'}.\n"


def replay_document(found: Replayed) -> Tree:
    """Return the same as data."""
    return {
        "runs": found.runs,
        "unheard": found.unheard,
        "differences": [
            {
                "object": object_document(d.object),
                "field": d.field, "since": format_time(d.since), "until": format_time(d.until) if d.until else None,
                "committed": d.committed or None, "replayed": d.replayed or None,
            }
            for d in found.differences
        ],
    }  # fmt: skip
