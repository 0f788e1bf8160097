"""Plan files are read strictly: whatever they are, it is a sentence and no traceback."""

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.data.snapshot import Agents
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.plan import planfile
from muster.features.plan.planfile import FORMAT, PlanFileError, plan_text, read_plan
from muster.features.test.memory import MemorySnapshot
from muster.git.agents.listing import AgentRefs
from muster.git.agents.refs import AgentRef
from muster.run.settle import settle
from tests.features.pulses.test_walkthrough import cluster
from tests.support.examples import often

NOW = parse_time("2026-01-01T00:10:00Z")
HEARD = AgentRefs((AgentRef("refs/heads/agents/a", "a" * 40),), Agents())


@cache
def text() -> str:
    return plan_text(settle(MemorySnapshot({"a.yaml": cluster("a")}, commit="0" * 40), NOW), HEARD)


def document() -> Tree:
    return json.loads(text())


def reading(path: Path, tree: Tree) -> planfile.Planned:
    path.write_text(tree if isinstance(tree, str) else json.dumps(tree))
    return read_plan(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tree = document()
    planned = reading(tmp_path / "p", tree)
    assert (planned.now, planned.commit, planned.files) == (NOW, "0" * 40, tree["files"])
    assert planned.agents == {"refs/heads/agents/a": "a" * 40}
    assert "ManagedCluster/a: condition HubAcceptedManagedCluster - -> True" in planned.changes


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": "muster.dev/plan/v2"}, f"its format is not {FORMAT}"),
        ({"now": "yesterday"}, "now is not a time"),
        ({"now": 3}, "now is not a text"),
        ({"commit": None}, "commit is not a text"),
        ({"commit": "HEAD"}, "commit is not the id of a commit"),
        ({"agents": []}, "agents is not an object"),
        ({"agents": {"x": "--upload-pack=x"}}, "is not the id of a commit"),
        ({"files": {"../../etc/passwd": "x"}}, "is not a derived file"),
        ({"files": {"derived/../x.yaml": "x"}}, "is not a derived file"),
        ({"files": {"derived/a.yaml": 1}}, "is not a text"),
        ({"files": None}, "files is not an object"),
        ({"changes": {}}, "changes is not a list"),
        ({"changes": [1]}, "a change is not an object"),
        ({"changes": [{}]}, "a change has no"),
        ({"more": 1}, "it has a field 'more', which plans do not have"),
    ],
)
def test_what_is_no_plan(tmp_path: Path, change: Tree, told: str) -> None:
    with pytest.raises(PlanFileError, match="is not a plan") as caught:
        reading(tmp_path / "p", {**document(), **change})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "NaN", '{"format": 1, "format": 2}', "[" * 100_000, '{"a":' * 50_000, "\ud800"]
)
def test_what_is_not_even_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "p").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(PlanFileError):
        read_plan(tmp_path / "p")


def test_what_is_missing_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanFileError, match="cannot be read: No such file"):
        read_plan(tmp_path / "none")
    with pytest.raises(PlanFileError, match="cannot be read: Is a directory"):
        read_plan(tmp_path)
    monkeypatch.setattr(planfile, "MAX_BYTES", 10)
    with pytest.raises(PlanFileError, match="more than 10 bytes"):
        reading(tmp_path / "p", document())


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=often(35))
@given(st.sampled_from(sorted(document())), trees, st.booleans())
def test_whatever_a_field_holds(tmp_path_factory: pytest.TempPathFactory, field: str, tree: Tree, inside: bool) -> None:
    found = document()
    if inside and found["changes"]:
        found["changes"][0] = {**found["changes"][0], "object": tree}
    else:
        found[field] = tree
    try:
        reading(tmp_path_factory.mktemp("plan") / "p", found)
    except PlanFileError as error:
        assert "is not a plan" in str(error)
