"""The text of derived files: whatever is derived, the next run reads the same tree back, or it is not written."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.emitter import UnwritableError, emit
from muster.data.yaml.loader import load_documents
from muster.fleet.derived import derived_text
from tests.data.yaml.strategies import trees
from tests.support.examples import often


def derived(payload: Tree) -> Tree:
    """A derived part that repeats a report's payload, as deep as reports are remembered."""
    return {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "status": {"muster": {"accepted": payload}}}


def nested(depth: int, leaf: Tree) -> Tree:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def deep(depth: int, count: int) -> Tree:
    return nested(depth, list(range(count)))


def read_back(text: str) -> Tree:
    (document,) = load_documents(text.encode(), "derived/a.yaml").documents
    return document.body


@pytest.mark.parametrize("depth", [1, 5, 20, 40, 58])
def test_a_text_is_about_as_long_as_what_it_repeats(depth: int) -> None:
    payload = {"data": deep(depth, 8_000)}  # 40 KB in a report's flow style, indented 60 levels 1 MB
    text = derived_text(derived(payload))
    assert len(text) < 1.5 * len(emit(payload, block_depth=1))
    assert read_back(text) == derived(payload)


def test_an_ordinary_object_is_written_in_block_style() -> None:
    payload = {"conditions": [{"type": "Available", "status": "True"}], "data": {"a": {"b": {"c": ["d"]}}}}
    assert "[" not in derived_text(derived(payload))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"data": "x" * limits.FILE}, "bytes, more than 1048576"),
        ({"data": [0] * 200_000}, "values"),
        ({"data": deep(62, 1)}, "nested more than 64 deep"),
        ({"data": "\ud800"}, "surrogate"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(payload: Tree, why: str) -> None:
    with pytest.raises(UnwritableError, match=why):
        derived_text(derived(payload))


@settings(max_examples=often(35), suppress_health_check=[HealthCheck.too_slow])
@example(leaf={"a": "b"}, depth=3, count=30_000)
@given(leaf=trees, depth=st.integers(0, 66), count=st.sampled_from([1, 2, 3, 4, 5, 50, 1_000]))
def test_whatever_is_written_is_read_back(leaf: Tree, depth: int, count: int) -> None:
    body = derived(nested(depth, [leaf] * count))
    try:
        text = derived_text(body)
    except UnwritableError:
        return
    assert len(text.encode()) <= limits.FILE
    loaded = load_documents(text.encode(), "derived/a.yaml")
    assert loaded.problems == ()
    assert [document.body for document in loaded.documents] == [body]
