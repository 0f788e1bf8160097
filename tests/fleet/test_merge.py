"""Parts merge field by field, keyed lists element by element; nobody's word is lost, and nobody's silently replaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.decision import Path
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.fleet.merge import element_key, leaf_at, merge, overlay

KEYS = MANAGED_CLUSTER.list_keys


def taint(key: str, **more: str) -> Tree:
    return {"key": key, "effect": "NoSelect", **more}


@pytest.mark.parametrize(
    ("left", "right", "merged", "conflicts"),
    [
        pytest.param({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, [], id="maps, field by field"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1}}, {"a": {"b": 1}}, [("a", "b")], id="one leaf, one writer"),
        pytest.param({"a": 1}, {"a": {"b": 1}}, {"a": 1}, [("a",)], id="a leaf against a map"),
        pytest.param({"a": [1]}, {"a": [2]}, {"a": [1]}, [("a",)], id="a list without keys is a leaf"),
        pytest.param(
            {"kind": "K", "metadata": {"name": "n"}},
            {"kind": "K", "metadata": {"name": "n"}},
            {"kind": "K", "metadata": {"name": "n"}},
            [],
            id="every part says whose it is",
        ),
        pytest.param(
            {"spec": {"taints": [taint("x")]}},
            {"spec": {"taints": [taint("y")]}},
            {"spec": {"taints": [taint("x"), taint("y")]}},
            [],
            id="elements of other keys follow",
        ),
        pytest.param(
            {"spec": {"taints": [taint("x")]}},
            {"spec": {"taints": [taint("x", timeAdded="t")]}},
            {"spec": {"taints": [taint("x", timeAdded="t")]}},
            [],
            id="elements of one key merge",
        ),
        pytest.param(
            {"spec": {"taints": [taint("x", timeAdded="t")]}},
            {"spec": {"taints": [taint("x", timeAdded="u")]}},
            {"spec": {"taints": [taint("x", timeAdded="t")]}},
            [("spec", "taints", ("x", "NoSelect", ""), "timeAdded")],
            id="a field of one element, two writers",
        ),
        pytest.param(
            {"spec": {"taints": [taint("x")]}},
            {"spec": {"taints": ["no taint"]}},
            {"spec": {"taints": [taint("x"), "no taint"]}},
            [],
            id="what has no key stays what it is",
        ),
    ],
)
def test_merging(left: Tree, right: Tree, merged: Tree, conflicts: list[Path]) -> None:
    found: list[Path] = []
    assert merge(left, right, KEYS, found) == merged
    assert found == conflicts


def test_a_taint_s_value_tells_it_apart_where_upstream_says_so() -> None:
    left, right = {"spec": {"taints": [taint("x", value="1")]}}, {"spec": {"taints": [taint("x", value="2")]}}
    assert len(merge(left, right, MANAGED_CLUSTER.list_keys, [])["spec"]["taints"]) == 2
    conflicts: list[Path] = []
    assert len(merge(left, right, KARMADA_CLUSTER.list_keys, conflicts)["spec"]["taints"]) == 1
    assert conflicts == [("spec", "taints", ("x", "NoSelect"), "value")]


NAMES = st.sampled_from(["a", "b", "c"])
CONDITIONS = st.lists(NAMES, max_size=3, unique=True).map(lambda types: [{"type": t, "status": "True"} for t in types])
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "spec": st.dictionaries(NAMES, st.integers(0, 2) | st.dictionaries(NAMES, st.integers(0, 2)), max_size=3),
        "status": st.fixed_dictionaries({}, optional={"conditions": CONDITIONS}),
    },
)


@given(left=BODIES, right=BODIES)
def test_every_leaf_of_either_side_is_there_or_in_conflict(left: Tree, right: Tree) -> None:
    conflicts: list[Path] = []
    merged = merge(left, right, KEYS, conflicts)
    for path in _leaves(left):
        assert leaf_at(merged, path, KEYS) == leaf_at(left, path, KEYS)
    for path in _leaves(right):
        if not any(path[: len(conflict)] == conflict for conflict in conflicts):
            assert leaf_at(merged, path, KEYS) == leaf_at(right, path, KEYS)


@given(below=BODIES, above=BODIES)
def test_what_lies_above_wins_and_lying_twice_is_lying_once(below: Tree, above: Tree) -> None:
    laid = overlay(below, above, KEYS)
    for path in _leaves(above):
        assert leaf_at(laid, path, KEYS) == leaf_at(above, path, KEYS)
    assert overlay(laid, above, KEYS) == laid


def _leaves(tree: Tree, path: Path = ()) -> list[Path]:
    if isinstance(tree, dict):
        return [leaf for name, value in tree.items() for leaf in _leaves(value, (*path, name))]
    if isinstance(tree, list) and path == ("status", "conditions"):
        keyed = ((element_key(element, ("type",)), element) for element in tree)
        return [leaf for key, element in keyed if key for leaf in _leaves(element, (*path, key))]
    return [path]
