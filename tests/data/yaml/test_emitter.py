"""Emitting: what the bytes look like, and that every reader reads the same tree back."""

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from tests.data.yaml.strategies import TRICKY, mappings
from tests.support.examples import often

EXAMPLE = """\
# Written by muster. Edits are overwritten by the next reconcile.
#
# Second line.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: prod-eu-1
  generation: 3
  annotations: {}
spec:
  taints:
  - key: cluster.open-cluster-management.io/unreachable
    effect: NoSelect
    timeAdded: "2026-01-01T00:05:00Z"
  leases: []
status:
  conditions:
  - type: ManagedClusterConditionAvailable
    status: Unknown
    message: Registration agent stopped updating its lease.
    observed: null
    values:
    - - 1
      - - true
    - - a: 0.5
        b: |-
          two
            lines
    - {}
  url: https://api.example.com:6443
  text: |
    one

    three
"""


def test_looks_as_a_person_would_write_it() -> None:
    (document,) = load_documents(EXAMPLE.encode(), "a.yaml").documents
    header = "Written by muster. Edits are overwritten by the next reconcile.\n\nSecond line."
    assert emit(document.body, header=header) == EXAMPLE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("v1.29.4", "v1.29.4"),
        ("two words, and (more): no", '"two words, and (more): no"'),
        ("don't", "don't"),
        ("True", '"True"'),
        ("on", '"on"'),
        ("onward", "onward"),
        ("1e3", '"1e3"'),
        ("2026-01-01T00:00:00Z", '"2026-01-01T00:00:00Z"'),
        ("1:30", '"1:30"'),
        ("a:", '"a:"'),
        ("a #b", '"a #b"'),
        ("a  b", '"a  b"'),
        ("a ", '"a "'),
        ("é", '"é"'),
        ("a\tb", r'"a\tb"'),
        ("\x7f\x85\u2028\ufeff\uffff", r'"\u007f\u0085\u2028\ufeff\uffff"'),
        ("\U0001f600", '"\U0001f600"'),
        ("a\n", "|\n  a"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\n", r'"a\n\n"'),
        (" a\nb", r'" a\nb"'),
        ("a \nb", r'"a \nb"'),
        ("a\nb ", r'"a\nb "'),
        ("a\r\nb", r'"a\r\nb"'),
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (-(2**63), "-9223372036854775808"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e16, "1.0e+16"),
        (5e-324, "5.0e-324"),
        ({}, "{}"),
        ([], "[]"),
    ],
)
def test_scalars(value: Tree, text: str) -> None:
    assert emit({"k": value}) == f"k: {text}\n"


@pytest.mark.parametrize(
    ("tree", "text"), [(["a", [1]], "- a\n- - 1\n"), ([], "[]\n"), ({}, "{}\n"), ("a\nb", '"a\\nb"\n'), (1, "1\n")]
)
def test_a_document_need_not_be_a_mapping(tree: Tree, text: str) -> None:
    assert emit(tree) == text


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": "\ud800"}, "lone surrogate U\\+D800"),
        ({"\udfff": 1}, "lone surrogate U\\+DFFF"),
        ({"a": 2**63}, "64 bits cannot"),
        ({"a": 10**5000}, "16610 bits cannot"),
        ({"a": math.inf}, "inf cannot"),
        ({"a": [math.nan]}, "nan cannot"),
    ],
)
def test_refuses_what_could_not_be_read_back(tree: Tree, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        emit(tree)


@pytest.mark.parametrize("value", [(1,), b"x", {1}, object()])
def test_refuses_what_is_no_tree(value: object) -> None:
    with pytest.raises(TypeError):
        emit({"a": [value]})


def test_refuses_keys_that_are_no_strings() -> None:
    tree: Tree = {1: "a"}
    with pytest.raises(TypeError):
        emit(tree)


def test_refuses_control_characters_in_the_header() -> None:
    with pytest.raises(ValueError, match="control characters"):
        emit({}, header="a\x00b")


def nested(depth: int) -> Tree:
    tree: Tree = "x"
    for level in range(depth):
        tree = [tree] if level % 2 else {"a": tree}
    return {"root": tree}


def test_the_depth_limit_is_the_loaders() -> None:
    fits = nested(limits.DEPTH - 1)
    assert load_documents(emit(fits).encode(), "a.yaml").documents[0].body == fits
    with pytest.raises(ValueError, match="nested more than"):
        emit(nested(limits.DEPTH))
    with pytest.raises(ValueError, match="nested more than"):
        emit(nested(100_000))


@pytest.mark.parametrize("value", [1, "x", "x\ny", {"a": "p\nq"}, [1, ["x\ny"]], {}])
@pytest.mark.parametrize("length", [900, 1000, 1024, 1100, 5000])
def test_long_keys(length: int, value: Tree) -> None:
    check({"k" * length: value, "é" * length: [{"-" * length: value}]})


def check(tree: Tree) -> None:
    text = emit(tree)
    loaded = load_documents(text.encode(), "a.yaml")
    assert loaded.problems == ()
    assert repr(loaded.documents[0].body) == repr(tree)  # also the types, and the order of keys
    assert yaml.load(text, yaml.CSafeLoader) == tree
    assert emit(loaded.documents[0].body) == text


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_strings_are_read_back_by_both_versions_of_yaml(text: str) -> None:
    check({"a": text, text: [text, {text: text}, [text]]})


@settings(max_examples=often(130))
@given(mappings)
def test_every_tree_is_read_back_by_both_versions_of_yaml(tree: dict[str, Tree]) -> None:
    check(tree)


@pytest.mark.parametrize(
    ("block_depth", "text"),
    [
        (1, "a: {b: [1, {c: d}], e: {}}\n"),
        (2, "a:\n  b: [1, {c: d}]\n  e: {}\n"),
        (3, "a:\n  b:\n  - 1\n  - {c: d}\n  e: {}\n"),
        (4, "a:\n  b:\n  - 1\n  - c: d\n  e: {}\n"),
    ],
)
def test_what_is_deep_stands_on_one_line(block_depth: int, text: str) -> None:
    assert emit({"a": {"b": [1, {"c": "d"}], "e": {}}}, block_depth=block_depth) == text


def test_the_depth_limit_holds_on_one_line_too() -> None:
    fits = nested(limits.DEPTH - 1)
    assert load_documents(emit(fits, block_depth=3).encode(), "a.yaml").documents[0].body == fits
    with pytest.raises(ValueError, match="nested more than"):
        emit(nested(limits.DEPTH), block_depth=3)


def test_a_long_key_on_one_line_is_read_back() -> None:
    tree = {"a": {"k" * 2000: {"b": 1}}}
    assert load_documents(emit(tree, block_depth=1).encode(), "a.yaml").documents[0].body == tree
    assert yaml.safe_load(emit(tree, block_depth=1)) == tree


@settings(max_examples=often(130))
@given(tree=mappings, block_depth=st.integers(1, 5))
def test_every_reader_reads_what_is_on_one_line_back(tree: dict[str, Tree], block_depth: int) -> None:
    text = emit(tree, block_depth=block_depth)
    assert load_documents(text.encode(), "a.yaml").documents[0].body == tree
    assert yaml.load(text, Loader=yaml.BaseLoader) == yaml.load(emit(tree), Loader=yaml.BaseLoader)
