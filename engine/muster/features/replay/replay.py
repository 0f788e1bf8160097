"""A replay with other policies: what they would have decided over past runs, and how that differs from the commits.

Every run that committed something is made again at its own instant, with what people had committed and agents had said
by then, over the state that the replay itself has derived (`rerun`): so it shows how the whole fleet would have
developed, not only each single run.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.ids import ObjectId
from muster.data.kinds import POLICIES, ROLLOUT, id_of_body
from muster.data.locations import FOLDER, is_projected
from muster.data.printable import counted
from muster.data.snapshot import Agents
from muster.data.source import Layer
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.loader import first_body, load_documents
from muster.dataclass import dataclass
from muster.features.replay.past import PastRun, past_between
from muster.features.replay.rerun import UNKNOWN_REFS, Rerun
from muster.features.replay.setting import unanswered
from muster.features.whatif.rehearsal import Rehearsal, rehearsal
from muster.features.whatif.supposing import Edits, NotSupposable, Supposition
from muster.fleet.assemble import assemble
from muster.git.changes import changed_paths
from muster.git.repository import Repository, blob_at
from muster.git.snapshot import CommitSnapshot
from muster.git.store.entries import required_file
from muster.git.store.objects import Objects
from muster.run.facts import UNTOLD
from muster.run.transition import Transition
from muster.run.transitions.transitions import object_changes


@dataclass(frozen=True, slots=True)
class Divergence:
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
    """How many runs were replayed, and the differences, by object and time. `unrecorded`: so many of them have no
    record here, and clusters with agents' branches stayed as they were. `complete`: it was not stopped before the
    end."""

    runs: int
    differences: tuple[Divergence, ...]
    unrecorded: int = 0
    complete: bool = True


def replay(
    repository: Repository,
    start: str,
    end: str,
    policies: str,
    files: Mapping[str, bytes] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Replayed:
    """Make the runs after the commit `start` up to `end` again, with the policies of the commit `policies`, some of
    them replaced by `files`. NotSupposable for a malformed file, or one with a Rollout."""
    past = past_between(repository, start, end).runs
    divergences, runs, unrecorded = _Divergences(), 0, 0
    with rehearsal(repository, start, UNKNOWN_REFS) as trial:
        fixed = _policies(repository, (start, end, policies))
        trial.suppose({("", path): blob_at(repository, policies, path) for path in fixed})
        fixed.update(path for _, path in _put(trial, files or {}))

        def suppose(edited: Rehearsal, edits: Edits) -> None:
            edited.suppose({where: data for where, data in edits.items() if where[1] not in fixed})

        for run in Rerun(repository, trial, suppose, stopped).runs(start, past):
            if run.past is not None:
                divergences.look(trial, trial.repository.objects, run.past)
                runs, unrecorded = runs + 1, unrecorded + (not run.recorded)
    return Replayed(runs, divergences.all, unrecorded, complete=runs == len(past))


def _policies(repository: Repository, commits: tuple[str, ...]) -> set[str]:
    """The files with policies in any of these commits."""
    policies = set[str]()
    for commit in dict.fromkeys(commits):
        snapshot = CommitSnapshot(repository, commit, (), Agents())
        for id_, obj in assemble(snapshot).objects.items():
            if any(kind.has(id_) for kind in POLICIES):
                policies.update(part.source.path for part in obj.parts if part.layer is Layer.INPUT)
    return policies


def _put(trial: Rehearsal, files: Mapping[str, bytes]) -> Edits:
    """Replace policies by those of the same name in files. Returns the edits."""
    if not files:
        return {}
    snapshot = CommitSnapshot(trial.repository, trial.commit, (), Agents())
    supposition = Supposition(assemble(snapshot))
    for name, data in files.items():
        if ROLLOUT.name.encode() in data and any(map(ROLLOUT.has, _objects_in(name, data))):
            raise NotSupposable(f"{name}: {unanswered(ROLLOUT)}")
        supposition.put(name, data)
    edits = supposition.edits
    trial.suppose(edits)
    return edits


def _objects_in(name: str, data: bytes) -> Iterator[ObjectId]:
    """The ids of the objects in a file."""
    bodies = (document.body for document in load_documents(data, name).documents)
    yield from (id_ for body in bodies if (id_ := id_of_body(body)) is not None)


class _Divergences:
    """The differences so far: `_over` have ended, `_standing` continue."""

    def __init__(self) -> None:
        self._over: list[Divergence] = []
        self._standing: dict[tuple[ObjectId, str], Divergence] = {}

    @property
    def all(self) -> tuple[Divergence, ...]:
        """All of them."""
        return tuple(sorted((*self._over, *self._standing.values()), key=lambda d: (d.object, d.since, d.field)))

    def look(self, trial: Rehearsal, objects: Objects, run: PastRun) -> None:
        """Compare the replay's derived files with the committed ones."""
        seen = set[tuple[ObjectId, str]]()
        for change in _differing(trial, objects, run.commit):
            key, here = (change.object, change.field), (change.before, change.after)
            seen.add(key)
            standing = self._standing.get(key)
            if standing is not None and (standing.committed, standing.replayed) == here:
                continue
            if standing is not None:
                self._over.append(replace(standing, until=run.engine.now))
            self._standing[key] = Divergence(*key, run.engine.now, None, *here)
        for key in self._standing.keys() - seen:
            self._over.append(replace(self._standing.pop(key), until=run.engine.now))


def _differing(trial: Rehearsal, objects: Objects, commit: str) -> Iterator[Transition]:
    """The changes from a commit to the replay, without times and others that are not facts."""
    for change in changed_paths(trial.repository, commit, trial.commit):
        if not change.path.startswith(FOLDER) or is_projected(change.path):
            continue
        was = first_body(required_file(objects, change.path, change.old.oid).read(), FOLDER) if change.old else None
        would = first_body(required_file(objects, change.path, change.new.oid).read(), FOLDER) if change.new else None
        id_ = id_of_body(would if would is not None else was)
        if id_ is not None and was != would:
            yield from (c for c in object_changes(id_, was, would, lambda _: "") if c.fact.sort not in UNTOLD)


def replay_text(replayed: Replayed) -> str:
    """Return a table by object and time, and a summary."""
    if not replayed.runs:
        return "no run of muster made a commit in this range: nothing was replayed\n"
    runs = f"{counted(replayed.runs, 'run')} replayed"
    if not replayed.differences:
        return f"{runs}: all decisions would have been the same.\n"
    rows = [
        [
            str(d.object),
            d.field,
            format_time(d.since),
            format_time(d.until) if d.until else "-",
            d.committed or "-",
            d.replayed or "-",
        ]
        for d in replayed.differences
    ]
    count = len(replayed.differences)
    table = table_text(["OBJECT", "WHAT", "FROM", "UNTIL", "COMMITTED", "WOULD HAVE BEEN"], rows)
    return f"{table}\n{runs}: {counted(count, 'difference')}.\n"


def replay_document(replayed: Replayed) -> Tree:
    """Return the replay as JSON data."""
    return {
        "runs": replayed.runs,
        "unrecorded": replayed.unrecorded,
        "complete": replayed.complete,
        "differences": [
            {
                "object": object_document(d.object),
                "field": d.field,
                "since": format_time(d.since),
                "until": format_time(d.until) if d.until else None,
                "committed": d.committed or None,
                "replayed": d.replayed or None,
            }
            for d in replayed.differences
        ],
    }
