"""Label selectors as Kubernetes has them; and asking them of each thing or of all at once gives the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.kinds import PLACEMENT
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot
from muster.rules.placements.policy import CompiledPlacement
from muster.rules.policies.selectors import Facets, LabelSelector, selector_mistakes
from muster.run.checking import check_snapshot

LABELS = {"region": "eu", "tier": "gold"}


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": {"region": "eu"}}, True),
        ({"matchLabels": {"region": "eu", "tier": "tin"}}, False),
        ({"matchExpressions": [{"key": "region", "operator": "In", "values": ["us", "eu"]}]}, True),
        ({"matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["eu"]}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Near", "values": ["gold"]}]}, False),
        ({"matchLabels": {"tier": "gold"}, "matchExpressions": [{"key": "region", "operator": "Exists"}]}, True),
    ],
)
def test_selecting(selector: Tree, holds: bool) -> None:
    assert LabelSelector.parse(selector).matches(LABELS) is holds


KEYS, VALUES = st.sampled_from(["k", "l"]), st.sampled_from(["v", "w"])
REQUIREMENTS = st.fixed_dictionaries(
    {
        "key": KEYS,
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Near"]),
        "values": st.lists(VALUES, max_size=2),
    }
)
SELECTORS = st.fixed_dictionaries(
    {}, optional={"matchLabels": st.dictionaries(KEYS, VALUES), "matchExpressions": st.lists(REQUIREMENTS, max_size=3)}
)
THINGS = st.dictionaries(st.sampled_from("abcdef"), st.dictionaries(KEYS, VALUES), max_size=6)


@given(things=THINGS, selector=SELECTORS)
def test_all_at_once_is_each_by_itself(things: dict[str, dict[str, str]], selector: Tree) -> None:
    parsed = LabelSelector.parse(selector)
    assert Facets(things).selected(parsed) == {name for name, labels in things.items() if parsed.matches(labels)}


@pytest.mark.parametrize(
    ("text", "matching"),
    [
        ("region=eu", ["a"]),
        ("region==eu", ["a"]),
        ("region!=eu", ["b", "c"]),
        ("region in (eu, us)", ["a", "b"]),
        ("region notin (eu,us),env", ["c"]),
        ("env", ["a", "c"]),
        ("!env", ["b"]),
        ("env=prod, region=eu", ["a"]),
    ],
)
def test_as_kubectl_takes_them(text: str, matching: list[str]) -> None:
    labels = {"a": {"region": "eu", "env": "prod"}, "b": {"region": "us"}, "c": {"env": "prod"}}
    assert [name for name, found in labels.items() if LabelSelector.written(text).matches(found)] == matching


@pytest.mark.parametrize("text", ["", "a=b=c", "region in eu", "=x", "a,,b", "region in ()"])
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(ValueError, match="is no label selector|has an empty requirement"):
        LabelSelector.written(text)


@pytest.mark.parametrize(
    ("entry", "mistakes"),
    [
        ({"key": "a", "operator": "In", "values": ["x"]}, []),
        ({"key": "a", "operator": "In", "values": []}, ["In needs values, and 'a' has none"]),
        ({"key": "a", "operator": "NotIn"}, ["NotIn needs values, and 'a' has none"]),
        ({"key": "a", "operator": "Exists"}, []),
        ({"key": "a", "operator": "Exists", "values": []}, []),
        ({"key": "a", "operator": "DoesNotExist", "values": ["x"]}, ["DoesNotExist takes no values"]),
    ],
)
def test_what_no_api_server_takes_as_a_selector(entry: Tree, mistakes: list[str]) -> None:
    assert [text for _, text in selector_mistakes({"matchExpressions": [entry]})] == mistakes


SELECTING = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: s}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: SELECTOR}}
---
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: b}
spec: {selector: SELECTOR}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: c}
spec: {targetClusters: {labelSelector: SELECTOR}, taints: [{key: k, effect: NoSchedule}]}
---
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata: {name: t}
spec: {target: {kind: Cluster, selector: SELECTOR}, taints: [{key: k, effect: NoSchedule, when: "true"}]}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: p, namespace: n}
spec: {predicates: [{requiredClusterSelector: {labelSelector: SELECTOR}}]}
"""


def test_whoever_selects_with_one_stays_as_it_was() -> None:
    files = {"all.yaml": SELECTING.replace("SELECTOR", "{matchExpressions: [{key: a, operator: In, values: []}]}")}
    fleet = check_snapshot(MemorySnapshot(files))
    found = [one for one in fleet.findings if one.code == "MUS281"]
    assert sorted(str(one.object) for one in found) == [
        "ClusterTaintPolicy/c",
        "DisruptionBudget/b",
        "ManagedClusterSet/s",
        "Placement/n/p",
        "TaintPolicy/t",
    ]
    placement = {one.id: one for one in fleet.compiled.of(CompiledPlacement)}[PLACEMENT.id("p", "n")]
    assert (placement.spec, placement.error) == (None, "Predicate:In needs values, and 'a' has none")
