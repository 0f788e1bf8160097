"""Keys of labels, wherever one can be written: those that no cluster has are warned of."""

from typing import Any

import pytest

from muster.data.kinds import ALL, Kind
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot
from muster.fleet.objects import Object
from muster.fleet.schemas import common_definitions, schema_of
from muster.rules.checks.labelkeys import LabelKey, label_findings, label_keys
from muster.run.checking import check_snapshot

#: Kinds whose selectors are about objects of other systems.
FOREIGN = {"ClusterDeployment", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
_FLEET = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a, labels: {region: eu, env: prod}}
spec: {hubAcceptsClient: true}
status: {clusterClaims: [{name: zone.example.com, value: z}]}
---
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: b}
spec: {domainLabel: %s, selector: {matchLabels: {%s: prod}}}
---
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata: {name: t}
spec:
  target:
    kind: ManagedCluster
    selector: {matchExpressions: [{key: %s, operator: Exists}, {key: x, operator: NotIn, values: [y]}]}
  taints: [{key: example.com/x, effect: NoSelect, when: "false"}]
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: p, namespace: n}
spec:
  spreadPolicy:
    spreadConstraints:
    - {topologyKey: %s, topologyKeyType: Label}
    - {topologyKey: %s, topologyKeyType: Claim}
"""


def places(
    schema: Any, steps: tuple[str, ...], document: Any, followed: frozenset[str] = frozenset()
) -> list[tuple[tuple[str, ...], Any]]:
    """Every subschema, with its steps; a definition that refers to itself once."""
    found = [(steps, schema)]
    file, _, name = schema.get("$ref", "").partition("#/$defs/")
    if name and not _is_selector(schema) and name not in followed:
        within = common_definitions() if file else document
        found += places(within["$defs"][name], steps, within, followed | {name})
    for field, inner in schema.get("properties", {}).items():
        found += places(inner, (*steps, field), document, followed)
    items = schema.get("items")
    return found + (places(items, (*steps, "[]"), document, followed) if isinstance(items, dict) else [])


def _is_selector(schema: Tree) -> bool:
    return str(schema.get("$ref", "")).endswith("#/$defs/labelSelector")


MARKED = [
    (kind, steps, _is_selector(schema) or schema["x-muster-labels-of"] == "select")
    for kind in ALL
    for steps, schema in places(schema_of(kind), (), schema_of(kind))
    if "x-muster-labels-of" in schema
]


def test_every_selector_says_whose_labels_it_means() -> None:
    unmarked = [
        (kind.name, steps)
        for kind in ALL
        if kind.name not in FOREIGN
        for steps, schema in places(schema_of(kind), (), schema_of(kind))
        if _is_selector(schema) and "x-muster-labels-of" not in schema
    ]
    assert unmarked == []
    assert {kind.name for kind, *_ in MARKED} >= {"DisruptionBudget", "Placement", "Rollout", "Fleet", "TaintPolicy"}


def _keys(kind: Kind, steps: tuple[str, ...], value: Tree, **beside: Tree) -> list[LabelKey]:
    """The keys in an object that has nothing but the value at its place."""
    body: Any = value
    for number, step in enumerate(reversed(steps)):
        body = [body] if step == "[]" else {step: body, **(beside if number == 0 else {})}
    spec = {**body["spec"], "target": {"kind": "ManagedCluster", **body["spec"].get("target", {})}}
    return list(label_keys(Object(kind.id("x"), {"spec": spec}, ())))


@pytest.mark.parametrize(
    ("kind", "steps", "selects"), MARKED, ids=[f"{kind.name}-{'.'.join(steps)}" for kind, steps, _ in MARKED]
)
def test_a_key_is_read_wherever_one_can_be_written(kind: Kind, steps: tuple[str, ...], *, selects: bool) -> None:
    if not selects:
        (named,) = _keys(kind, steps, "region")
        assert (named.key, named.required, named.claim, named.at[-1]) == ("region", False, False, steps[-1])
        return
    for selector, required in (
        ({"matchLabels": {"region": "eu"}}, ["region"]),
        ({"matchExpressions": [{"key": "region", "operator": "Exists"}]}, ["region"]),
        ({"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]}, ["region"]),
        ({"matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["eu"]}]}, []),
        ({"matchExpressions": [{"key": "region", "operator": "DoesNotExist"}]}, []),
        ({}, []),
    ):
        assert [named.key for named in _keys(kind, steps, selector) if named.kinds] == required


def test_a_label_or_claim_that_no_cluster_has_is_a_warning_with_the_nearest_one() -> None:
    def findings(*keys: str) -> list[tuple[str, str]]:
        fleet = check_snapshot(MemorySnapshot({"f.yaml": _FLEET % keys}), None)
        assert not [found for found in fleet.findings if found.fails]
        return [(found.message, found.hint) for found in label_findings(fleet)]

    assert findings("region", "env", "env", "region", "zone.example.com") == []
    assert findings("regoin", "evn", "tier", "regin", "zone.exmple.com") == [
        ("Placement/n/p groups clusters by the label 'regin', which no ManagedCluster has", "did you mean 'region'?"),
        (
            "Placement/n/p groups clusters by the claim 'zone.exmple.com', which no ManagedCluster has",
            "did you mean 'zone.example.com'?",
        ),
        ("TaintPolicy/t requires the label 'tier', which no ManagedCluster has", ""),
        ("DisruptionBudget/b requires the label 'evn', which no cluster has", "did you mean 'env'?"),
        ("DisruptionBudget/b groups clusters by the label 'regoin', which no cluster has", "did you mean 'region'?"),
    ]
