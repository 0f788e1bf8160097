"""The cause of a change: the fewest changes of a range of commits that bring about what a field is after all of them.

A run is a function of files, agents' refs and an instant. So sets of the changes are applied to the first commit, each
is evaluated at the same instant in a rehearsal, and delta debugging finds a set that suffices: first of files, then of
the lines in these. Files that muster wrote are no cause.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from difflib import SequenceMatcher
from itertools import combinations, takewhile
from math import comb
from typing import Final, Generic, TypeVar

from muster.cel.runtime.describe import shown
from muster.cli.documents import object_document
from muster.data.ids import ObjectId
from muster.data.locations import FOLDER, SUFFIXES
from muster.data.printable import printable
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.explain.explain import NothingDecided, decided_values
from muster.features.whatif.rehearsal import Rehearsal
from muster.git.changes import Blob, changed_paths
from muster.run.incremental import Wanted
from muster.run.progress import RunStep, doing
from muster.run.transitions.transitions import leaves

_T = TypeVar("_T")
#: How many smaller sets are tried after one was found, to know whether it is the smallest.
_MOST_SMALLER: Final = 300
#: The names of further files that change what is read.
_RULES: Final = frozenset((".musterignore", ".gitattributes"))


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """A change of a file: the first line, of the file after it or, if lines are only removed, before it; the lines that
    are removed and added. For a whole file, that it is added or removed."""

    path: str
    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """The changes that suffice, of `files` changed files. `before`, `after`: the values of the fields without and with
    all changes. `smallest`: every smaller set of files was tried; otherwise no proper subset suffices, but a different,
    smaller set may."""

    before: Mapping[str, Tree]
    after: Mapping[str, Tree]
    changes: tuple[ChangedLines, ...]
    files: int
    smallest: bool


@dataclass
class _FilesAtEnds:
    """The changed files of a range: their content before and after."""

    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes | None]
    _cut: dict[str, list[tuple[ChangedLines | None, Sequence[str]]]] = field(default_factory=dict)

    def with_lines(self, chosen: Collection[ChangedLines]) -> dict[str, bytes | None]:
        """The files with these changes alone."""
        files: dict[str, bytes | None] = {}
        for path in {change.path for change in chosen}:
            of_path = {(change.line, change.removed, change.added) for change in chosen if change.path == path}
            files[path] = b"".join(self._lines(path, of_path))
            if any(change.whole for change in chosen if change.path == path):
                files[path] = self.after[path]
        return files

    def _lines(self, path: str, chosen: Collection[tuple[int, tuple[str, ...], tuple[str, ...]]]) -> Iterator[bytes]:
        for change, old in self._blocks(path):
            key = None if change is None else (change.line, change.removed, change.added)
            yield from (
                line.encode("utf-8", "surrogateescape")
                for line in (change.added if change is not None and key in chosen else old)
            )

    def _blocks(self, path: str) -> list[tuple[ChangedLines | None, Sequence[str]]]:
        """The blocks of a file, with what each is replaced by; None for the same lines."""
        if path not in self._cut:
            self._cut[path] = list(_blocks(path, _lines(self.before[path]), _lines(self.after[path])))
        return self._cut[path]

    def changes(self, path: str) -> list[ChangedLines]:
        """The changes of a file, each for itself."""
        if self.before[path] is None or self.after[path] is None:
            content = self.before[path] if self.after[path] is None else self.after[path]
            lines = tuple(_lines(content))
            gone = self.after[path] is None
            return [ChangedLines(path, 1, lines if gone else (), () if gone else lines, "removed" if gone else "added")]
        return [change for change, _ in self._blocks(path) if change is not None]


def _blocks(path: str, old: list[str], new: list[str]) -> Iterator[tuple[ChangedLines | None, Sequence[str]]]:
    first = _beginning(old, new)
    last = _beginning(old[first:][::-1], new[first:][::-1])
    yield None, old[:first]
    inner = (old[first : len(old) - last], new[first : len(new) - last])
    # In a long text, lines that are there often begin no match of their own: comparing each with each takes minutes.
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, *inner).get_opcodes():
        lines = tuple(inner[0][i1:i2])
        line = first + (j1 if j2 > j1 else i1) + 1
        yield None if tag == "equal" else ChangedLines(path, line, lines, tuple(inner[1][j1:j2])), lines
    yield None, old[len(old) - last :]


def _beginning(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are the same from the first one on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "surrogateescape").splitlines(keepends=True)


@dataclass
class _SetSearch(Generic[_T]):
    """Finds a set of items for which a test holds, and of which no proper subset does. Every set is tested once."""

    holds: Callable[[Collection[_T]], bool]
    known: dict[frozenset[_T], bool] = field(default_factory=dict)

    def test(self, items: Sequence[_T]) -> bool:
        key = frozenset(items)
        if key not in self.known:
            self.known[key] = self.holds(items)
            doing(RunStep.REHEARSING, len(self.known))
        return self.known[key]

    def reduced(self, items: Sequence[_T]) -> list[_T]:
        """Delta debugging: a set without an item that could be left out alone (1-minimal)."""
        kept, parts = list(items), 2
        while len(kept) > 1:
            size = -(-len(kept) // parts)
            chunks = [kept[start : start + size] for start in range(0, len(kept), size)]
            smaller = next((chunk for chunk in chunks if self.test(chunk)), None)
            if smaller is not None:
                kept, parts = smaller, 2
                continue
            rests = ([item for item in kept if item not in chunk] for chunk in chunks) if len(chunks) > 2 else iter(())
            rest = next((rest for rest in rests if self.test(rest)), None)
            if rest is not None:
                kept, parts = rest, max(parts - 1, 2)
            elif parts >= len(kept):
                break
            else:
                parts = min(2 * parts, len(kept))
        return kept

    def smallest(self, items: Sequence[_T]) -> tuple[list[_T], bool]:
        """A set of which no proper subset suffices; and whether no smaller set of the items does. Smaller sets are
        tried, smallest first, while they are few; else all proper subsets, or if these are too many, only those without
        one item."""
        reduced = self.reduced(items)
        for size in range(1, len(reduced)):
            if sum(comb(len(items), smaller) for smaller in range(1, size + 1)) > _MOST_SMALLER:
                return self._without_subsets(reduced), False
            better = next((list(subset) for subset in combinations(items, size) if self.test(subset)), None)
            if better is not None:
                return better, True
        return reduced, True

    def _without_subsets(self, reduced: list[_T]) -> list[_T]:
        if 2 ** len(reduced) > _MOST_SMALLER:
            return reduced
        subsets = (list(subset) for size in range(1, len(reduced)) for subset in combinations(reduced, size))
        return next((subset for subset in subsets if self.test(subset)), reduced)


def find_cause(trial: Rehearsal, end: str, id_: ObjectId, wanted_field: str, now: datetime, wanted: Wanted) -> Cause:
    """Find what, of the changes from the commit of a rehearsal to `end`, suffices for the value of a field after all of
    them. `wanted`: what runs must evaluate for the object.

    NothingDecided if the field has the same value before and after.
    """
    changed = [
        change
        for change in changed_paths(trial.repository, trial.commit, end)
        if not change.path.startswith(FOLDER) and _is_read(change.path)
    ]
    trial.step(now)  # what is due before the changes is not their doing

    def content(blob: Blob | None) -> bytes | None:
        return None if blob is None else trial.repository.objects.blob(blob.oid)

    files = _FilesAtEnds(
        {file_change.path: content(file_change.old) for file_change in changed},
        {file_change.path: content(file_change.new) for file_change in changed},
    )

    def values(edits: Mapping[str, bytes | None]) -> Mapping[str, Tree]:
        return decided_values(
            trial.attempt({("", path): data for path, data in edits.items()}, now, wanted).last, id_, wanted_field
        )

    before, after = values({}), values(files.after)
    if before == after:
        what = f"{id_} {wanted_field}".strip()
        if not before:
            raise NothingDecided(
                f"nothing is decided about {what} at either end; git log shows changes of declared fields"
            )
        raise NothingDecided(f"the range does not change what is decided about {what}, as of one instant")
    of_files = _SetSearch[str](lambda paths: values({path: files.after[path] for path in paths}) == after)
    of_files.known[frozenset(files.after)] = True
    paths, smallest = of_files.smallest(sorted(files.after))
    of_lines = _SetSearch[ChangedLines](lambda lines: values(files.with_lines(lines)) == after)
    every = [change for path in paths for change in files.changes(path)]
    of_lines.known[frozenset(every)] = True
    lines, _ = of_lines.smallest(every)
    ordered = sorted(lines, key=lambda change: (change.path, change.line))
    return Cause(before, after, tuple(ordered), len(changed), smallest)


def _is_read(path: str) -> bool:
    return path.endswith(SUFFIXES) or path.rpartition("/")[2] in _RULES


def cause_text(cause: Cause, id_: ObjectId) -> str:
    """Return the change of each value, how many files suffice, and their lines."""
    lines = [
        f"{id_} {line}"
        for label in sorted(cause.before.keys() | cause.after.keys())
        for line in _changed_value(label, cause.before.get(label), cause.after.get(label))
    ]
    paths = {change.path for change in cause.changes}
    suffice = "suffices" if len(paths) == 1 else "suffice"
    fewer = "no smaller set of files does" if cause.smallest else "no proper subset does"
    lines.append(f"{len(paths)} of {cause.files} changed files {suffice}; {fewer}:")
    for change in cause.changes:
        lines.append(f"  {change.path}:{change.line}{f' ({change.whole})' if change.whole else ''}")
        if not change.whole:
            lines += [f"    - {line.strip()}" for line in change.removed]
            lines += [f"    + {line.strip()}" for line in change.added]
    return "".join(f"{printable(line)}\n" for line in lines)


def cause_document(cause: Cause, id_: ObjectId) -> Tree:
    """Return the same as JSON data."""
    return {
        "object": object_document(id_),
        "before": dict(cause.before),
        "after": dict(cause.after),
        "files": cause.files,
        "smallest": cause.smallest,
        "changes": [
            {
                "path": change.path,
                "line": change.line,
                "whole": change.whole or None,
                "removed": [] if change.whole else list(change.removed),
                "added": [] if change.whole else list(change.added),
            }
            for change in cause.changes
        ],
    }


def _changed_value(label: str, before: Tree, after: Tree) -> Iterator[str]:
    """What a field was and is; of values that look the same in short, the parts that differ."""
    if before == after:
        return
    missing = "not chosen" if True in (before, after) else "nothing"
    was, becomes = (missing if value is None else _short(value) for value in (before, after))
    if was == becomes:
        old, new = dict(leaves(before, {}, label)), dict(leaves(after, {}, label))
        paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
        yield from (f"{path}: {old.get(path, 'nothing')} -> {new.get(path, 'nothing')}" for path in paths)
        return
    yield f"{label}: {was} -> {becomes}"


def _short(value: Tree) -> str:
    """A condition's status and reason, or a value in a few characters."""
    if isinstance(value, dict) and "status" in value:
        return f"{value['status']} ({value.get('reason', '')})"
    if isinstance(value, bool):
        return "chosen" if value else "not chosen"
    return "present" if value == {} else shown(value)
