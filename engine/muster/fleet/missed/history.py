"""What files held at the last run, as its tree says: what of that is nowhere any more is kept."""

from collections.abc import Iterable

from muster.fleet.heard import is_report
from muster.fleet.missed.search import Search, read_again
from muster.fleet.reading import Reading, Suspect
from muster.model.snapshot import Past, Skipped
from muster.model.source import SourceFile


def by_history(search: Search, past: Past, left_out: Iterable[Skipped], ignored: Iterable[SourceFile]) -> None:
    """Compare each file in doubt with what the last run read there."""
    for suspect in search.reading.suspects:
        before = past.before(suspect.source.path, suspect.source.oid)
        if before is None:
            continue
        then = read_again(before)
        if state := _state(suspect, then):
            search.keep(before.path, state, search.lost(then), certain=True)
    for source in ignored:
        if (before := past.before(source.path)) is not None:
            search.keep(source.path, "ignored", search.lost(read_again(before)), certain=True)
    for skip in left_out:
        there = past.before(skip.path)
        for before in (there,) if there is not None else past.below(skip.path):
            search.keep(before.path, skip.reason, search.lost(read_again(before)), certain=True)


def accounted_for(search: Search, past: Past | None) -> bool:
    """Keep what may be in files that do not say what they hold; False where that is not to be told."""
    if past is None or not past.commit:
        return False
    changed = {path for path, oid in search.unclear.items() if not oid or not past.had(path, oid)}
    if not changed:
        return True  # nothing can have moved into them
    for before in past.changed(search.reading.files):
        then = read_again(before)
        if then.unclear:
            return False
        search.broken.update(id_ for id_ in search.lost(then) if not is_report(id_))
    return True


def _state(suspect: Suspect, then: Reading) -> str:
    """What is wrong with a file; empty where nothing is but that documents were removed from it."""
    if suspect.blank:
        return "blank"
    if suspect.troubled:
        return "broken"
    known = {stranger for old in then.suspects for stranger in old.strangers}
    return "strange" if suspect.strangers - known else ""
