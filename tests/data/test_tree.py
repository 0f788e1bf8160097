"""Digests of trees depend on their data alone."""

import json

from hypothesis import given
from hypothesis import strategies as st

from muster.data.tree import Tree, digest_of

leaves = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.0, "", "a", "1"]))
trees: st.SearchStrategy[Tree] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@given(trees, trees)
def test_trees_have_the_same_digest_whose_sorted_texts_are_the_same(one: Tree, other: Tree) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest_of(one) == digest_of(other)) == same
