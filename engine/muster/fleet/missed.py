"""What is missed: objects of the last run that nothing declares any more, though nobody removed them.

An object is removed by deleting its file, or its document. A file that is still there and is empty, broken, ignored,
a link, or of kinds that nobody knows is a slip: what it held stays as it was derived, and an error says so.

What a file held is a matter of history: the tree of the last run's commit, as the snapshot's `past` hands it in. Where
there is none, the derived state says which objects are missed and the file's own name which of them it was: a file
`clusters/prod-eu-1.yaml`, or a `cluster.yaml` in a folder of that name. An empty file without such a name may have
held any of them, and then nothing is taken for gone.

A file in which something does not say what it is, is compared likewise: it may hold what it held, and whatever is
nowhere else any more. All else goes on; only without a history may such a file hold anything.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from muster.fleet import messages
from muster.fleet.heard import is_report
from muster.fleet.reading import DEFAULT_NAMESPACE, Reading, Suspect, read_file
from muster.fleet.sets import BUILT_IN
from muster.fleet.slips import Guess
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.kinds import (
    CLUSTER_DEPLOYMENT,
    CLUSTERS,
    FLEET,
    LEASE,
    MANAGED_CLUSTER_SET,
    PLACEMENT_DECISION,
    REMEDY,
    Kind,
    kind_of,
)
from muster.model.snapshot import Past, Skipped, Snapshot, ignored_of, past_of
from muster.model.source import Layer, Part, SourceFile
from muster.model.tree import Tree, dig, mappings_at

#: Whose derived part says that somebody declares them. Of the others muster makes some of its own.
_OWN_MAKING = frozenset((PLACEMENT_DECISION.name, LEASE.name, FLEET.name))
#: How a file is called that declares a cluster in a folder of the cluster's name.
_CLUSTER_FILES = frozenset(("cluster", *(kind.name.casefold() for kind in CLUSTERS)))
#: Why a file that is there was not read.
_LEFT_OUT = frozenset(("symlink", "submodule", "conflict"))


@dataclass(frozen=True, slots=True)
class Missed:
    """What is kept on account of slips: `broken` objects, parts that stand in for some of them, and the findings.

    `unidentified`: there is a file that may hold any object, and no history says which.
    `since` is the commit of the last run that found every file whole, where that is known and some file is not;
    `allowances` are what the commits since the last run say of removals, where clusters are missed.
    """

    broken: frozenset[ObjectId]
    stand_ins: tuple[Part, ...]
    findings: tuple[Finding, ...]
    unidentified: bool
    since: str = ""
    allowances: tuple[str, ...] = ()


@dataclass
class _Search:
    """The search in progress. `declared` are the objects that sound inputs declare."""

    reading: Reading
    previous: Mapping[ObjectId, Tree]
    declared: Collection[ObjectId]
    past: Past | None
    broken: set[ObjectId] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    unclear: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.unclear = dict(self.reading.unclear)

    @cached_property
    def current(self) -> dict[ObjectId, list[Tree]]:
        """What sound inputs say of each object."""
        return dict(_bodies(self.reading.parts))

    def missing(self) -> list[ObjectId]:
        """The objects of the last run that nothing accounts for so far."""
        known = {*self.previous, *_mentioned(self.previous)}
        return sorted(
            id_
            for id_ in known
            if id_ not in self.declared
            and id_ not in self.broken
            and id_ not in self.reading.broken
            and _is_declared_by_people(id_, self.previous.get(id_))
        )

    def keep(self, file: str, state: str, ids: Iterable[ObjectId], *, certain: bool) -> None:
        """Keep what a file held, or may have held."""
        lost = sorted(ids)
        # Nobody but those who report say anything of a report: a lost one counts as not sent.
        self.broken.update(id_ for id_ in lost if not is_report(id_))
        if lost and not (state == "broken" and file in self.told):
            self.findings.append(messages.missed(file, state, lost, certain=certain))

    @cached_property
    def told(self) -> frozenset[str]:
        """The files with which something is wrong already."""
        return frozenset(found.file for found in self.reading.findings if found.severity is Severity.ERROR)


def find_missed(
    snapshot: Snapshot, reading: Reading, previous: Mapping[ObjectId, Tree], declared: Collection[ObjectId]
) -> Missed:
    """Return what is missed: `declared` are the objects that sound inputs declare, `previous` those of the last run."""
    past = past_of(snapshot)
    search = _Search(reading, previous, declared, past)
    stand_ins = tuple(part for part in reading.stand_ins if part.id not in declared)
    search.broken.update(part.id for part in stand_ins)
    for origin, guess in reading.guesses:
        _guessed(search, origin, guess)
    left_out = [skip for skip in snapshot.skipped if skip.reason in _LEFT_OUT and not skip.ref]
    ignored = ignored_of(snapshot)
    if reading.suspects or left_out or ignored:
        if past is not None:
            _by_history(search, past, left_out, ignored)
        if (past is None or not past.commit) and not search.unclear and search.missing():
            _by_name(search, left_out, ignored)
    unidentified = bool(search.unclear) and not _accounted_for(search, past)
    broken = frozenset(search.broken)
    since = past.commit if past is not None and (broken or reading.broken or unidentified) else ""
    allowances = past.allowances if past is not None and _any_cluster_is_gone(search) else ()
    return Missed(broken, stand_ins, tuple(search.findings), unidentified, since, allowances)


def _any_cluster_is_gone(search: _Search) -> bool:
    there = (search.declared, search.broken, search.reading.broken)
    return any(id_ for id_ in search.previous if kind_of(id_) in CLUSTERS and not any(id_ in known for known in there))


def _is_declared_by_people(id_: ObjectId, body: Tree) -> bool:
    """Whether an object is in the fleet because somebody declares it; muster makes others of its own accord."""
    if id_.kind in _OWN_MAKING or (id_.kind == MANAGED_CLUSTER_SET.name and id_.name in BUILT_IN):
        return False
    return id_.kind != CLUSTER_DEPLOYMENT.name or dig(body, "spec", "clusterName") is None


def _mentioned(previous: Mapping[ObjectId, Tree]) -> Iterator[ObjectId]:
    """Remedies have no derived part of their own; the clusters on which they act say which there were."""
    for body in previous.values():
        for entry in mappings_at(body, "status", "muster", "remedies"):
            if isinstance(name := entry.get("remedy"), str):
                yield REMEDY.id(name)


# -- documents that lack a line


def _guessed(search: _Search, origin: messages.Origin, guess: Guess) -> None:
    """Keep what a document was meant to be that lacks its `apiVersion`, its `kind` or both."""
    body = origin.document.body
    if not guess.kinds:
        ids = [id_ for id_ in search.missing() if id_.name == guess.name and _same_place(id_, guess)]
        if ids:
            search.broken.update(ids)
            search.findings.append(messages.bears_name(origin, ids))
        return
    missing = (
        "kind" if isinstance(body.get("apiVersion"), str) and not isinstance(body.get("kind"), str) else "apiVersion"
    )
    search.findings.append(messages.incomplete(origin, missing, body, guess.kinds))
    if not guess.name:
        search.unclear[origin.source.path] = origin.source.oid
        return
    candidates = {_id(kind, guess) for kind in guess.kinds}
    known = {id_ for id_ in search.missing() if id_ in candidates}
    search.broken.update(known or candidates.difference(search.declared))


def _id(kind: Kind, guess: Guess) -> ObjectId:
    return kind.id(guess.name, (guess.namespace or DEFAULT_NAMESPACE) if kind.namespaced else "")


def _same_place(id_: ObjectId, guess: Guess) -> bool:
    return not kind_of(id_).namespaced or id_.namespace == (guess.namespace or DEFAULT_NAMESPACE)


# -- with a history


def _by_history(search: _Search, past: Past, left_out: Iterable[Skipped], ignored: Iterable[SourceFile]) -> None:
    """Compare each file in doubt with what the last run read there."""
    current = search.current
    for suspect in search.reading.suspects:
        before = past.before(suspect.source.path, suspect.source.oid)
        if before is None:
            continue
        then = _read(before)
        state = _state(suspect, then)
        if state:
            search.keep(before.path, state, _lost(search, then, current), certain=True)
    for source in ignored:
        if (before := past.before(source.path)) is not None:
            search.keep(source.path, "ignored", _lost(search, _read(before), current), certain=True)
    for skip in left_out:
        there = past.before(skip.path)
        for before in (there,) if there is not None else past.below(skip.path):
            search.keep(before.path, skip.reason, _lost(search, _read(before), current), certain=True)


def _accounted_for(search: _Search, past: Past | None) -> bool:
    """Keep what may be in files that do not say what they hold; False where that is not to be told."""
    if past is None or not past.commit:
        return False
    changed = {path for path, oid in search.unclear.items() if not oid or not past.had(path, oid)}
    if not changed:
        return True  # nothing can have moved into them
    for before in past.changed(search.reading.files):
        then = _read(before)
        if then.unclear:
            return False
        search.broken.update(id_ for id_ in _lost(search, then, search.current) if not is_report(id_))
    return True


def _state(suspect: Suspect, then: Reading) -> str:
    """What is wrong with a file; empty where nothing is but that documents were removed from it."""
    if suspect.blank:
        return "blank"
    if suspect.troubled:
        return "broken"
    known = {stranger for old in then.suspects for stranger in old.strangers}
    return "strange" if suspect.strangers - known else ""


def _read(source: SourceFile) -> Reading:
    reading = Reading()
    read_file(reading, source, Layer.INPUT)
    return reading


def _bodies(parts: Iterable[Part]) -> Iterator[tuple[ObjectId, list[Tree]]]:
    bodies: dict[ObjectId, list[Tree]] = {}
    for part in parts:
        if part.layer is Layer.INPUT:
            bodies.setdefault(part.id, []).append(part.body)
    yield from bodies.items()


def _lost(search: _Search, then: Reading, current: Mapping[ObjectId, list[Tree]]) -> Iterator[ObjectId]:
    """The objects of which a file held a part that is nowhere any more.

    Of a part that only reports, the object does without: its agent is silent, and silence is judged as such.
    """
    for part in then.parts:
        if part.id in search.broken or part.id in search.reading.broken:
            continue
        if (
            search.past is not None
            and search.past.lingers
            and kind_of(part.id).counted
            and part.id not in search.previous
        ):
            continue  # it was removed by a run in between
        declares = "spec" in part.body and not is_report(part.id)
        if part.id not in search.declared or (declares and not _is_covered(part.body, current[part.id])):
            yield part.id


def _is_covered(old: Tree, bodies: Iterable[Tree]) -> bool:
    """Whether every field that a part set is still set by some part: it was moved, not lost."""
    spec = dig(old, "spec")
    now = [dig(body, "spec") for body in bodies]
    if not isinstance(spec, dict):
        return True
    return all(any(isinstance(found, dict) and name in found for found in now) for name in spec)


# -- without one


def _by_name(search: _Search, left_out: Iterable[Skipped], ignored: Iterable[SourceFile]) -> None:
    """Tell by its own name what a file in doubt may have held."""
    blank = [suspect.source.path for suspect in search.reading.suspects if suspect.blank]
    for suspect in search.reading.suspects:
        if not suspect.blank:
            named = [id_ for id_ in search.missing() if _names(suspect.source.path, id_)]
            search.keep(suspect.source.path, "broken" if suspect.troubled else "strange", named, certain=False)
    for skip in left_out:
        named = [id_ for id_ in search.missing() if _names(skip.path, id_)]
        search.keep(skip.path, skip.reason, named, certain=False)
    for source in ignored if search.missing() else ():
        declared = {part.id for part in _read(source).parts}
        search.keep(source.path, "ignored", declared.intersection(search.missing()), certain=False)
    by_name = {path: [id_ for id_ in search.missing() if _names(path, id_)] for path in blank}
    others = set(search.missing()).difference(*by_name.values())
    for path, named in by_name.items():
        search.keep(path, "blank", [*named, *others], certain=False)


def _names(path: str, id_: ObjectId) -> bool:
    """Whether a file is called as the one that declares an object would be."""
    file = PurePosixPath(path)
    if file.stem == id_.name:
        return True
    plain = file.stem.casefold()
    words = _CLUSTER_FILES if kind_of(id_) in CLUSTERS else {id_.kind.casefold(), kind_of(id_).plural}
    return plain in words and file.parent.name == id_.name
