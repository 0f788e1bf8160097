"""Edits that keep what they do not mean: comments, quotes, indentation, line ends, all other bytes."""

import copy
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.data.tree import Tree
from muster.data.yaml.edit import EditError, append, remove, set_value
from muster.data.yaml.loader import load_documents
from muster.data.yaml.nodes import Path
from muster.data.yaml.positions import locate
from tests.data.yaml.authored import Author
from tests.data.yaml.strategies import keys, mappings, trees
from tests.support.examples import often

TEXT = """\
# head
kind: K   # kind
metadata: {name: "n", labels: {a: b}}  # metadata
spec:  # spec
  # above the list
  list:
  - x: 1   # one
    # about y
    y: >-  # folded
      two
      words

  # the second
  - [p, 'q r']  # flow
  empty:   # nothing
  none: ~
  braces: {}
  "quoted": 'it''s'
# between
next: |
  lit
# end
"""


def changed(before: str, after: str) -> str:
    """Return the lines that differ as `-` and `+` lines; fails if they are not in one place."""
    old, new = before.splitlines(), after.splitlines()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    lines = [f"-{line}" for line in old[start : len(old) - end]] + [f"+{line}" for line in new[start : len(new) - end]]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("path", "value", "change"),
    [
        (("kind",), "L", "-kind: K   # kind\n+kind: L   # kind"),
        (("kind",), "yes", '-kind: K   # kind\n+kind: "yes"   # kind'),
        (("kind",), "a\nb", "-kind: K   # kind\n+kind: |-   # kind\n+  a\n+  b"),
        (("kind",), {"a": 1}, "-kind: K   # kind\n+kind:   # kind\n+  a: 1"),
        (("kind",), "K", ""),
        (("metadata", "name"), "m", '-@\n+metadata: {name: "m", labels: {a: b}}  # metadata'),
        (("metadata", "labels", "c"), "x, y", '-@\n+metadata: {name: "n", labels: {a: b, c: "x, y"}}  # metadata'),
        (("metadata", "labels"), {"c": [1]}, '-@\n+metadata: {name: "n", labels: {c: [1]}}  # metadata'),
        (("spec", "list", 0, "x"), [], "-  - x: 1   # one\n+  - x: []   # one"),
        (("spec", "list", 0, "y"), "z", "-    y: >-  # folded\n-      two\n-      words\n+    y: z  # folded"),
        (("spec", "list", 1), 5, "-  - [p, 'q r']  # flow\n+  - 5  # flow"),
        (("spec", "list", 1), {"k": 1, "l": 2}, "-  - [p, 'q r']  # flow\n+  - k: 1  # flow\n+    l: 2"),
        (("spec", "list", 2), "r", "+  - r"),
        (("spec", "empty"), "e", "-  empty:   # nothing\n+  empty: e   # nothing"),
        (("spec", "empty"), [1, {"a": 2}], "+  - 1\n+  - a: 2"),
        (("spec", "empty", "q", "r"), 1, "+    q:\n+      r: 1"),
        (("spec", "empty", 0, "r"), 1, "+  - r: 1"),
        (("spec", "none"), False, "-  none: ~\n+  none: false"),
        (("spec", "braces", "k"), "v", "-  braces: {}\n+  braces:\n+    k: v"),
        (("spec", "quoted"), "don't", "-  \"quoted\": 'it''s'\n+  \"quoted\": 'don''t'"),
        (("spec", "new"), {}, "+  new: {}"),
        (("next",), 1, "-next: |\n-  lit\n+next: 1"),
        (("a", "b"), ["c\nd\n"], "+a:\n+  b:\n+  - |\n+    c\n+    d"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_sets(path: Path, value: Tree, change: str, newline: str) -> None:
    text = TEXT.replace("\n", newline)
    edited = set_value(text, 0, path, value)
    assert changed(text, edited) == change.replace("-@", "-" + TEXT.splitlines()[2])
    assert edited.count("\n") == edited.count(newline)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (("kind",), "-kind: K   # kind"),
        (("metadata", "name"), "-@\n+metadata: {labels: {a: b}}  # metadata"),
        (("metadata", "labels"), '-@\n+metadata: {name: "n"}  # metadata'),
        (("metadata", "labels", "a"), '-@\n+metadata: {name: "n", labels: {}}  # metadata'),
        (("spec", "list", 0, "x"), "-  - x: 1   # one\n+  -"),
        (("spec", "list", 0, "y"), "-    y: >-  # folded\n-      two\n-      words"),
        (("spec", "list", 1), "-  - [p, 'q r']  # flow"),
        (("spec", "list", 1, 0), "-  - [p, 'q r']  # flow\n+  - ['q r']  # flow"),
        (("spec", "empty"), "-  empty:   # nothing"),
        (("next",), "-next: |\n-  lit"),
    ],
)
def test_removes(path: Path, change: str) -> None:
    assert changed(TEXT, remove(TEXT, 0, path)) == change.replace("-@", "-" + TEXT.splitlines()[2])


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (("spec", "list"), "+  - z: [1]".replace("[1]", "\n+    - 1").replace(": \n", ":\n")),
        (("spec", "list", 1), "-  - [p, 'q r']  # flow\n+  - [p, 'q r', {z: [1]}]  # flow"),
        (("spec", "none"), "-  none: ~\n+  none:\n+  - z:\n+    - 1"),
        (("spec", "more"), "+  more:\n+  - z:\n+    - 1"),
    ],
)
def test_appends(path: Path, change: str) -> None:
    assert changed(TEXT, append(TEXT, 0, path, {"z": [1]})) == change


@pytest.mark.parametrize(
    ("text", "path", "value", "edited"),
    [
        ("a:\n    b: 1\n", ("a", "c", "d"), 2, "a:\n    b: 1\n    c:\n        d: 2\n"),
        ("a:\n  - 1\nb: 0\n", ("b",), [{"c": [2]}], "a:\n  - 1\nb:\n  - c:\n    - 2\n"),
        ("a: 1", ("b",), 2, "a: 1\nb: 2"),
        ("a: 1\r\n", ("b",), "x\ny", "a: 1\r\nb: |-\r\n  x\r\n  y\r\n"),
        ("\ufeffa: 1 # é\n", ("a",), 2, "\ufeffa: 2 # é\n"),
        ("a: |+\n  x\n\n\n", ("b",), 1, "a: |+\n  x\n\n\nb: 1\n"),
        ("a: |+\n  x\n\n\nc: 1\n", ("a",), "z", "a: z\nc: 1\n"),
        ("a:\n  # why\n  'x' # where\nb: 1\n", ("a",), [1], "a:\n  # why\n   # where\n- 1\nb: 1\n"),
        ("a: x\n  # why\nb: 1\n", ("a",), "y\nz", 'a: "y\\nz"\n  # why\nb: 1\n'),
        ("a:\n\n  - x\nb: 1\n", ("a",), "y\nz", 'a: "y\\nz"\n\nb: 1\n'),
        ("a:\n  x\nb: 1\n", ("a",), "z", "a:\n  z\nb: 1\n"),
        ("a: {b}\n", ("a", "b"), 1, "a: {b: 1}\n"),
        ("a: {b: , c: 1,}\n", ("a", "b"), 1, "a: {b: 1, c: 1,}\n"),
        ("a: {b: 1,}\n", ("a", "d"), 1, "a: {b: 1, d: 1,}\n"),
        ("a: [\n  1, # one\n  2 # two\n]\n", ("a", 2), 3, "a: [\n  1, # one\n  2,\n  3 # two\n]\n"),
        ("- \n---\na: 1\n---\na: 2\n", ("a",), 3, "- \n---\na: 3\n---\na: 2\n"),
        ("b: [\n---\na: 1\n...\n---\na: 2\n", ("a",), 3, "b: [\n---\na: 3\n...\n---\na: 2\n"),
    ],
)
def test_sets_in_odd_places(text: str, path: Path, value: Tree, edited: str) -> None:
    index = 1 if "---" in text else 0
    assert set_value(text, index, path, value) == edited


@pytest.mark.parametrize(
    ("text", "path", "edited"),
    [
        ("a: 1\nb: 2", ("b",), "a: 1"),
        ("a: 1\n", ("a",), "{}\n"),
        ("a: |\n  x\nb: 2", ("b",), "a: |\n  x\n"),
        ("a:\n- 1 # one\n", ("a", 0), "a: []\n"),
        ("- 0\n---\na:\n- - 1\n  - 2\n", ("a", 0, 0), "- 0\n---\na:\n- - 2\n"),
        ("a:\n-\n  # c\n  b: 1\n-\n  d: 1\n", ("a", 1), "a:\n-\n  # c\n  b: 1\n"),
        ("a: [\n  1, # one\n  2 # two\n]\n", ("a", 0), "a: [\n   # one\n  2 # two\n]\n"),
        ("a: [\n  1, # one\n  2 # two\n]\n", ("a", 1), "a: [\n  1 # one\n   # two\n]\n"),
        ("a: {b: 1, c: 2,}\n", ("a", "c"), "a: {b: 1,}\n"),
        ("a: {b: 1,}\n", ("a", "b"), "a: {}\n"),
    ],
)
def test_removes_in_odd_places(text: str, path: Path, edited: str) -> None:
    assert remove(text, 1 if "---" in text else 0, path) == edited


def test_json_stays_json() -> None:
    text = '{\n  "a": {"b": 1},\n  "l": [\n    1\n  ]\n}'
    assert set_value(text, 0, ("a", "c"), "x") == text.replace("1},", '1, "c": "x"},')
    assert append(text, 0, ("l",), {"k": None}) == text.replace("    1\n", '    1,\n    {"k": null}\n')
    assert set_value(text, 0, ("z",), {"y": ["x"]}) == text.replace("  ]\n", '  ],\n  "z": {"y": ["x"]}\n')
    assert remove(text, 0, ("a",)) == text.replace('  "a": {"b": 1},\n', "")
    assert set_value("{}", 0, ("a",), "b") == '{"a": "b"}'


@pytest.mark.parametrize(
    ("text", "index", "path", "value", "message"),
    [
        ("a: 1\n", 0, ("a", "b"), 1, "a is a single value: there is no place for a.b"),
        ("a: []\n", 0, ("a", "b"), 1, "a is a list: there is no place for a.b"),
        ("a: [1]\n", 0, ("a", 2), 1, "a is a list: there is no place for a[2]"),
        ("a: {}\n", 0, ("a", 0), 1, "a is a mapping: there is no place for a[0]"),
        ("a: 1\n", 1, ("a",), 1, "the file has no document 1"),
        ("", 0, ("a",), 1, "the file has no document 0"),
        ("a: 1\na: 2\n", 0, ("a",), 1, "the document cannot be read: line 2: the key 'a' appears twice"),
        ("a: \ud800\n", 0, ("a",), 1, "the document cannot be read: line 1: byte 0xed is not UTF-8"),
        ("a: 1\n", 0, (), [1], "a document is a mapping"),
        ("a: 1\n", 0, ("a",), float("inf"), "inf cannot be written"),
        ("a: 1\n", 0, ("a",), "\ud800", "lone surrogate"),
        ("a: 1\n", 0, ("a",), object(), "object is not part of a YAML tree"),
        ("? a\n: b\n? c\n: d\n", 0, ("e",), 1, ""),
    ],
)
def test_refuses_or_is_right(text: str, index: int, path: Path, value: Tree, message: str) -> None:
    try:
        edited = set_value(text, index, path, value)
    except EditError as error:
        assert message in str(error)
    else:
        assert message == ""
        assert load_documents(edited.encode(), "a.yaml").documents[index].body == {"a": "b", "c": "d", "e": 1}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("nope",), "there is no nope"),
        (("kind", "x"), "there is no kind.x"),
        (("spec", "list", 7), "there is no spec.list[7]"),
        ((), "cannot be removed"),
    ],
)
def test_removes_only_what_is_there(path: Path, message: str) -> None:
    with pytest.raises(EditError, match=re.escape(message)):
        remove(TEXT, 0, path)


def test_appends_only_to_lists() -> None:
    with pytest.raises(EditError, match="kind is not a list"):
        append(TEXT, 0, ("kind",), 1)


# Properties


def paths(tree: Tree, path: Path = ()) -> list[Path]:
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(found for step, child in children for found in paths(child, (*path, step)))]


def at(tree: Tree, path: Path) -> Tree:
    for step in path:
        tree = tree[step]
    return tree


def check(text: str, edited: str, expected: Tree, span: Path) -> None:
    """The result says what is expected, and no line outside of the field at `span` has changed."""
    (document,) = load_documents(edited.encode(), "a.yaml").documents
    assert document.body == expected
    mark = locate(text.encode(), 0, span)
    assert mark.depth == len(span)
    old, new = text.splitlines(keepends=True), edited.splitlines(keepends=True)
    first = mark.line - 1
    if span and isinstance(span[-1], int):  # an item's dash may stand on a line above
        parent = locate(text.encode(), 0, span[:-1])
        while first >= parent.line and old[first][parent.value_column - 1 : parent.value_column] != "-":
            first -= 1
    # A last line that goes takes with it the line end before, where the file does not end with one.
    assert edited.startswith("".join(old[:first]).rstrip("" if text.endswith("\n") else "\r\n"))
    if behind := old[mark.end_line :]:
        assert new[-len(behind) :] == behind
    assert edited.endswith("\n") or not text.endswith("\n")
    assert "\r\n" not in text or edited.count("\n") == edited.count("\r\n")


def comments(text: str) -> set[str]:
    return set(re.findall(r"#\d+\.", text))


def write(tree: dict[str, Tree], random: Random) -> str:
    text = Author(random).write(tree)
    (document,) = load_documents(text.encode(), "a.yaml").documents
    assert document.body == tree
    return text


randoms = st.randoms(use_true_random=False)
SETTINGS = settings(max_examples=often(50))


@SETTINGS
@given(mappings.filter(bool), randoms, trees, st.data())
def test_setting_changes_nothing_else(tree: dict[str, Tree], random: Random, value: Tree, data: st.DataObject) -> None:
    text = write(tree, random)
    path = data.draw(st.sampled_from(paths(tree)[1:]))
    expected = copy.deepcopy(tree)
    old = at(expected, path)
    at(expected, path[:-1])[path[-1]] = value
    edited = set_value(text, 0, path, value)
    check(text, edited, expected, path)
    if not isinstance(old, dict | list):
        assert comments(edited) >= comments(text)


@SETTINGS
@given(mappings.filter(bool), randoms, st.data())
def test_removing_changes_nothing_else(tree: dict[str, Tree], random: Random, data: st.DataObject) -> None:
    text = write(tree, random)
    path = data.draw(st.sampled_from(paths(tree)[1:]))
    expected = copy.deepcopy(tree)
    del at(expected, path[:-1])[path[-1]]
    edited = remove(text, 0, path)
    # Beside a dash, the next sibling takes the place of the first; and a parent that is left empty becomes `{}`.
    parent = at(tree, path[:-1])
    first = 0 if isinstance(parent, list) else next(iter(parent))
    check(text, edited, expected, path[:-1] if path[-1] == first else path)


@SETTINGS
@given(mappings, randoms, keys, trees, st.data())
def test_adding_changes_nothing_else(
    tree: dict[str, Tree], random: Random, key: str, value: Tree, data: st.DataObject
) -> None:
    text = write(tree, random)
    containers = [path for path in paths(tree) if isinstance(at(tree, path), dict | list)]
    path = data.draw(st.sampled_from(containers))
    expected = copy.deepcopy(tree)
    parent = at(expected, path)
    if isinstance(parent, list):
        parent.append(value)
        edited = append(text, 0, path, value)
    else:
        parent.pop(key, None)
        base = copy.deepcopy(expected)
        text = write(base, random)
        parent[key] = value
        edited = set_value(text, 0, (*path, key), value)
    check(text, edited, expected, path)
    assert comments(edited) >= comments(text)
