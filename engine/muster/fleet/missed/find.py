"""Finding what is missed.

An object is removed by deleting its file, or its document. A file that is still there and is empty, broken, ignored,
a link, or of kinds that nobody knows is a slip: what it held stays as it was derived, and an error says so.

What a file held is a matter of history: the tree of the last run's commit, as the snapshot's `past` hands it in. Where
there is none, the derived state says which objects are missed and the file's own name which of them it was: a file
`clusters/prod-eu-1.yaml`, or a `cluster.yaml` in a folder of that name. An empty file without such a name may have
held any of them, and then nothing is taken for gone.

A file in which something does not say what it is, is compared likewise: it may hold what it held, and whatever is
nowhere else any more. All else goes on; only without a history may such a file hold anything.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from muster.data.finding import Finding, Severity
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, kind_of
from muster.data.snapshot import Snapshot
from muster.data.source import Part
from muster.data.tree import Tree
from muster.fleet.missed.allowed import allowed_removals
from muster.fleet.missed.guesses import by_guess
from muster.fleet.missed.history import accounted_for, by_history
from muster.fleet.missed.names import by_name
from muster.fleet.missed.search import Search
from muster.fleet.missed.slips import NO_SLIPS, Slips
from muster.fleet.reading import Reading

#: Why a file that is there was not read.
_LEFT_OUT = frozenset(("symlink", "submodule", "conflict"))


@dataclass(frozen=True, slots=True)
class Missed:
    """What is kept on account of slips: `broken` objects, parts that stand in for some of them, and the findings.

    `unidentified`: there is a file that may hold any object, and no history says which.
    `since` is the commit of the last run that found every file whole, where that is known and some file is not;
    `allowed` are the clusters that a commit removed which says that it means to; `idle` what such commits say that
    names no cluster they remove.
    """

    broken: frozenset[ObjectId]
    slips: Slips
    stand_ins: tuple[Part, ...]
    findings: tuple[Finding, ...]
    unidentified: bool
    since: str = ""
    allowed: frozenset[ObjectId] = frozenset()
    idle: tuple[str, ...] = ()


def find_missed(
    snapshot: Snapshot, reading: Reading, previous: Mapping[ObjectId, Tree], declared: Collection[ObjectId],
    *, partial: bool = False,
) -> Missed:  # fmt: skip
    """Return what is missed: `declared` are the objects that sound inputs declare, `previous` those of the last run.

    `partial`: these are some of the fleet, and an object that is not in `previous` is in the rest.
    """
    past = snapshot.past
    search = Search(reading, previous, declared, past, partial)
    stand_ins = tuple(part for part in reading.stand_ins if part.id not in declared)
    search.broken.update(part.id for part in stand_ins)
    for origin, guess in reading.guesses:
        by_guess(search, origin, guess)
    left_out = [skip for skip in snapshot.skipped if skip.reason in _LEFT_OUT and not skip.ref]
    ignored = snapshot.ignored
    if reading.suspects or left_out or ignored:
        if past is not None:
            by_history(search, past, left_out, ignored)
        if (past is None or not past.commit) and not search.unclear and search.missing():
            by_name(search, left_out, ignored)
    unidentified = bool(search.unclear) and not accounted_for(search, past)
    broken = frozenset(search.broken)
    since = past.commit if past is not None and (broken or reading.broken or unidentified) else ""
    allowed, idle = allowed_removals(past.allowances if past is not None and _any_cluster_is_gone(search) else ())
    elsewhere = unidentified or past is None or not past.commit or bool(reading.guesses or left_out or ignored)
    slips = _slips(reading, search, broken, elsewhere=elsewhere)
    return Missed(broken, slips, stand_ins, tuple(search.findings), unidentified, since, allowed, idle)


def _slips(reading: Reading, search: Search, broken: frozenset[ObjectId], *, elsewhere: bool) -> Slips:
    if not (reading.slipped or broken or search.findings or search.unclear or search.unsure):
        return NO_SLIPS
    ids = broken | reading.broken
    errors = (found.file for found in reading.findings if found.severity is Severity.ERROR)
    files = {*errors, *(found.file for found in search.findings), *search.unclear}
    files.update(part.source.path for part in reading.stand_ins if not part.source.ref)
    # An object without a derived part, such as a Remedy, has no neighbourhood that the next run could look up.
    unheld = any(id_ not in search.previous for id_ in ids)
    return Slips(frozenset(file for file in files if file), ids, elsewhere or unheld or search.unsure)


def _any_cluster_is_gone(search: Search) -> bool:
    there = (search.declared, search.broken, search.reading.broken)
    return any(id_ for id_ in search.previous if kind_of(id_) in CLUSTERS and not any(id_ in known for known in there))
