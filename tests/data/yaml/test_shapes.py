"""Files that look alike are read by their shape, and give what the strict loader gives."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muster.data.tree import Tree
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.data.yaml.problem import Loaded
from muster.data.yaml.shapes import Shapes
from muster.data.yaml.writing import file_text
from tests.data.yaml.strategies import TRICKY, mappings
from tests.data.yaml.test_fuzz import PIECES
from tests.support.examples import often

#: What may stand where a value stood: also what is no value, or not only one.
OTHERS = (
    *(text for text in TRICKY if "\n" not in text and "\r" not in text),
    "b", "b c", '"b"', "'b'", '"b: c"', "b:", "b: c", "b #c", "b, c", "b]", "b}", "b'", 'b"', '"b', "'b", "b - c",
    "b  c", "|", ">", "[b]", "{b: c}", "12", "0.5", "-1", "1e999", "9" * 30, "null", "true", "Value-0-of-a-shape",
    '"Value-0-of-a-shape"', "'it''s'", '"\\u00e9"', "é",
)  # fmt: skip
LINES = (
    "a: b", "a: b", "c: d", "  e: f", "  g: 1", "- h: i", "- j", "  - k: l", "m:", "  n:", "- ", "o: |", "p: >", "  q",
    "r", "s: 't", "u'", 'v: "w', 'x"', "y: [z, # A", "B]", "C: {D: E,", "F: G}", "H: I # J", "# K: L", "---", "...",
    "--- # M: N", "? O: P", ": Q: R", "? S", ": T", "%U: V", "%YAML 1.2", "&W X: Y", "Z: &aa bb", "cc: *aa",
    "dd: !ee ff", "gg: - hh", "", " ii: jj", "kk: []", "ll: {}", "<<: mm", "nn: null", 'oo: "pp"', "'qq': rr", "?: ss",
    "tt: Value-0-of-a-shape",
)  # fmt: skip

texts = st.one_of(
    mappings.map(emit),
    st.lists(st.sampled_from(LINES), max_size=12).map("\n".join),
    st.lists(st.sampled_from(PIECES), max_size=20).map(lambda pieces: b"".join(pieces).decode("utf-8", "replace")),
)


def told(loaded: Loaded) -> str:
    """What was read, 1 and true and 1.0 told apart."""
    return repr((loaded.documents, loaded.problems, loaded.lost))


def taught(text: str, times: int = 3) -> Shapes:
    """What has read a file so often that it knows its shape."""
    shapes = Shapes()
    for _ in range(times):
        assert shapes.load(text.encode(), "a.yaml") == load_documents(text.encode(), "a.yaml")
    return shapes


@pytest.mark.given_many
@settings(max_examples=often(50), deadline=None)
@given(texts, st.integers(0, 5))
@example("a: [b,\n  c: d\n  ]", 1)
@example("a: {b\n: d\n  }", 1)
@example("a: |\n  b: c", 1)
@example("a:\n  b: c\n  d", 0)
@example("a: 'b\n  c: d'\ne: f'", 1)
@example('a: "b\n  c: d\n  e"', 1)
@example("# a: b\nc: d", 0)
@example("a: b\na: c", 0)
@example("- a: b\n- null", 0)
@example("a: 1\nb: true", 1)
@example("? a: b\n: c: d", 0)
def test_whatever_stands_where_a_value_stood_reads_as_the_strict_loader_reads_it(text: str, which: int) -> None:
    shapes = taught(text)
    places = [found.span() for found in re.finditer(r"(?<=: )[^\n]+$", text, flags=re.MULTILINE)]
    start, end = places[which % len(places)] if places else (0, 0)
    for other in (text[start:end], *OTHERS):
        changed = f"{text[:start]}{other}{text[end:]}".encode()
        loaded = shapes.load(changed, "a.yaml")
        assert told(loaded) == told(load_documents(changed, "a.yaml"))
        if loaded.emitted:
            after = changed.decode().split("\n")
            while after[0].startswith("#"):
                after.pop(0)
            assert file_text(loaded.documents[0].body) == "\n".join(after)


@settings(max_examples=often(35), deadline=None)
@given(mappings)
def test_whatever_muster_writes_reads_as_the_strict_loader_reads_it(tree: dict[str, Tree]) -> None:
    loaded = taught(emit(tree)).load(emit(tree).encode(), "a.yaml")
    assert [document.body for document in loaded.documents] == [tree]


def test_files_of_one_shape_share_equal_values_and_keys() -> None:
    """They are not read one by one: the strict loader makes each value anew."""
    one, two = (f"# An agent's.\nmetadata:\n  name: c{number}\n  of.a/label: eu west\n" for number in (1, 2))
    shapes = taught(one)
    (first,), (second,) = (shapes.load(text.encode(), "a.yaml").documents for text in (one, two))
    assert second.body == {"metadata": {"name": "c2", "of.a/label": "eu west"}}
    assert second.line == 2
    assert second.body["metadata"]["of.a/label"] is first.body["metadata"]["of.a/label"]
    assert list(second.body["metadata"])[1] is list(first.body["metadata"])[1]


def test_it_is_known_of_a_file_that_muster_wrote_it() -> None:
    """Then its text need not be made again, to see whether it stands."""
    text = file_text({"a": "1", "b": {"c": 2, "d": [{"e": "f g"}]}}, header="Ours.")
    shapes = taught(text)
    written = {
        text: True, text.replace("f g", "h"): True, text.replace("2", "3"): True, text.replace('"1"', "1"): True,
        text.replace('"1"', "'1'"): False, text.replace("f g", '"f g"'): False, text.replace("2", "+2"): False,
    }  # fmt: skip
    assert {changed: shapes.load(changed.encode(), "a.yaml").emitted for changed in written} == written


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("12", 12), ("1.50", 1.5), ("true", True), ("yes", "yes"), ('"12"', "12"), ("'a\"b'", 'a"b'), ('"it\'s"', "it's"),
     ("a, b", "a, b"), ("https://a:1", "https://a:1"), ("017", "017"), ('""', "")],
)  # fmt: skip
def test_values_mean_what_they_mean(text: str, meaning: Tree) -> None:
    (document,) = taught("a: b\n").load(f"a: {text}\n".encode(), "a.yaml").documents
    assert repr(document.body) == repr({"a": meaning})


def test_json_is_left_to_the_strict_loader() -> None:
    text = b'{\n"a": "b"\n}\n'
    shapes = Shapes()
    for _ in range(4):
        assert shapes.load(text, "a.json") == load_documents(text, "a.json")
    assert shapes.load(b"a: b\n", "a.json").problems


def test_a_thousand_shapes_are_not_kept_for_ever() -> None:
    shapes = Shapes()
    for number in range(5000):
        shapes.load(b"key%d: value\n" % number, "a.yaml")
    for _ in range(4):
        (document,) = shapes.load(b"key: value\n", "a.yaml").documents
        assert document.body == {"key": "value"}
    assert len(shapes._seen) <= 1024
