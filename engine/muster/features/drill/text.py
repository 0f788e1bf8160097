"""A drill as text and as data: a matrix of domains and objects."""

import sys
from collections.abc import Iterator
from typing import Final

from muster.cli.documents import object_document
from muster.cli.table import print_table
from muster.data.ids import ObjectId
from muster.data.printable import counted, printable
from muster.data.times import format_duration, format_time
from muster.data.tree import Tree
from muster.features.drill.cells import Cell, Spell
from muster.features.drill.drill import DrillResult

#: The rows and columns of a matrix that is shown whole.
_MOST_ROWS: Final = 20
_MOST_COLUMNS: Final = 4


def print_result(result: DrillResult) -> None:
    """Print the matrix; of a large one, the rows and columns in which anything happens, and how many are left out."""
    drill, rows = result.drill, result.rows
    columns = [cell.object for cell in rows[0][1]] if rows else []
    shown = [
        n for n in range(len(columns)) if len(columns) <= _MOST_COLUMNS or any(_happens(cells[n]) for _, cells in rows)
    ]
    busy = [(domain, cells) for domain, cells in rows if len(rows) <= _MOST_ROWS or any(map(_happens, cells))]
    span = format_duration(drill.span)
    title = f"{drill.id}: agents stop at {format_time(result.start)}, for {span}"
    sys.stdout.write(printable(title) + "\n")
    if busy and shown:
        table = [[domain.name, *(cells[n].text(result.start) for n in shown)] for domain, cells in busy]
        print_table(["LOST", *(_column(columns[n]) for n in shown)], table)
        left = _left(len(rows) - len(busy), len(columns) - len(shown))
    else:
        fine = "ok" if rows and columns else "nothing to look at"
        left = f"{fine}: {counted(len(rows), 'domain')}, {counted(len(columns), 'object')}"
    if left:
        sys.stdout.write(left + "\n")


def _happens(cell: Cell) -> bool:
    return bool(cell.broken or cell.held)


def _column(id_: ObjectId) -> str:
    return f"{id_.namespace}/{id_.name}"


def _left(domains: int, objects: int) -> str:
    texts = [f"ok: {counted(domains, 'other domain')}"] if domains else []
    return "; ".join([*texts, f"ok in all: {counted(objects, 'other object')}"] if objects else texts)


def result_document(result: DrillResult) -> Tree:
    """Return the whole matrix as data."""
    return {
        "drill": result.drill.id.name,
        "start": format_time(result.start),
        "until": format_time(result.start + result.drill.span),
        "domains": [
            {"name": domain.name, "clusters": sorted(domain.clusters), "cells": list(map(_cell_document, cells))}
            for domain, cells in result.rows
        ],
    }


def _cell_document(cell: Cell) -> Tree:
    return {
        "object": object_document(cell.object),
        "ok": not cell.broken,
        "broken": list(_spells(cell.broken)),
        "held": list(_spells(cell.held)),
    }


def _spells(spells: tuple[Spell, ...]) -> Iterator[Tree]:
    for spell in spells:
        end = None if spell.end is None else format_time(spell.end)
        yield {"name": spell.name, "from": format_time(spell.begin), "until": end, "gained": list(spell.clusters)}
