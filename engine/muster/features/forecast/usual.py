"""How long clusters usually take: from when they get a revision or a work to when they succeed with it.

The repository knows: each change of a cluster's state is a version of its derived file. A few clusters of each rollout
are read, and the median of all that they took is the usual time.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from statistics import median_low
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, MANIFEST_WORK, MANIFEST_WORK_REPLICA_SET, ROLLOUT, of_kinds
from muster.data.locations import SHARDS, derived_path
from muster.data.times import try_time
from muster.data.tree import Tree, mapping_at
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.git.derivedbranch import derived_commit_of
from muster.git.log import read_log
from muster.git.repository import Repository
from muster.rules.progress.step import PROGRESSING, SUCCEEDED
from muster.rules.stages import ROLLOUTS
from muster.rules.works.work import BOOK, OWNER, owner_label
from muster.rules.works.work import ROLLOUT as STATE

#: Clusters of each rollout whose history is read, and versions of all of them.
_SAMPLE: Final = 10
_VERSIONS: Final = 1000
#: What a step takes at least. A cluster that took no longer had the revision before.
_STEP: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class UsualTime:
    """The median of how long clusters took, and how often that was seen."""

    median: timedelta
    times: int


def usual_times(repository: Repository, commit: str, fleet: Fleet) -> dict[ObjectId, UsualTime]:
    """The usual times of Rollouts and sets of works, up to a commit; without those of which no time is known."""
    times = {}
    for id_ in of_kinds(fleet.objects, ROLLOUT, MANIFEST_WORK_REPLICA_SET):
        files = list(_clusters(fleet, id_) if ROLLOUT.has(id_) else _works(fleet, id_))
        sample = files[:: len(files) // _SAMPLE + 1]
        taken = [time for bodies in _bodies(repository, commit, sample) for time in _taken(bodies, id_)]
        if taken:
            times[id_] = UsualTime(median_low(taken), len(taken))
    return times


def _clusters(fleet: Fleet, rollout: ObjectId) -> Iterator[ObjectId]:
    clusters = sorted(of_kinds(fleet.previous, MANAGED_CLUSTER))
    return (id_ for id_ in clusters if _key(rollout) in mapping_at(fleet.previous[id_], *ROLLOUTS))


def _works(fleet: Fleet, set_: ObjectId) -> Iterator[ObjectId]:
    works = sorted(of_kinds(fleet.previous, MANIFEST_WORK))
    return (
        id_ for id_ in works if mapping_at(fleet.previous[id_], "metadata", "labels").get(OWNER) == owner_label(set_)
    )


def _key(rollout: ObjectId) -> str:
    return f"{rollout.namespace}/{rollout.name}"


def _bodies(repository: Repository, commit: str, ids: Iterable[ObjectId]) -> Iterable[list[Tree]]:
    """The versions of some derived files, each oldest first."""
    paths = {derived_path(id_, shards): id_ for id_ in ids for shards in SHARDS}
    if not paths:
        return ()
    bodies: dict[ObjectId, list[Tree]] = {}
    log = read_log(
        repository,
        derived_commit_of(repository, commit),
        paths=paths,
        first_parent=True,
        changes=True,
        most=_VERSIONS,
        oldest_first=True,
    )
    for change in (change for logged in log for change in logged.changes if change.path in paths and change.new):
        assert change.new is not None
        data = repository.objects.blob(change.new.oid)
        bodies.setdefault(paths[change.path], []).append(first_body(data, change.path))
    return bodies.values()


def _taken(bodies: Iterable[Tree], rollout: ObjectId) -> Iterator[timedelta]:
    """How long one cluster took, each time."""
    of_rollout, revision, began = ROLLOUT.has(rollout), "", None
    for body in bodies:
        book = mapping_at(body, *ROLLOUTS, _key(rollout)) if of_rollout else mapping_at(body, *BOOK, STATE)
        since, state = try_time(book.get("since")), book.get("state")
        got = str(book.get("revision" if of_rollout else "written", ""))
        if got != revision:
            revision = got
            began = try_time(book.get("written")) if not of_rollout else since if state == PROGRESSING else None
        if state == SUCCEEDED and began is not None and since is not None:
            if since - began > _STEP:
                yield since - began
            began = None
