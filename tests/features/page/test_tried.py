"""Settings that were tried on the past, for the page: what files may hold."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from muster.features.page.tried import read_tried

ROW = {"value": 2, "found": 3, "falseAlarms": 1, "moves": 2, "held": 0, "earlierSeconds": 60, "outages": [], "more": 1}


def written(folder: Path, tree: Any) -> Path:
    path = folder / "tried.json"
    path.write_text(tree if isinstance(tree, str) else json.dumps(tree))
    return path


def test_the_rows_of_a_setting(tmp_path: Path) -> None:
    fact = {**ROW, "value": None, "earlierSeconds": None}
    path = written(tmp_path, {"set": "p.x", "rows": [fact, ROW], "runs": 9})
    assert read_tried([path]) == [{"set": "p.x", "rows": [["", 3, 1, 2, 0, None], ["2", 3, 1, 2, 0, 60]]}]
    assert read_tried([]) == []


@pytest.mark.parametrize(
    "tree",
    [
        "{",
        "[]",
        {},
        {"set": 1, "rows": [ROW]},
        {"set": "p.x", "rows": []},
        {"set": "p.x", "rows": [{}]},
        {"set": "p.x", "rows": [{**ROW, "found": "3"}]},
        "[" * 100_000,
    ],
)
def test_what_is_none(tmp_path: Path, tree: Any) -> None:
    with pytest.raises(click.UsageError, match="--replay: "):
        read_tried([written(tmp_path, tree)])
