"""One transition, as commit messages and plans show it, and the transitions of a large fleet in little memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Final, TypeAlias, overload

from muster.data.ids import ObjectId
from muster.dataclass import dataclass
from muster.run.facts import UNTOLD, Fact


@dataclass(frozen=True, slots=True)
class Transition:
    """One transition of an object, from the fact `was` to the fact `now`. One of them may be None. `source` is the rule
    that decided."""

    object: ObjectId
    was: Fact | None
    now: Fact | None
    source: str = ""

    @property
    def fact(self) -> Fact:
        """The fact as it is now, or else as it was."""
        fact = self.now or self.was
        assert fact is not None
        return fact

    @property
    def field(self) -> str:
        """What changed: `condition Ready`, `taint unreachable:NoSelect`."""
        return self.fact.label

    @property
    def before(self) -> str:
        """The old value in short; empty for none."""
        return self._text(self.was)

    @property
    def after(self) -> str:
        """The new value in short; empty for none."""
        return self._text(self.now)

    @property
    def note(self) -> str:
        """The new fact's note: why, by whom or since when."""
        return self.now.note if self.now else ""

    @property
    def word(self) -> str:
        """What a subject line says of the object (`prod-eu-1 Unknown`); empty if it is no news."""
        if self.now is None:
            return self.fact.gone
        if self.reason_only and self.was is not None and self.was.word == self.now.word:
            return ""
        return self.now.word if self.now.anew or self.was else ""

    @property
    def reason_only(self) -> bool:
        """Is the value the same, and only the note another?"""
        return self.was is not None and self.now is not None and self.was.text == self.now.text

    def _text(self, fact: Fact | None) -> str:
        if fact is None:
            return ""
        return f"{fact.text} {fact.note}".strip() if self.reason_only else fact.text

    def __str__(self) -> str:
        """`ManagedCluster/a: condition Ready True -> Unknown (LeaseStopped)`."""
        return self.fact.sentence or f"{self.object}: {self._phrase()}"

    def _phrase(self) -> str:
        fact, gone = self.fact, self.now is None
        match fact.sort:
            case "":
                return (fact.gone if gone else fact.word) or ("gone" if gone else "new")
            case "held":
                return f"{fact.name} no longer held" if gone else f"{fact.name} held by {fact.note}"
            case "remedy" | "traffic" if gone:
                return f"{self.field} {'lifted' if fact.sort == 'remedy' else 'no longer blocked'}"
            case "taint" if gone or self.was is None:
                key, _, effect = fact.name.rpartition(":")
                value = "" if fact.text == "present" else f"={fact.text}"
                return f"taint {key}{value}:{effect} {'removed' if gone else 'added'}"
        before, after = self.before, self.after
        note = f" ({self.note})" if self.note and not self.reason_only else ""
        return f"{self.field} {f'{before} -> ' if before else ''}{after or ('gone' if before else '')}".rstrip() + note


def net_changes(changes: Iterable[Transition]) -> list[Transition]:
    """Return what changed from before the first pass to after the last: one change for each object and fact, by object.

    What a later pass took back is no change. Fields and notes are left out if another fact of the object changed.
    """
    net: dict[tuple[ObjectId, str], Transition] = {}
    for change in changes:
        key = change.object, change.field
        first = net.get(key)
        source = change.source or (first.source if first is not None else "")
        net[key] = change if first is None else Transition(change.object, first.was, change.now, source)
    left = [change for change in net.values() if change.was != change.now]
    changed = {change.object for change in left if change.fact.sort not in UNTOLD}
    kept = (change for change in left if change.fact.sort not in UNTOLD or change.object not in changed)
    return sorted(kept, key=attrgetter("object"))


#: The changes of one object: of each what it was, what it is now, and the rule. Equal ones are shared.
Rows: TypeAlias = tuple[tuple[Fact | None, Fact | None, str], ...]
_ALL_FIELDS: Final = attrgetter(*(field.name for field in fields(Fact)))


def by_object(changes: Iterable[Transition]) -> Iterator[tuple[ObjectId, Rows]]:
    """Yield each object with its rows, of changes in the order of their objects."""
    for id_, of_object in groupby(changes, key=attrgetter("object")):
        yield id_, _rows(tuple((_plain(change.was), _plain(change.now), change.source) for change in of_object))


def _plain(fact: Fact | None) -> tuple[object, ...] | None:
    return None if fact is None else _ALL_FIELDS(fact)


@lru_cache(1 << 12)
def _rows(plain: tuple[tuple[tuple[object, ...] | None, tuple[object, ...] | None, str], ...]) -> Rows:
    return tuple((_fact(was), _fact(now), source) for was, now, source in plain)


@lru_cache(1 << 12)
def _fact(plain: tuple[object, ...] | None) -> Fact | None:
    return None if plain is None else Fact(*plain)  # type: ignore[arg-type]


class TransitionsByObject(Sequence[Transition]):
    """Changes that are made from rows when they are read: in a large fleet most clusters have the same rows."""

    def __init__(self, rows: Iterable[tuple[ObjectId, Rows]]) -> None:
        """The changes of objects in any order."""
        self._rows = sorted(rows, key=itemgetter(0))

    def __iter__(self) -> Iterator[Transition]:
        return (Transition(id_, *row) for id_, rows in self._rows for row in rows)

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self._rows)

    @overload
    def __getitem__(self, index: int) -> Transition: ...
    @overload
    def __getitem__(self, index: slice) -> list[Transition]: ...
    def __getitem__(self, index: int | slice) -> Transition | list[Transition]:
        if isinstance(index, slice) and (index.step or 1) > 0:
            return list(islice(self, *index.indices(len(self))))
        return list(self)[index]
