"""Settings that were tried on the past: the rows of `muster replay --set -o json`, for the page."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from muster.data.codec import MalformedError, from_tree
from muster.data.tree import Tree, dig, mappings_at, read_json

#: So many rows of a file are shown.
_MOST_ROWS: Final = 200
#: The columns of a row after its value, all numbers; the last may be missing.
_COLUMNS: Final = ("found", "falseAlarms", "moves", "held", "earlierSeconds")


def read_tried(files: Iterable[Path]) -> Tree:
    """Return the settings in files as data of the page: each with its rows, a list of the value (empty for what was
    decided in fact), outages found, false alarms, moves, effects held, and seconds earlier. click.UsageError for a file
    that has none."""
    return [_read(path) for path in files]


def _read(path: Path) -> Tree:
    try:
        tree = read_json(path.read_bytes())
        rows = [_row(row) for row in mappings_at(tree, "rows")[:_MOST_ROWS]]
    except (ValueError, MalformedError) as error:
        raise click.UsageError(f"--replay: {path} cannot be read: {error}") from error
    setting = dig(tree, "set")
    if not isinstance(setting, str) or not rows:
        raise click.UsageError(f"--replay: {path} is not the output of muster replay A..B --set TARGET=VALUES -o json.")
    return {"set": setting, "rows": rows}


def _row(row: Tree) -> Tree:
    value = row.get("value")
    numbers = from_tree(tuple[int, int, int, int, int | None], [row.get(name) for name in _COLUMNS])
    return ["" if value is None else str(value), *numbers]
