"""What the schemas accept and refuse: a whole object per kind, and one changed value at a time."""

import copy
import re
from pathlib import Path

import pytest

from muster.data.kinds import ALL, BY_GROUP_KIND, Kind
from muster.data.tree import Tree
from tests.schemas.loading import errors, load_yaml, schemas

HERE = Path(__file__).parent
BY_LABEL = {kind.label: kind for kind in ALL}
EXAMPLES: dict[str, Tree] = {
    BY_GROUP_KIND[example["apiVersion"].rpartition("/")[0], example["kind"]].label: example
    for example in load_yaml(HERE / "examples.yaml")
}
ACCEPTED: list[Tree] = load_yaml(HERE / "accepted.yaml")
REFUSED: list[Tree] = load_yaml(HERE / "refused.yaml")
_STEP = re.compile(r"\[(\d+)\]|([^.\[]+)")


def changed(example: Tree, path: str, row: Tree) -> Tree:
    """A copy of an example in which the value at `path` is the row's, or gone."""
    copied = copy.deepcopy(example)
    steps: list[str | int] = [int(index) if index else name for index, name in _STEP.findall(path)]
    parent = copied
    for step in steps[:-1]:
        parent = parent[step]
    if row.get("absent"):
        del parent[steps[-1]]
    else:
        parent[steps[-1]] = row["value"]
    return copied


def title(row: Tree) -> str:
    """The row as a test id."""
    return f"{row['kind']}-{row['at']}-{'absent' if row.get('absent') else row['value']!r}"[:120]


def test_there_is_an_example_and_a_refusal_for_every_kind() -> None:
    names = BY_LABEL.keys()
    assert set(EXAMPLES) == names
    assert {row["kind"] for row in REFUSED} == names


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_the_example_is_accepted(kind: Kind) -> None:
    assert errors(kind.schema, EXAMPLES[kind.label]) == []


@pytest.mark.parametrize("row", ACCEPTED, ids=title)
def test_accepts_the_value(row: Tree) -> None:
    assert errors(BY_LABEL[row["kind"]].schema, changed(EXAMPLES[row["kind"]], row["at"], row)) == []


@pytest.mark.parametrize("row", REFUSED, ids=title)
def test_refuses_the_value_and_says_where(row: Tree) -> None:
    found = errors(BY_LABEL[row["kind"]].schema, changed(EXAMPLES[row["kind"]], row["at"], row))
    place = row.get("error", row["at"])
    assert place.removeprefix("$") in {path.removeprefix("$").removeprefix(".") for path, _ in found}, found


@pytest.mark.parametrize(
    "kind",
    [kind for kind in ALL if schemas()[kind.schema]["properties"].get("spec", {}).get("additionalProperties") is False],
    ids=lambda kind: kind.label,
)
def test_spec_refuses_an_unknown_field(kind: Kind) -> None:
    example = copy.deepcopy(EXAMPLES[kind.label])
    example["spec"]["unknownField"] = 1
    assert [path for path, _ in errors(kind.schema, example)] == ["$.spec"]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_metadata_of_a_live_hub_is_accepted(kind: Kind) -> None:
    example = copy.deepcopy(EXAMPLES[kind.label])
    example["metadata"] |= {
        "uid": "0d4f8e4c-8a54-4b8e-9b1e-6a2f6c1d2e3f",
        "resourceVersion": "12345",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "a", "uid": "b", "controller": True}],
        "finalizers": ["example.com/hold"],
        "somethingNew": {"of": "tomorrow"},
    }
    assert errors(kind.schema, example) == []


@pytest.mark.parametrize("name", ["prod-eu-1", "0", "a" * 63, "prod.eu"])
def test_a_cluster_without_client_configs_may_have_any_dns_name(name: str) -> None:
    cluster = copy.deepcopy(EXAMPLES["ManagedCluster"])
    del cluster["spec"]["managedClusterClientConfigs"]
    cluster["metadata"]["name"] = name
    assert errors("managedcluster", cluster) == []


@pytest.mark.parametrize("text", ["0", "0s", "90s", "1h30m", "1.5h", "100ms", "20h0m0s", "5µs"])
def test_durations_are_go_durations(text: str) -> None:
    assert errors("clusterclaim", changed(EXAMPLES["ClusterClaim"], "spec.lifetime", {"value": text})) == []


@pytest.mark.parametrize("size", [1, "25%", "abc", "0%"])
def test_a_group_size_that_the_placement_itself_judges_is_accepted(size: str | int) -> None:
    path = "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup"
    assert errors("placement", changed(EXAMPLES["Placement"], path, {"value": size})) == []
