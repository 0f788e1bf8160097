"""The changes of a plan, in sections for people.

Removals come first, then held effects, placements, remedies, traffic and taints, and last everything else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from muster.cli.cells import short_label
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.printable import counted
from muster.dataclass import dataclass
from muster.rules.effects.approval import REMOVAL
from muster.run.transition import Transition
from muster.run.transitions.compare_revisions import Comparison
from muster.run.transitions.subjects import NOUNS


@dataclass(frozen=True, slots=True)
class Row:
    """The same change for several objects: `what` changes, `how`, and the `names` of the objects."""

    what: str
    how: str
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Section:
    """Sorted rows of one type of change, and their `total` in words. `first`: shown unfolded, as it is important."""

    title: str
    total: str
    rows: Sequence[Row]
    first: bool = True


def sections_of(comparison: Comparison) -> list[Section]:
    """Return the sections that are not empty."""
    makers: tuple[Callable[[], Section], ...] = (
        lambda: _removed(comparison),
        lambda: _held(comparison),
        lambda: _edited(comparison),
        lambda: _rollouts(comparison),
        lambda: _placements(comparison),
        lambda: _of_sort(comparison, "remedy", "Remedies", _remedy),
        lambda: _of_sort(comparison, "traffic", "Traffic", _traffic),
        lambda: _of_sort(comparison, "taint", "Taints", _plain),
        lambda: _added(comparison),
        lambda: _of_sort(comparison, "condition", "Conditions", _plain, first=False),
        lambda: _others(comparison),
    )
    return [section for make in makers if (section := make()).rows]


#: Facts that have a section of their own.
_SORTS: Final = ("remedy", "traffic", "taint", "condition")
#: Facts about people's edits, and muster's own annotations.
_EDITED: Final = ("set", "label", "annotation", "edited")


def _is_placed(change: Transition) -> bool:
    return change.fact.sort == "cluster" and change.object.kind == "Placement"


def _removed(comparison: Comparison) -> Section:
    kept = {held.object for held in comparison.held if held.effect == REMOVAL}
    derived = sorted(
        {c.object for c in comparison.changes if c.fact.sort == "" and not c.now and c.word} - {*comparison.removed}
    )
    rows = _by_kind(
        {
            **dict.fromkeys(derived, "no longer derived"),
            **{
                id_: "no longer declared, and kept: see what is held" if id_ in kept else "no longer declared"
                for id_ in comparison.removed
            },
        }
    )
    return Section("Removed", _objects([*comparison.removed, *derived]), rows)


def _added(comparison: Comparison) -> Section:
    derived = sorted(
        {c.object for c in comparison.changes if c.fact.sort == "" and not c.was and c.word} - {*comparison.added}
    )
    rows = _by_kind({**dict.fromkeys(derived, "newly derived"), **dict.fromkeys(comparison.added, "new")})
    return Section("Added", _objects([*comparison.added, *derived]), rows, first=False)


def _by_kind(what: Mapping[ObjectId, str]) -> list[Row]:
    """One row per kind and change, clusters first."""

    def order(id_: ObjectId) -> tuple[bool, bool, str, str]:
        return (not is_cluster(id_), id_.kind not in NOUNS, id_.kind, what[id_])

    ordered = groupby(sorted(what, key=lambda id_: (order(id_), id_)), key=order)
    return [Row(kind, how, [_within(id_) for id_ in same]) for (*_, kind, how), same in ordered]


def _within(id_: ObjectId) -> str:
    """An object's name without its kind."""
    return f"{id_.namespace}/{id_.name}" if id_.namespace else id_.name


def _objects(ids: Sequence[ObjectId]) -> str:
    clusters = sum(map(is_cluster, ids))
    others = len(ids) - clusters
    terms = [counted(clusters, "cluster")] if clusters else []
    return ", ".join([*terms, counted(others, "other object" if clusters else "object")] if others else terms)


def _held(comparison: Comparison) -> Section:
    held = [
        (held_effect.reason, f"{short_label(held_effect.effect)} held", _name(held_effect.object))
        for held_effect in comparison.held
    ]
    no_longer = [
        (held_effect.reason, f"{short_label(held_effect.effect)} held no longer", _name(held_effect.object))
        for held_effect in comparison.released
    ]
    terms = [counted(len(held), "effect") + " held"] if held else []
    if no_longer:
        terms.append(f"{len(no_longer)} no longer")
    return Section("Held back", ", ".join(terms), [*_rows(held), *_rows(no_longer)])


def _placements(comparison: Comparison) -> Section:
    sizes = comparison.sizes or {}

    def row(change: Transition) -> tuple[str, str, str]:
        if change.now is not None and change.was is None:
            how = "gains"
        else:
            how = f"loses ({change.note})" if change.note else "loses"
        return (_placement(change.object, sizes.get(change.object)), how, change.fact.name)

    moved = [change for change in comparison.changes if _is_placed(change)]
    ids = {change.object for change in moved}
    empty = sum(size[0] > 0 and size[1] == 0 for size in sizes.values())
    total = counted(len(ids), "placement") + (f", {empty} left without clusters" if empty else "")
    return Section("Placements", total, _rows(map(row, moved)))


def _rollouts(comparison: Comparison) -> Section:
    """The Rollouts that begin: who gets the revision, in which order."""
    rows = [
        Row(
            f"{_within(rollout.id)}: {rollout.before or 'nothing'} -> {rollout.now}",
            f"stage {text}",
            names or ("nobody",),
        )
        for rollout in comparison.rollouts
        for text, names in rollout.stages
    ]
    return Section("Rollouts", f"{counted(len(comparison.rollouts), 'rollout')} to begin", rows)


def _placement(id_: ObjectId, size: tuple[int, int] | None) -> str:
    if size is None:
        return _within(id_)
    before, after = size
    loss = ", left without clusters" if before and not after else ""
    return f"{_within(id_)}: {before} -> {counted(after, 'cluster')}{loss}"


#: A change as a row: what, how, and the object's name.
_ChangeRow = tuple[str, str, str]


def _of_sort(
    comparison: Comparison, sort: str, title: str, to_row: Callable[[Transition], _ChangeRow], *, first: bool = True
) -> Section:
    of_sort = [change for change in comparison.changes if change.fact.sort == sort]
    names = {to_row(change)[2] for change in of_sort}
    return Section(
        title,
        counted(len(names), "cluster" if sort in ("remedy", "traffic") else "object"),
        _rows(map(to_row, of_sort)),
        first,
    )


def _others(comparison: Comparison) -> Section:
    listed = {*comparison.removed, *comparison.added}
    others = [
        change
        for change in comparison.changes
        if change.fact.sort not in (*_SORTS, *_EDITED, "held")
        and not _is_placed(change)
        and not (change.fact.sort == "" and (change.word or change.object in listed))
    ]
    return Section(
        "Everything else",
        _objects(sorted({change.object for change in others})),
        _rows(map(_plain, others)),
        first=False,
    )


def _edited(comparison: Comparison) -> Section:
    edits = [change for change in comparison.changes if change.fact.sort in _EDITED]
    return Section("Edited", _objects(sorted({change.object for change in edits})), _rows(map(_plain, edits)))


def _remedy(change: Transition) -> _ChangeRow:
    was, now = change.was, change.now
    if was is None or now is None:
        how = "applied to" if was is None else "lifted from"
        return (f"{change.fact.name}, by {change.fact.note}", how, _name(change.object))
    return (change.fact.name, f"asked for by {was.note} -> by {now.note}", _name(change.object))


def _traffic(change: Transition) -> _ChangeRow:
    """The object is an ingress, and the fact's name is `to <cluster>`."""
    how = "no more traffic to" if change.now is not None else "traffic again to"
    return (_within(change.object), how, change.fact.name.removeprefix("to "))


def _plain(change: Transition) -> _ChangeRow:
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


def _rows(changes: Iterable[_ChangeRow]) -> list[Row]:
    """One row for all objects with the same change, sorted."""
    ordered = sorted(set(changes))
    return [Row(what, how, [row[2] for row in same]) for (what, how), same in groupby(ordered, key=lambda row: row[:2])]


def _name(id_: ObjectId) -> str:
    """The name of a cluster; kind and name of any other object."""
    return id_.name if is_cluster(id_) else str(id_)
