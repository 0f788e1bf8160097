"""What a plan changes, as people read it: by what follows from it, and by name.

Removals come first, then what a budget would hold, where work goes, what is done about clusters, and last all the rest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from muster.cli.cells import short_label
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.rules.effects.approval import REMOVAL
from muster.run.change import NOUNS, Change
from muster.run.comparison import Comparison


@dataclass(frozen=True, slots=True)
class Row:
    """`names` are all to which the same happens: of `what`, and `how`."""

    what: str
    how: str
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one sort, sorted, and in `total` how much there is of it. `first`: what nobody should overlook."""

    title: str
    total: str
    rows: Sequence[Row]
    first: bool = True


def sections_of(found: Comparison) -> list[Section]:
    """Return what there is to tell, without sections that are empty."""
    tellers: tuple[Callable[[], Section], ...] = (
        lambda: _removed(found),
        lambda: _held(found),
        lambda: _edited(found),
        lambda: _placements(found),
        lambda: _of_sort(found, "remedy", "Remedies", _remedy),
        lambda: _of_sort(found, "traffic", "Traffic", _traffic),
        lambda: _of_sort(found, "taint", "Taints", _plain),
        lambda: _added(found),
        lambda: _of_sort(found, "condition", "Conditions", _plain, first=False),
        lambda: _others(found),
    )
    return [section for tell in tellers if (section := tell()).rows]


#: Facts that have a section of their own.
_SORTS: Final = ("remedy", "traffic", "taint", "condition")
#: What people edit, and notes that muster keeps for itself.
_EDITED: Final = ("set", "label", "annotation", "edited")


def _is_placed(change: Change) -> bool:
    return change.fact.sort == "cluster" and change.object.kind == "Placement"


def _removed(found: Comparison) -> Section:
    kept = {held.object for held in found.held if held.effect == REMOVAL}
    derived = sorted({c.object for c in found.changes if c.fact.sort == "" and not c.now and c.word} - {*found.removed})
    rows = _by_kind({
        **dict.fromkeys(derived, "no longer derived"),
        **{id_: "no longer declared, and kept: see what is held" if id_ in kept else "no longer declared"
           for id_ in found.removed},
    })  # fmt: skip
    return Section("Removed", _objects([*found.removed, *derived]), rows)


def _added(found: Comparison) -> Section:
    derived = sorted({c.object for c in found.changes if c.fact.sort == "" and not c.was and c.word} - {*found.added})
    rows = _by_kind({**dict.fromkeys(derived, "newly derived"), **dict.fromkeys(found.added, "new")})
    return Section("Added", _objects([*found.added, *derived]), rows, first=False)


def _by_kind(what: Mapping[ObjectId, str]) -> list[Row]:
    """One row for each kind and what happens to it, clusters first."""

    def order(id_: ObjectId) -> tuple[bool, bool, str, str]:
        return (not is_cluster(id_), id_.kind not in NOUNS, id_.kind, what[id_])

    ordered = groupby(sorted(what, key=lambda id_: (order(id_), id_)), key=order)
    return [Row(kind, how, [_within(id_) for id_ in same]) for (*_, kind, how), same in ordered]


def _within(id_: ObjectId) -> str:
    """An object's name where its kind is said already."""
    return f"{id_.namespace}/{id_.name}" if id_.namespace else id_.name


def _objects(ids: Sequence[ObjectId]) -> str:
    clusters = sum(map(is_cluster, ids))
    others = len(ids) - clusters
    terms = [_count(clusters, "cluster")] if clusters else []
    return ", ".join([*terms, _count(others, "other object" if clusters else "object")] if others else terms)


def _held(found: Comparison) -> Section:
    held = [(one.reason, f"{short_label(one.effect)} held", _name(one.object)) for one in found.held]
    no_longer = [(one.reason, f"{short_label(one.effect)} held no longer", _name(one.object)) for one in found.released]
    terms = [_count(len(held), "effect") + " held"] if held else []
    if no_longer:
        terms.append(f"{len(no_longer)} no longer")
    return Section("Held back", ", ".join(terms), [*_rows(held), *_rows(no_longer)])


def _placements(found: Comparison) -> Section:
    sizes = found.sizes or {}

    def told(change: Change) -> tuple[str, str, str]:
        if change.now is not None and change.was is None:
            how = "gains"
        else:
            how = f"loses ({change.note})" if change.note else "loses"
        return (_placement(change.object, sizes.get(change.object)), how, change.fact.name)

    moved = [change for change in found.changes if _is_placed(change)]
    ids = {change.object for change in moved}
    empty = sum(size[0] > 0 and size[1] == 0 for size in sizes.values())
    total = _count(len(ids), "placement") + (f", {empty} left without clusters" if empty else "")
    return Section("Placements", total, _rows(map(told, moved)))


def _placement(id_: ObjectId, size: tuple[int, int] | None) -> str:
    if size is None:
        return _within(id_)
    before, after = size
    loss = ", left without clusters" if before and not after else ""
    return f"{_within(id_)}: {before} -> {_count(after, 'cluster')}{loss}"


#: What a change is told as: of what, how, and whose.
_Told = tuple[str, str, str]


def _of_sort(
    found: Comparison, sort: str, title: str, tell: Callable[[Change], _Told], *, first: bool = True
) -> Section:
    own = [change for change in found.changes if change.fact.sort == sort]
    names = {tell(change)[2] for change in own}
    return Section(title, _count(len(names), "cluster" if sort in ("remedy", "traffic") else "object"),
                   _rows(map(tell, own)), first)  # fmt: skip


def _others(found: Comparison) -> Section:
    told = {*found.removed, *found.added}
    own = [
        change for change in found.changes
        if change.fact.sort not in (*_SORTS, *_EDITED, "held") and not _is_placed(change)
        and not (change.fact.sort == "" and (change.word or change.object in told))
    ]  # fmt: skip
    return Section("Everything else", _objects(sorted({change.object for change in own})),
                   _rows(map(_plain, own)), first=False)  # fmt: skip


def _edited(found: Comparison) -> Section:
    own = [change for change in found.changes if change.fact.sort in _EDITED]
    return Section("Edited", _objects(sorted({change.object for change in own})), _rows(map(_plain, own)))


def _remedy(change: Change) -> _Told:
    was, now = change.was, change.now
    if was is None or now is None:
        how = "applied to" if was is None else "lifted from"
        return (f"{change.fact.name}, by {change.fact.note}", how, _name(change.object))
    return (change.fact.name, f"asked for by {was.note} -> by {now.note}", _name(change.object))


def _traffic(change: Change) -> _Told:
    """The fact is of an ingress, and named `to <cluster>`."""
    how = "no more traffic to" if change.now is not None else "traffic again to"
    return (_within(change.object), how, change.fact.name.removeprefix("to "))


def _plain(change: Change) -> _Told:
    _, _, what = short_label(change.field).partition(" ")
    sort = change.fact.sort
    if not sort:
        return ("derived part", "new" if change.was is None else "gone", _name(change.object))
    what = what if sort in ("taint", "condition", "edited", "field") and what else short_label(change.field)
    if sort == "taint" and change.was is None:
        return (what, "put on", _name(change.object))
    if sort == "taint" and change.now is None:
        return (what, "taken off", _name(change.object))
    note = f" ({change.note})" if change.note and change.note not in change.after else ""
    return (what, f"{change.before or '-'} -> {change.after or 'gone'}{note}", _name(change.object))


def _rows(told: Iterable[_Told]) -> list[Row]:
    """One row for all to which the same happens, in order."""
    ordered = sorted(set(told))
    return [Row(what, how, [one[2] for one in same]) for (what, how), same in groupby(ordered, key=lambda one: one[:2])]


def _name(id_: ObjectId) -> str:
    """Clusters go by their names, all else by kind and name."""
    return id_.name if is_cluster(id_) else str(id_)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
