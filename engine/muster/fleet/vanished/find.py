"""Find vanished objects: those that no file declares any more although nobody removed them.

An object is removed by deleting its file or its document. A file that still exists but is empty, broken, ignored, a
link or of unknown kinds is a mistake: its objects keep their derived state, and an error reports it.

Git history tells what a file held: the snapshot's `past`, the tree of the last run's commit. Without history, the
derived state tells which objects are missing, and the file's name which one it held: `clusters/prod-eu-1.yaml`, or
`cluster.yaml` in a folder of that name. An empty file without such a name may have held any of them, and then nothing
counts as removed.

A file with an unidentifiable document is compared likewise: it may hold what it held, and whatever is missing
elsewhere. Without history it may hold anything.

A commit that removes many clusters names them: `Muster-Allow-Removal: prod-eu-1, prod-eu-2`. This allows the removals
in that very commit of clusters that nothing declares afterwards: it is used once, and an old one does not allow later
removals.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, is_cluster, kind_of
from muster.data.snapshot import Past, Skipped, Snapshot, StatedRemovals
from muster.data.source import Part, SourceFile
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet import messages
from muster.fleet.documents import DEFAULT_NAMESPACE
from muster.fleet.misspelt import Guess
from muster.fleet.reading import NOTHING_DAMAGED, DamagedFiles, FilesRead
from muster.fleet.vanished.search import Search, accounted_for, by_history, names_object, read_again
from muster.fleet.vanished.undeclared import by_declaration


def allowed_removals(allowances: Iterable[StatedRemovals]) -> tuple[frozenset[ObjectId], tuple[str, ...]]:
    """Return the clusters that commits remove and name, and the texts of allowances that name none of theirs."""
    allowed, unused = set[ObjectId](), list[str]()
    for allowance in allowances:
        names = set(allowance.text.replace(",", " ").split())
        removed = _clusters(allowance.was) - _clusters(allowance.became)
        named = {id_ for id_ in removed if id_.name in names}
        if not named:
            unused.append(allowance.text)
        allowed -= _clusters(allowance.became)
        allowed |= named - _clusters(allowance.later) if named else named
    return frozenset(allowed), tuple(unused)


def _clusters(files: Sequence[SourceFile]) -> set[ObjectId]:
    parts = (part for file in files for part in read_again(file).parts)
    return {part.id for part in parts if is_cluster(part.id) and "spec" in part.body}


def by_name(search: Search, left_out: Iterable[Skipped], ignored: Iterable[SourceFile]) -> None:
    """Guess by its name what a suspect file may have held."""
    blank = [suspect.source.path for suspect in search.reading.suspects if suspect.blank]
    for suspect in search.reading.suspects:
        if not suspect.blank:
            named = [id_ for id_ in search.missing() if names_object(suspect.source.path, id_)]
            search.keep(suspect.source.path, "broken" if suspect.unreadable else "strange", named, certain=False)
    for skip in left_out:
        named = [id_ for id_ in search.missing() if names_object(skip.path, id_)]
        search.keep(skip.path, skip.reason, named, certain=False)
    for source in ignored if search.missing() else ():
        declared = {part.id for part in read_again(source).parts}
        search.keep(source.path, "ignored", declared.intersection(search.missing()), certain=False)
    by_name = {path: [id_ for id_ in search.missing() if names_object(path, id_)] for path in blank}
    others = set(search.missing()).difference(*by_name.values())
    for path, named in by_name.items():
        search.keep(path, "blank", [*named, *others], certain=False)


def by_guess(search: Search, origin: messages.Origin, guess: Guess) -> None:
    """Keep the object that a document lacking `apiVersion`, `kind` or both was meant to be."""
    body = origin.document.body
    if not guess.kinds:
        ids = [id_ for id_ in search.missing() if id_.name == guess.name and _same_place(id_, guess)]
        if ids:
            search.broken.update(ids)
            search.findings.append(messages.vanished_name(origin, ids))
        return
    missing = (
        "kind" if isinstance(body.get("apiVersion"), str) and not isinstance(body.get("kind"), str) else "apiVersion"
    )
    search.findings.append(messages.incomplete_document(origin, missing, body, guess.kinds))
    if not guess.name:
        search.unclear[origin.source.path] = origin.source.oid
        return
    candidates = {
        kind.id(guess.name, (guess.namespace or DEFAULT_NAMESPACE) if kind.namespaced else "") for kind in guess.kinds
    }
    vanished = {id_ for id_ in search.missing() if id_ in candidates}
    search.broken.update(vanished or candidates.difference(search.declared))


def _same_place(id_: ObjectId, guess: Guess) -> bool:
    return not kind_of(id_).namespaced or id_.namespace == (guess.namespace or DEFAULT_NAMESPACE)


#: Reasons why a file has no name by which the next run could read it again.
_NO_NAME = frozenset(("not-utf8-path", "control-characters"))
#: Reasons why an existing file was not read.
_LEFT_OUT = frozenset(("symlink", "submodule", "conflict"))


@dataclass(frozen=True, slots=True)
class Vanished:
    """What is kept because of damaged files: `broken` objects, parts that stand in for some of them, and findings.

    `unidentified`: a file may hold any object, and there is no history. `since`: the commit of the last run at which
    every file was readable, if known and some file is not now. `allowed`: clusters removed by a commit that allows it;
    `unused`: the texts of allowances that name no cluster they remove.
    """

    broken: frozenset[ObjectId]
    slips: DamagedFiles
    stand_ins: tuple[Part, ...]
    findings: tuple[Finding, ...]
    unidentified: bool
    since: str = ""
    allowed: frozenset[ObjectId] = frozenset()
    unused: tuple[str, ...] = ()


def find_vanished(
    snapshot: Snapshot,
    reading: FilesRead,
    previous: Mapping[ObjectId, Tree],
    declared: Collection[ObjectId],
    *,
    partial: bool = False,
) -> Vanished:
    """Find vanished objects. `declared`: objects in sound inputs; `previous`: those of the last run.

    `partial`: this is a part of the fleet, and an object missing in `previous` belongs to the rest.
    """
    past = snapshot.past
    search = Search(reading, previous, declared, past, partial)
    stand_ins = tuple(part for part in reading.stand_ins if part.id not in declared)
    search.broken.update(part.id for part in stand_ins)
    search.broken.update(part.id for part in reading.stand_ins if search.is_lost_report(part))
    for origin, guess in reading.guesses:
        by_guess(search, origin, guess)
    by_declaration(search)
    left_out = [skip for skip in snapshot.skipped if skip.reason in _LEFT_OUT and not skip.ref]
    ignored = snapshot.ignored
    if reading.suspects or left_out or ignored:
        if past is not None:
            by_history(search, past, left_out, ignored)
        if (past is None or not past.commit) and not search.unclear and search.missing():
            by_name(search, left_out, ignored)
    unidentified = bool(search.unclear) and not accounted_for(search, past)
    if search.broken or reading.broken:
        from muster.fleet.vanished.earlier import earlier_declarations  # of a broken fleet alone

        stand_ins += tuple(earlier_declarations(search))
    broken = frozenset(search.broken)
    since = past.commit if past is not None and (broken or reading.broken or unidentified) else ""
    allowed, unused = _allowed(past, set(_gone_clusters(search)))
    slips = NOTHING_DAMAGED
    damaged = reading.has_damage or broken or search.findings or search.unclear or search.unsure or search.spoiled
    if damaged:  # else no history is asked
        unnamed = any(skip.reason in _NO_NAME and not skip.ref for skip in snapshot.skipped)
        complete = past is not None and past.commit and not (reading.guesses or left_out or ignored or unnamed)
        elsewhere = unidentified or not complete
        slips = _damaged(reading, search, broken, elsewhere=elsewhere)
    return Vanished(broken, slips, stand_ins, tuple(search.findings), unidentified, since, allowed, unused)


def _damaged(reading: FilesRead, search: Search, broken: frozenset[ObjectId], *, elsewhere: bool) -> DamagedFiles:
    ids = broken | reading.broken
    errors = (finding.file for finding in reading.findings if finding.severity is Severity.ERROR)
    files = {*errors, *(finding.file for finding in search.findings), *search.unclear, *search.spoiled}
    files.update(part.source.path for part in reading.stand_ins if not part.source.ref)
    # An object without a derived part, such as a Remedy, has no neighbourhood that the next run could look up.
    unheld = any(id_ not in search.previous for id_ in ids)
    return DamagedFiles(frozenset(file for file in files if file), ids, elsewhere or unheld or search.unsure)


def _allowed(past: Past | None, gone: set[ObjectId]) -> tuple[frozenset[ObjectId], tuple[str, ...]]:
    """`allowed_removals` of the clusters that are gone. A forged run hides no permission: each is used once."""
    if past is None or not gone:
        return frozenset(), ()
    allowed, unused = allowed_removals(past.allowances)
    if gone - allowed and not past.proven and (earlier := past.earlier_allowances):
        allowed, _ = allowed_removals((*earlier, *past.allowances))
    return allowed, unused


def _gone_clusters(search: Search) -> Iterator[ObjectId]:
    present = (search.declared, search.broken, search.reading.broken)
    for id_ in search.previous:
        if kind_of(id_) in CLUSTERS and not any(id_ in ids for ids in present):
            yield id_
