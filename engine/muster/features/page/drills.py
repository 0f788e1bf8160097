"""Drills for the page: the matrix of each, what was asked, and when."""

from collections.abc import Iterable

from muster.data.times import format_duration, format_time
from muster.data.tree import Tree
from muster.data.yaml.emitter import flow
from muster.features.drill.cells import Cell
from muster.features.drill.drill import DrillResult


def drill_matrices(results: Iterable[DrillResult]) -> Tree:
    """Return each Drill as data of the page: what is lost, for how long and from when, the forbidden states with their
    expressions, the objects as columns, and rows of domains: name, number of clusters, and a cell for each object.

    A cell is 0 if all is well, else two lists of texts: states that are forbidden, and effects that are held.
    """
    return [_matrix(result) for result in results]


def broken_cells(results: Iterable[DrillResult]) -> Tree:
    """Return the name of each Drill, and in how many cells it fails."""
    return [
        [result.drill.id.name, sum(bool(cell.broken) for _, cells in result.rows for cell in cells)]
        for result in results
    ]


def _matrix(result: DrillResult) -> Tree:
    spec = result.drill.source.spec
    columns = [cell.object for cell in result.rows[0][1]] if result.rows else []
    return {
        "name": result.drill.id.name,
        "lose": flow(spec["lose"]),
        "for": format_duration(result.drill.span),
        "start": format_time(result.start),
        "never": [[str(rule["name"]), str(rule["expression"])] for rule in spec["never"]],
        "columns": [[id_.kind, id_.namespace, id_.name] for id_ in columns],
        "rows": [
            [domain.name, len(domain.clusters), [_cell(cell, result) for cell in cells]]
            for domain, cells in result.rows
        ],
        "empty": "" if result.rows else result.findings[0].message,
    }


def _cell(cell: Cell, result: DrillResult) -> Tree:
    texts = [[spell.text(result.start) for spell in spells] for spells in (cell.broken, cell.held)]
    return texts if any(texts) else 0
