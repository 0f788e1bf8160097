"""Where fields stand, also in broken documents and in JSON."""

import pytest
from hypothesis import given, settings

from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.data.yaml.nodes import Path
from muster.data.yaml.positions import Mark, locate, locate_all, render
from tests.data.yaml.strategies import mappings

TEXT = """\
# head
kind: K   # c
metadata: {name: "n", labels: {a: b}}
spec:
  list:
  - x: 1
    y: >-
      folded
      text

  # c
  - [p, 'q r']
  empty:
"next": é
"""


@pytest.mark.parametrize(
    ("path", "mark"),
    [
        ((), Mark(2, 1, 2, 1, 14, 10, None, 0)),
        (("kind",), Mark(2, 1, 2, 7, 2, 8, "", 1)),
        (("metadata",), Mark(3, 1, 3, 11, 3, 38, None, 1)),
        (("metadata", "name"), Mark(3, 12, 3, 18, 3, 21, '"', 2)),
        (("metadata", "labels", "a"), Mark(3, 32, 3, 35, 3, 36, "", 3)),
        (("spec",), Mark(4, 1, 5, 3, 13, 9, None, 1)),
        (("spec", "list"), Mark(5, 3, 6, 3, 12, 15, None, 2)),
        (("spec", "list", 0), Mark(6, 5, 6, 5, 11, 1, None, 3)),
        (("spec", "list", 0, "y"), Mark(7, 5, 7, 8, 11, 1, ">", 4)),
        (("spec", "list", 1, 1), Mark(12, 9, 12, 9, 12, 14, "'", 4)),
        (("spec", "empty"), Mark(13, 3, 13, 9, 13, 9, "", 2)),
        (("next",), Mark(14, 1, 14, 9, 14, 10, "", 1)),
        (("metadata", "absent", "deeper"), Mark(3, 1, 3, 11, 3, 38, None, 1)),
        (("kind", "absent"), Mark(2, 1, 2, 7, 2, 8, "", 1)),
        (("spec", "list", 2), Mark(5, 3, 6, 3, 12, 15, None, 2)),
        (("spec", "list", -1), Mark(5, 3, 6, 3, 12, 15, None, 2)),
        (("spec", 0), Mark(4, 1, 5, 3, 13, 9, None, 1)),
        (("absent",), Mark(2, 1, 2, 1, 14, 10, None, 0)),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_locates(path: Path, mark: Mark, newline: str, bom: str) -> None:
    assert locate((bom + TEXT.replace("\n", newline)).encode(), 0, path) == mark


def test_locates_several_paths_at_once() -> None:
    marks = locate_all(TEXT.encode(), 0, [("kind",), ("next",), ("kind",)])
    assert [mark.line for mark in marks] == [2, 14, 2]


@pytest.mark.parametrize(
    "broken",
    ["b: [\n", "b: 'x\n", "\tb: 1\n", "b: \x01\n", f"b: {'[' * 100_000}\n", "b: 1\nb: 2\n", "b: *x\n", "b: - c\n"],
)
def test_counts_documents_as_the_loader_does(broken: str) -> None:
    data = f"---\n---\nk: 0\n---\nk: 1\n{broken}---\n---\nk: 2\n---\n{broken}---\nk: 3\n".encode()
    documents = load_documents(data, "a.yaml").documents
    assert [document.body["k"] for document in documents] == [0, 2, 3]
    for document in documents:
        mark = locate(data, document.index, ("k",))
        assert (mark.line, mark.depth) == (document.line, 1)
        assert data.split(b"\n")[mark.value_line - 1][mark.value_column - 1 :] == str(document.body["k"]).encode()


def test_locates_in_the_readable_part_of_a_broken_document() -> None:
    mark = locate(b"a: 1\n---\nb:\n  c: 1\n  d: [x\n", 1, ("b", "c"))
    assert (mark.line, mark.column, mark.depth) == (4, 3, 2)
    assert locate(b"a: 1\n---\nb:\n  c: 1\n  d: [x\n", 1, ("b", "e")).line == 3


@pytest.mark.parametrize("data", [b"", b"a: \xff", b"\x00", b"[" * 100_000, b"x" * (limits.SIZE + 1), b"# c\n"])
@pytest.mark.parametrize("label", ["a.yaml", "a.json"])
@pytest.mark.parametrize("index", [0, 1, 7])
def test_what_cannot_be_read_is_at_its_first_character(data: bytes, label: str, index: int) -> None:
    mark = locate(data, index, ("a",), label=label)
    assert (mark.line, mark.column, mark.depth) == (1, 1, 0)


def test_columns_of_json_count_the_escapes_as_they_are_written() -> None:
    text = '{"a": "\\ud83d\\ude00", "b": {"c": "\\ud83d\\ude00",\n "d": 1}}'
    marks = locate_all(text.encode(), 0, [("a",), ("b", "c"), ("b", "d")], label="a.json")
    lines = text.split("\n")
    assert [lines[mark.line - 1][mark.column - 1 :][:3] for mark in marks] == ['"a"', '"c"', '"d"']
    assert [text[mark.value_column - 1 : mark.end_column - 1] for mark in marks[:2]] == ['"\\ud83d\\ude00"'] * 2


def leaves(tree: Tree, path: Path = ()) -> list[tuple[Path, Tree]]:
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [(path, tree), *(leaf for step, child in children for leaf in leaves(child, (*path, step)))]


@settings(max_examples=100)
@given(mappings)
def test_every_path_of_a_tree_is_found(tree: dict[str, Tree]) -> None:
    text = emit(tree)
    lines = text.split("\n")
    found = leaves(tree)
    for (path, value), mark in zip(found, locate_all(text.encode(), 0, [path for path, _ in found]), strict=True):
        assert mark.depth == len(path)
        assert (mark.style is None) == isinstance(value, dict | list)
        if mark.style == "" and value is not None:
            assert lines[mark.value_line - 1][mark.value_column - 1 : mark.end_column - 1] == emit(value).strip()


@pytest.mark.parametrize(
    ("text", "column", "shown", "under"),
    [
        ("a ##[error]x: !", 15, "a #\\x23[error]x: !", "!"),
        ("::error::y", 10, "\\x3a:error::y", "y"),
        ("a: !##vso[x]", 4, "a: !#\\x23vso[x]", "!"),
        ("  section_start:1:x", 17, "  section_start\\x3a1:x", "1"),
    ],
)
def test_commands_are_escaped_and_the_caret_stays(text: str, column: int, shown: str, under: str) -> None:
    line, caret = render(text, column).split("\n")
    assert line == shown
    assert line[caret.index("^")] == under
