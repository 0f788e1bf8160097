"""Names of new clusters: DNS labels, told apart between namespaces, and none given twice."""

from itertools import islice

import pytest

from muster.rules.pools.model import PoolKey
from muster.rules.pools.scaling import free_ordinals, ordinal_of, stem


def test_a_pool_s_own_name_begins_them() -> None:
    assert stem(PoolKey("pools", "small"), unique=True) == "small"


@pytest.mark.parametrize(("name", "unique"), [("small", False), ("eu.small", True), ("x" * 51, True)])
def test_else_a_hash_tells_them_apart(name: str, unique: bool) -> None:
    found = {stem(PoolKey(namespace, name), unique=unique) for namespace in ("a", "b")}
    assert len(found) == 2
    for one in found:
        assert one.startswith(name.replace(".", "-")[:50])
        assert len(f"{one}-999999") <= 63
        assert "." not in one


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [("small-7", 7), ("small-x", 0), ("smaller-7", 0), ("small", 0), ("small-²", 0), (f"small-{'9' * 18}", 0)],
)
def test_the_ordinal_in_a_name(name: str, ordinal: int) -> None:
    assert ordinal_of(name, "small") == ordinal


def test_names_that_are_taken_are_passed_over() -> None:
    found = islice(free_ordinals("small", 2, {"small-1", "small-3"}), 3)
    assert list(found) == [(2, "small-2"), (4, "small-4"), (5, "small-5")]
