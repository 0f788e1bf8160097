"""What files held at the last run or since, by git history: objects that are nowhere now are kept."""

from collections.abc import Iterable, Sequence

from muster.data.ids import ObjectId
from muster.data.snapshot import Past, Skipped
from muster.data.source import SourceFile
from muster.data.tree import dig
from muster.fleet.acceptance import ACCEPTED_ON
from muster.fleet.reading import FilesRead, Suspect
from muster.fleet.report_parts import is_report
from muster.fleet.vanished.search import Search, read_again

#: The number of versions of a file to read.
_MOST_VERSIONS = 100


def by_history(search: Search, past: Past, left_out: Iterable[Skipped], ignored: Iterable[SourceFile]) -> None:
    """Compare each suspect file with its earlier content."""
    suspects = {suspect.source.path: suspect for suspect in search.reading.suspects}
    ignored_paths = [source.path for source in ignored]
    before = past.before([*suspects, *ignored_paths])
    for path, suspect in suspects.items():
        if versions := _earlier(before.get(path, ()), suspect.source.oid):
            then = _held(versions)
            if state := _state(suspect, then):
                search.keep(path, state, search.lost(then), certain=True)
    for path in ignored_paths:
        if path in before:
            search.keep(path, "ignored", search.lost(_held(before[path])), certain=True)
    for skip in left_out:
        there = past.before((skip.path,)) or past.below(skip.path)
        for path, versions in there.items():
            search.keep(path, skip.reason, search.lost(_held(versions)), certain=True)


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
        if earlier := _earlier(versions, search.reading.files.get(path, "")):
            then = _held(earlier)
            if then.unclear:
                return False
            search.broken.update(id_ for id_ in search.lost(then, of_others=True) if not is_report(id_))
    return True


def _unexplained(search: Search, past: Past) -> Iterable[ObjectId]:
    """The missing objects whose files did not change."""
    missing = [id_ for id_ in search.missing() if not is_report(id_) and not _was_proposed(search, id_)]
    if not missing:
        return ()
    changed = ((path, _earlier(them, search.reading.files.get(path, ""))) for path, them in past.below("").items())
    went = {part.id for _, versions in changed for version in versions for part in read_again(version).parts}
    return (id_ for id_ in missing if id_ not in went)


def _was_proposed(search: Search, id_: ObjectId) -> bool:
    """Was this a cluster that only its agent's ref declared?"""
    return bool(dig(search.previous.get(id_), "metadata", "annotations", ACCEPTED_ON))


def _earlier(versions: Sequence[SourceFile], oid: str) -> Sequence[SourceFile]:
    """The file's versions before the present one."""
    return versions[1:] if versions and versions[0].oid == oid else versions


def _held(versions: Sequence[SourceFile]) -> FilesRead:
    """What a file held: its newest version and, while those are damaged themselves, earlier ones."""
    readings = []
    for version in versions[:_MOST_VERSIONS]:
        readings.append(read_again(version))
        if not readings[-1].suspects and not readings[-1].slipped:
            break
    then = readings.pop()
    for later in reversed(readings):
        if later.slipped or any(_state(suspect, then) for suspect in later.suspects):
            then.parts.extend(later.parts)
        else:
            then = later
    return then


def _state(suspect: Suspect, then: FilesRead) -> str:
    """What is wrong with a file; empty if only documents were removed from it."""
    if suspect.blank:
        return "blank"
    if suspect.troubled:
        return "broken"
    known = {stranger for old in then.suspects for stranger in old.strangers}
    return "strange" if suspect.strangers - known else ""
