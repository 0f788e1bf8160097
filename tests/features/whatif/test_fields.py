"""Fields that are supposed to have a value: where they are declared, and in trees."""

import pytest

from muster.features.whatif.fields import REMOVED, with_value
from muster.features.whatif.supposing import NotSupposable


def test_values_of_trees() -> None:
    tree = {"a": [{"b": 1}, {"b": 2}]}
    assert with_value(tree, ("a", 1, "b"), 3) == {"a": [{"b": 1}, {"b": 3}]}
    assert with_value(None, ("a", "b"), 3) == {"a": {"b": 3}}
    assert with_value(tree, ("a", 0, "b"), REMOVED) == {"a": [{}, {"b": 2}]}
    assert with_value(tree, ("a", 0), REMOVED) == {"a": [{"b": 2}]}
    assert with_value(tree, ("c", "d"), REMOVED) == tree
    assert tree == {"a": [{"b": 1}, {"b": 2}]}
    with pytest.raises(NotSupposable, match="there is no list with an element"):
        with_value(tree, ("a", 2, "b"), 3)
