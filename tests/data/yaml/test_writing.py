"""What muster and agents write, whoever reads the repository can read back; what nobody could read is not written."""

import pytest

from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.data.yaml.loader import load_documents
from muster.data.yaml.writing import UnwritableError, file_text


def again(text: str) -> Tree:
    """What the strict loader makes of it."""
    loaded = load_documents(text.encode(), "f.yaml")
    assert not loaded.problems
    (document,) = loaded.documents
    return document.body


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param({"kind": "Lease", "spec": {"renewTime": "2026-01-01T00:00:00Z"}}, id="an object"),
        pytest.param({"items": [{"name": f"n{one}", "values": [1, 2]} for one in range(9_000)]}, id="a large one"),
    ],
)
def test_it_is_read_back(tree: Tree) -> None:
    assert again(file_text(tree)) == tree


def test_a_header_is_comments() -> None:
    text = file_text({"kind": "Lease"}, header="Written by muster.\nTwice.")
    assert text.splitlines()[:2] == ["# Written by muster.", "# Twice."]
    assert again(text) == {"kind": "Lease"}


def nested(depth: int) -> Tree:
    tree: Tree = "x"
    for _ in range(depth):
        tree = {"a": tree}
    return tree


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        pytest.param({"a": ["x" * 1_000] * 1_100}, f"more than {limits.FILE}", id="too large to be read"),
        pytest.param({"a": [1] * (limits.NODES + 1)}, "values", id="too many values"),
        pytest.param(nested(limits.DEPTH + 2), "deep|nest", id="too deep"),
        pytest.param({"a": float("nan")}, "nan", id="what is no tree"),
    ],
)
def test_what_nobody_could_read_is_not_written(tree: Tree, why: str) -> None:
    with pytest.raises(UnwritableError, match=why):
        file_text(tree)
