"""Trees on standard output: as YAML documents that kubectl takes, and as one JSON value."""

import json
from typing import Any

import pytest
import yaml

from muster.cli.documents import json_text, yaml_stream

TREES: list[list[Any]] = [
    [],
    [{"kind": "A", "text": "ä: 'quoted'\n", "number": 1, "none": None, "list": [{"b": 1, "a": 2}]}],
    [{"kind": "A"}, {"kind": "B", "on": "yes", "time": "2026-01-01T00:00:00Z"}],
]


@pytest.mark.parametrize("trees", TREES)
def test_what_is_printed_reads_as_what_it_was(trees: list[Any]) -> None:
    assert [tree for tree in yaml.load_all(yaml_stream(trees), yaml.CSafeLoader) if tree] == trees
    assert json.loads(json_text(trees)) == trees


def test_people_can_read_it() -> None:
    assert yaml_stream([{"b": "x y"}, {"a": 1}]) == "b: x y\n---\na: 1\n"
    assert json_text({"b": "ä", "a": []}) == '{\n  "b": "ä",\n  "a": []\n}\n', "keys in their order, one newline"
