"""The paths that a Projection may write to, and its formats."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muster import cel
from muster.rules.policies.trees import UnfitError
from muster.rules.projections.files import check_path, object_text, objects_text, plain_text

HEADER = "# Written by muster. Edits are overwritten by the next reconcile.\n"


@pytest.mark.parametrize("path", ("a.yaml", "a/b/c.json", "A.conf", "_x/@y", "1", "eu-1=x,y+z.txt"))
def test_a_path_below_the_folder(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    (
        ("../a.yaml", "leads out"),
        ("a/../../b", "leads out"),
        ("/etc/passwd", "leads out"),
        ("..", "leads out"),
        ("", "names no file"),
        ("a//b", "names no file"),
        ("a/", "names no file"),
        (".git/config", "'.git'"),
        ("a/.hidden", "'.hidden'"),
        ("a/./b", "'.'"),
        ("git~1/x", "'git~1'"),
        ("nul.yaml", "'nul.yaml'"),
        ("a/CON", "'CON'"),
        ("a b", "'a b'"),
        ("a\\b", "not every machine"),
        ("a\nb", "not every machine"),
        ("ü.yaml", "not every machine"),
        ("-rf", "'-rf'"),
        ("a.", "'a.'"),
        ("x" * 201, "not every machine"),
        ("x/" * 200 + "y", "401 characters"),
    ),
)
def test_a_path_that_is_refused(path: str, why: str) -> None:
    with pytest.raises(UnfitError, match=why.replace("\\", "\\\\").replace(".", r"\.")) as found:
        check_path(path)
    assert found.value.hint


def test_equal_objects_give_equal_bytes() -> None:
    one = {"kind": "X", "spec": {"b": 1, "a": 2}, "apiVersion": "v1", "metadata": {"labels": {}, "name": "one"}}
    other = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "one", "labels": {}}, "spec": {"a": 2, "b": 1}}
    yaml_text = HEADER + "apiVersion: v1\nkind: X\nmetadata:\n  name: one\n  labels: {}\nspec:\n  a: 2\n  b: 1\n"
    assert object_text(one, "x.yaml") == object_text(other, "x.yml") == yaml_text
    assert object_text(one, "x.json") == object_text(other, "x.json")
    assert object_text({"b": "1", "a": [1]}, "x.json") == '{\n  "a": [\n    1\n  ],\n  "b": "1"\n}\n'


def test_several_objects_are_documents_or_a_list() -> None:
    assert objects_text([{"a": 1}, {"b": "on"}], "x.yaml") == HEADER + 'a: 1\n---\nb: "on"\n'
    assert objects_text([{"a": 1}], "x.json") == '[\n  {\n    "a": 1\n  }\n]\n'
    assert objects_text([], "x.yaml") == HEADER
    assert objects_text([], "x.json") == "[]\n"


def test_values_that_only_cel_has() -> None:
    found = {
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "span": timedelta(seconds=90),
        "number": cel.UInt(7),
        "none": None,
    }
    text = HEADER + 'none: null\nnumber: 7\nspan: 1m30s\ntime: "2026-01-01T00:00:00Z"\n'
    assert object_text(found, "x.yaml").replace('"1m30s"', "1m30s") == text


@pytest.mark.parametrize(
    ("value", "path", "why"),
    (
        ("text", "x.yaml", "the object is a string"),
        ([], "x.yaml", "the object is a list"),
        ({}, "x.conf", "ends in none"),
        ({}, "x.YAML", "ends in none"),
        ({1: 2}, "x.json", "the key 1"),
        ({0: 2, "a": 1}, "x.json", "the key 0"),
        ({"a": b"x"}, "x.json", "type bytes"),
        ({"a": float("nan")}, "x.json", "nan"),
        ({"a": cel.TypeValue("int")}, "x.json", "type type"),
        ({"a": "\ud800"}, "x.json", "surrogate"),
        ({"a": "\ud800"}, "x.yaml", "as YAML"),
        ({"a": "x" * (1 << 20)}, "x.json", "more than 1,048,576"),
    ),
)
def test_an_object_that_is_not_written(value: Any, path: str, why: str) -> None:
    with pytest.raises(UnfitError, match=why):
        object_text(value, path)


def test_deep_values_and_strange_elements_are_not_written() -> None:
    deep: Any = {}
    for _ in range(70):
        deep = {"a": deep}
    with pytest.raises(UnfitError, match="deeper than 64"):
        object_text(deep, "x.json")
    with pytest.raises(UnfitError, match="one of the objects is a string"):
        objects_text([{}, "x"], "x.json")


def test_text_ends_with_a_newline() -> None:
    assert plain_text("a") == plain_text("a\n") == "a\n"
