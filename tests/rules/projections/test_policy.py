"""Mistakes in a Projection: each at its place, and none costs another Projection anything."""

from pathlib import Path

import pytest

from tests.rules.projections.repository import fleet

GOOD = {"each": "clusters", "path": "cluster.metadata.name + '.json'", "object": "{'a': 1}"}


@pytest.mark.parametrize(
    ("changed", "code", "why"),
    (
        ({"object": "{'a': cluster.spec.hubAcceptClient}"}, "MUS302", "no field 'hubAcceptClient'"),
        ({"select": {"expression": "cluster.metadata.name"}}, "MUS302", "bool"),
        ({"path": "1"}, "MUS302", "string"),
        ({"path": "cluster.metadata.name +"}, "MUS301", ""),
        ({"object": "'text'"}, "MUS302", "of type string, not a map"),
        ({"object": "[{'a': 1}]"}, "MUS302", "not a map"),
        ({"object": None, "objects": "{'a': 1}"}, "MUS302", "not a list of maps"),
        ({"object": None, "objects": "['a']"}, "MUS302", "not a list of maps"),
        ({"object": None, "text": "{'a': 1}"}, "MUS302", "string"),
        ({"object": None}, "MUS204", "object"),
        ({"object": "{}", "text": "''"}, "MUS", ""),
        ({"objekt": "{}"}, "MUS201", "objekt"),
        ({"each": "cluster"}, "MUS", "forEach"),
        ({"each": {"placment": "apps/web"}}, "MUS201", "placment"),
        ({"each": {"placement": "web"}}, "MUS", "placement"),
        ({"each": {"placement": "apps/web", "pool": "apps/p"}}, "MUS", "forEach"),
        ({"object": "{'a': placement.metadata.name}"}, "MUS302", "placement"),
        ({"object": "{'a': now}"}, "MUS302", "now"),
        ({"each": "all"}, "MUS302", "cluster"),
        ({"select": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "MUS", "In needs values"),
        ({"select": {"kind": "Cluster"}, "object": "{'a': cluster.spec.hubAcceptsClient}"}, "MUS302", "hubAccepts"),
    ),
)
def test_a_mistake_is_found_and_costs_nothing_else(
    tmp_path: Path, changed: dict[str, object], code: str, why: str
) -> None:
    repository = fleet(tmp_path)
    repository.projection("good", **GOOD)
    repository.projection("bad", **{name: value for name, value in {**GOOD, **changed}.items() if value is not None})
    assert sorted(repository.files()) == ["good/a.json", "good/b.json", "good/c.json"]
    found = [one for one in repository.findings if "projection-bad.yaml" in one]
    assert found, repository.findings
    assert any(one.startswith(code) and why in one for one in found), found


def test_a_mistake_has_a_line_and_a_column(tmp_path: Path) -> None:
    repository = fleet(tmp_path)
    repository.write(
        "projection-bad.yaml",
        "apiVersion: muster.dev/v1alpha1\nkind: Projection\nmetadata: {name: bad}\nspec:\n  forEach: clusters\n"
        "  path: cluster.metadata.name + '.json'\n  object: |\n    {\n      'a': cluster.spec.hubAccept\n    }\n",
    )
    (found,) = repository.evaluate().run.findings
    assert (found.code, found.line, found.column) == ("MUS302", 9, 25)
    assert "did you mean 'hubAcceptsClient'" in found.hint
