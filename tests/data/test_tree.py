"""Trees that are the same are written alike, and no others."""

import json

from hypothesis import given
from hypothesis import strategies as st

from muster.data.tree import Tree, is_same

leaves = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.0, "", "a", "1"]))
trees: st.SearchStrategy[Tree] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@given(trees, trees)
def test_trees_are_the_same_whose_texts_are(one: Tree, other: Tree) -> None:
    assert is_same(one, other) == (json.dumps(one) == json.dumps(other))
    assert is_same(one, json.loads(json.dumps(one)))
