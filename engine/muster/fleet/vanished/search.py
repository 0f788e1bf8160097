"""The search for vanished objects: what existed, what exists, and what is kept so far.

Git history tells what files held at the last run or since: objects that are nowhere now are kept.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import PurePosixPath

from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_DEPLOYMENT,
    CLUSTER_PROFILE,
    CLUSTERS,
    FLEET,
    LEASE,
    MANAGED_CLUSTER_SET,
    PLACEMENT_DECISION,
    REMEDY,
    kind_of,
)
from muster.data.snapshot import Past, Skipped
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet import messages
from muster.fleet.acceptance import ACCEPTED_ON
from muster.fleet.clusters import BUILT_IN
from muster.fleet.files import read_file
from muster.fleet.reading import FilesRead, Suspect
from muster.fleet.report_parts import is_forgotten, report_sections

#: Kinds with derived parts that muster creates without a declaration.
_MADE_BY_MUSTER = frozenset((PLACEMENT_DECISION.name, CLUSTER_PROFILE.name, LEASE.name, FLEET.name))


def read_again(source: SourceFile) -> FilesRead:
    """Read one present or earlier file."""
    reading = FilesRead()
    read_file(reading, source, Layer.INPUT)
    return reading


@dataclass
class Search:
    """The search in progress. `declared`: objects that sound inputs declare; `partial`: in a part of the fleet.

    `unsure`: a suspect file held an object that another file, not read in this run, may declare. `spoiled`: files that
    no longer hold what they held, even if other files declare it now.
    """

    reading: FilesRead
    previous: Mapping[ObjectId, Tree]
    declared: Collection[ObjectId]
    past: Past | None
    partial: bool = False
    broken: set[ObjectId] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    unsure: bool = False
    spoiled: set[str] = field(default_factory=set)
    unclear: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.unclear = dict(self.reading.unclear)

    @cached_property
    def current(self) -> dict[ObjectId, list[Tree]]:
        """The bodies of each object's sound input parts."""
        return grouped((part.id, part.body) for part in self.reading.parts if part.layer is Layer.INPUT)

    def missing(self) -> list[ObjectId]:
        """The objects of the last run that are not accounted for so far."""
        recorded = {*self.previous, *_mentioned(self.previous)}
        return sorted(
            id_
            for id_ in recorded
            if id_ not in self.declared
            and id_ not in self.broken
            and id_ not in self.reading.broken
            and _is_declared_by_people(id_, self.previous.get(id_))
        )

    def keep(self, file: str, state: str, ids: Iterable[ObjectId], *, certain: bool) -> None:
        """Keep what a file held, or may have held."""
        lost = sorted(set(ids))
        # A vanished report counts as not sent.
        self.broken.update(id_ for id_ in lost if not is_forgotten(id_))
        damaged = state in ("broken", "strange")
        if lost and not (damaged and (file in self.files_with_errors or self._blame(file, lost))):
            self.findings.append(messages.vanished(file, state, lost, certain=certain))

    def _blame(self, file: str, lost: Sequence[ObjectId]) -> bool:
        """Make what is wrong with the file an error that names what the file held; False if nothing was found."""
        findings = self.reading.findings
        places = [
            at for at, finding in enumerate(findings) if finding.file == file and finding.code in messages.UNREADABLE
        ]
        for at in places:
            findings[at] = messages.of_lost_objects(findings[at], lost)
        return bool(places)

    def lost(self, earlier: FilesRead, *, of_others: bool = False) -> Iterator[ObjectId]:
        """Yield the objects that a file held and no file declares now. `of_others`: it is not the suspect file.

        A vanished Lease or AdapterReport is not kept: it counts as not sent.
        """
        for part in earlier.parts:
            if not self._is_lost(part):
                continue
            if not self.partial or part.id in self.previous:
                yield part.id
            elif not of_others:  # otherwise a file that was not read declares it
                self.unsure = True

    def _is_lost(self, part: Part) -> bool:
        id_, past = part.id, self.past
        if id_ in self.broken or id_ in self.reading.broken:
            return False
        if past is not None and past.lingers and kind_of(id_).counted and id_ not in self.previous:
            return False  # a run in between removed it
        if id_ not in self.declared:
            return True
        declares = "spec" in part.body and not is_forgotten(id_)
        return self.is_lost_report(part) or (declares and not _is_covered(part.body, self.current[id_]))

    def is_lost_report(self, part: Part) -> bool:
        """Is it a status of a declared object that no readable file reports now? A Lease's counts as not sent."""
        counts = part.id in self.declared and not is_forgotten(part.id) and "status" in report_sections(part)
        return counts and not any("status" in body for body in self.current[part.id])

    @cached_property
    def files_with_errors(self) -> frozenset[str]:
        """The files that already have an error."""
        return frozenset(finding.file for finding in self.reading.findings if finding.severity is Severity.ERROR)


def _is_declared_by_people(id_: ObjectId, body: Tree) -> bool:
    """Do people declare this object, as opposed to muster itself?"""
    if id_.kind in _MADE_BY_MUSTER or (id_.kind == MANAGED_CLUSTER_SET.name and id_.name in BUILT_IN):
        return False
    return id_.kind != CLUSTER_DEPLOYMENT.name or dig(body, "spec", "clusterName") is None


def _mentioned(previous: Mapping[ObjectId, Tree]) -> Iterator[ObjectId]:
    """Remedies have no derived part; the clusters on which they act name them."""
    for body in previous.values():
        for entry in mappings_at(body, "status", "muster", "remedies"):
            if isinstance(name := entry.get("remedy"), str):
                yield REMEDY.id(name)


def _is_covered(old: Tree, bodies: Iterable[Tree]) -> bool:
    """Does some part still set every field of the old part? Then it was moved, not lost."""
    spec = dig(old, "spec")
    now = [dig(body, "spec") for body in bodies]
    if not isinstance(spec, dict):
        return True
    return all(any(isinstance(section, dict) and name in section for section in now) for name in spec)


#: The number of versions of a file to read.
_MOST_VERSIONS = 100


def by_history(search: Search, past: Past, left_out: Iterable[Skipped], ignored: Iterable[SourceFile]) -> None:
    """Compare each suspect file with its earlier content."""
    suspects = {suspect.source.path: suspect for suspect in search.reading.suspects}
    ignored_paths = [source.path for source in ignored]
    before = past.before([*suspects, *ignored_paths])
    for path, suspect in suspects.items():
        content = earlier_content(before.get(path, ()), suspect.source.oid)
        if content is not None and (state := _state(suspect, content)):
            search.spoiled.add(path)
            search.keep(path, state, search.lost(content), certain=True)
    if not past.proven:
        _hidden(search, past, suspects)
    for path in ignored_paths:
        if path in before:
            search.keep(path, "ignored", search.lost(_last_content(before[path])), certain=True)
    for skip in left_out:
        earlier = past.before((skip.path,)) or past.below(skip.path)
        for path, versions in earlier.items():
            search.keep(path, skip.reason, search.lost(_last_content(versions)), certain=True)


#: So many suspect files are looked at beyond the last run.
_MOST_HIDDEN = 50


def _hidden(search: Search, past: Past, suspects: Mapping[str, Suspect]) -> None:
    """Keep what suspect files held before a commit that looks like a run, and that no file declared from then on.

    A run would have said that something was lost. A commit that only looks like one says nothing, so what it claims to
    have read is no proof. An object that another file declared then was moved, and may have been removed since.
    """
    read = [path for path in sorted(suspects) if past.had(path, suspects[path].source.oid)]
    for path, (commit, versions) in past.replaced(read[:_MOST_HIDDEN]).items():
        earlier = _last_content(versions)
        state = _state(suspects[path], earlier)
        lost = {id_ for id_ in search.lost(earlier) if not _was_removed(search, id_)} if state else set()
        if lost:
            lost -= {part.id for file in past.changed_since(commit) for part in read_again(file).parts}
        search.keep(path, state, lost, certain=True)


def _was_removed(search: Search, id_: ObjectId) -> bool:
    """Did a run remove the object's derived part?"""
    return kind_of(id_).counted and id_ not in search.previous


def accounted_for(search: Search, past: Past | None) -> bool:
    """Keep what unidentifiable files may hold; False if that cannot be determined."""
    if past is None or not past.commit:
        return False
    before = past.before(search.unclear)
    if all(past.had(path, oid) and len(before[path]) == 1 for path, oid in search.unclear.items()):
        # Nothing can have moved into these files. But they may have been readable at the last run, by another version
        # of muster or before a fault. An object that vanished without a changed file is in one of them.
        search.broken.update(_unexplained(search, past))
        return True
    for path, versions in past.below("").items():
        if earlier := _versions_before(versions, search.reading.files.get(path, "")):
            content = _last_content(earlier)
            if content.unclear:
                return False
            lost = search.lost(content, of_others=path not in search.unclear)
            search.broken.update(id_ for id_ in lost if not is_forgotten(id_))
    return True


def _unexplained(search: Search, past: Past) -> Iterable[ObjectId]:
    """The missing objects whose files did not change."""
    missing = [id_ for id_ in search.missing() if not is_forgotten(id_) and not _was_proposed(search, id_)]
    if not missing:
        return ()
    changed = (
        (path, _versions_before(versions_of_file, search.reading.files.get(path, "")))
        for path, versions_of_file in past.below("").items()
    )
    moved = {part.id for _, versions in changed for version in versions for part in read_again(version).parts}
    return (id_ for id_ in missing if id_ not in moved)


def _was_proposed(search: Search, id_: ObjectId) -> bool:
    """Was this a cluster that only its agent's ref declared?"""
    return bool(dig(search.previous.get(id_), "metadata", "annotations", ACCEPTED_ON))


def earlier_content(versions: Sequence[SourceFile], oid: str) -> FilesRead | None:
    """What a file whose blob is now `oid` held before; None if it did not change."""
    earlier = _versions_before(versions, oid)
    return _last_content(earlier) if earlier else None


#: File names that declare a cluster, in a folder of the cluster's name.
_CLUSTER_FILES = frozenset(("cluster", *(kind.name.casefold() for kind in CLUSTERS)))


def names_object(path: str, id_: ObjectId) -> bool:
    """Is the file named as one that declares the object would be?"""
    file = PurePosixPath(path)
    if file.stem == id_.name:
        return True
    plain = file.stem.casefold()
    names = _CLUSTER_FILES if kind_of(id_) in CLUSTERS else {id_.kind.casefold(), kind_of(id_).plural}
    return plain in names and file.parent.name == id_.name


def _versions_before(versions: Sequence[SourceFile], oid: str) -> Sequence[SourceFile]:
    return versions[1:] if versions and versions[0].oid == oid else versions


def _last_content(versions: Sequence[SourceFile]) -> FilesRead:
    """What a file held: its newest version and, while those are damaged themselves, earlier ones."""
    readings = []
    for version in versions[:_MOST_VERSIONS]:
        readings.append(read_again(version))
        if not readings[-1].suspects and not readings[-1].has_damage:
            break
    content = readings.pop()
    for later in reversed(readings):
        if later.has_damage or any(_state(suspect, content) for suspect in later.suspects):
            content.parts.extend(later.parts)
        else:
            content = later
    return content


def _state(suspect: Suspect, earlier: FilesRead) -> str:
    """What is wrong with a file; empty if only documents were removed from it."""
    if suspect.blank:
        return "blank"
    if suspect.unreadable:
        return "broken"
    earlier_unknown = {signature for old in earlier.suspects for signature in old.unknown_documents}
    return "strange" if suspect.unknown_documents - earlier_unknown else ""
