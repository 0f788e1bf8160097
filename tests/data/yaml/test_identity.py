"""Guessing which objects a broken document was meant to carry."""

import pytest

from muster.data.yaml.loader import identities, load_documents
from muster.data.yaml.problem import DocumentIdentity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: K\napiVersion: g/v1\nmetadata:\n  name: n\n", [("g/v1", "K", "", "n")]),
        ("kind: 'K' # c\napiVersion: \"g/v1\"\nmetadata: {name: n, namespace: 's'}\n", [("g/v1", "K", "s", "n")]),
        ("kind: K\nmetadata:\n  labels:\n    name: other\n  name: n\n", [("", "K", "", "other")]),
        ("kind: K\nspec:\n  name: other\nmetadata:\n  name: n\n", [("", "K", "", "n")]),
        ("kind: K\nspec:\n  template:\n    kind: Other\n    metadata:\n      name: o\n", [("", "K", "", "")]),
        (
            (
                "kind: List\nitems:\n- kind: A\n  metadata:\n    name: a\n"
                "- apiVersion: v1\n  kind: B\n  metadata: {name: b}\n"
            ),
            [("", "List", "", ""), ("", "A", "", "a"), ("v1", "B", "", "b")],
        ),
        ('{\n  "kind": "K",\n  "metadata": {\n    "name": "n"\n  },\n', [("", "K", "", "n")]),
        ("metadata:\n  name: n\n", []),
        ("just text\n", []),
        ("", []),
    ],
)
def test_scans_lines(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert list(identities(None, text)) == [DocumentIdentity(*fields) for fields in expected]


def test_the_tree_wins_over_the_lines() -> None:
    text = '{"kind": "K", "metadata": {"labels": {"name": "other"}, "name": "n"}, "a": 1, "a": 2}'
    (problem,) = load_documents(text.encode(), "a.json").problems
    assert problem.identity == DocumentIdentity("", "K", "", "n")


def test_items_of_a_broken_list_are_lost() -> None:
    items = "- kind: A\n  metadata: {name: a}\n- kind: B\n  metadata: {name: b}\n  x: [\n"
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    lost = load_documents(text.encode(), "a.yaml").lost
    assert {(identity.kind, identity.name) for identity in lost} == {("List", ""), ("A", "a"), ("B", "b")}


@pytest.mark.parametrize("line", ["kind: " + " " * 200_000 + "\n", "- " * 100_000, "kind: a " * 30_000, "{" * 200_000])
def test_hostile_lines_are_scanned_in_linear_time(line: str) -> None:
    assert len(identities(None, line)) <= 1
