"""The text of derived files: whatever is derived, the next run reads the same tree back, or it is not written."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from muster.data.decision import OF_ITSELF, Because, Decision, Path
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.emitter import UnwritableError, emit
from muster.data.yaml.loader import load_documents
from muster.fleet import derived as derived_module
from muster.fleet.derived import derived_body, derived_text
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


@settings(max_examples=often(35), deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


CLUSTER = MANAGED_CLUSTER.id("c1")
BECAUSE = Because("r", OF_ITSELF, "")
PATHS: list[Path] = [
    ("metadata", "generation"), ("metadata", "annotations", "muster.dev/spec-digest"), ("spec", "leaseDurationSeconds"),
    ("status", "conditions", ("Ready",)), ("status", "conditions", ("Available",)), ("status", "remedyActions"),
    ("status", "muster", "pending", "Ready"), ("status", "muster", "pending"), ("status", "conditions"),
    ("spec", "taints", ("a", "NoSelect", "")), ("status", "muster"), ("metadata",),
]  # fmt: skip
CONDITION_FIELDS = ("status", "reason", "message", "lastTransitionTime", "observedGeneration", "type", "extra")


def value_at(path: Path) -> st.SearchStrategy[Tree]:
    element = st.lists(st.sampled_from(CONDITION_FIELDS), unique=True, max_size=6).map(
        lambda names: dict.fromkeys(names, "x")
    )
    if isinstance(path[-1], tuple):
        return element
    if path[1:] == ("conditions",):
        return st.lists(element, max_size=2)
    if path in {("metadata",), ("status", "muster"), ("status", "muster", "pending")}:
        return st.dictionaries(st.sampled_from("ab"), st.integers(), max_size=2)
    return st.one_of(st.integers(), st.text(max_size=3), st.lists(st.text(max_size=2), max_size=2))


@st.composite
def decided(draw: st.DrawFn) -> list[Mapping[Path, Tree]]:
    """Values at the same paths, several times."""
    paths = draw(st.lists(st.sampled_from(PATHS), unique=True, min_size=1))
    return [{path: draw(value_at(path)) for path in paths} for _ in range(6)]


@settings(max_examples=often(60), suppress_health_check=[HealthCheck.too_slow])
@given(decided())
def test_parts_with_values_at_the_same_paths_are_each_as_if_they_were_the_first(
    found: list[Mapping[Path, Tree]],
) -> None:
    def part(values: Mapping[Path, Tree]) -> str:
        made = {path: Decision(CLUSTER, path, value, BECAUSE) for path, value in values.items()}
        try:
            return repr(derived_body(CLUSTER, made))
        except (AttributeError, KeyError, TypeError) as error:  # values that no stages decide together
            return type(error).__name__

    later = [part(values) for values in found][3:]
    for one, known in zip(found[3:], later, strict=True):
        derived_module.forget_forms()
        assert part(one) == known
