"""The two validators agree, and every refusal becomes a finding with a message of our own."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.data.kinds import ALL, Kind
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree
from muster.data.yaml.emitter import emit
from muster.fleet.objects import Object
from muster.fleet.schema_findings import schema_findings
from muster.fleet.schemas import is_sound
from muster.fleet.violations import validator_of
from tests.schemas.test_values import BY_LABEL, EXAMPLES, REFUSED, changed, title
from tests.support.examples import often


def as_object(kind: Kind, body: Tree) -> Object:
    """The body as an object that was read from one file."""
    data = emit(body).encode()
    id_ = kind.id("x")
    return Object(id_, body, (Part(id_, kind.versions[0], body, Layer.INPUT, SourceFile("x.yaml", "", lambda: data)),))


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_both_accept_the_example(kind: Kind) -> None:
    assert is_sound(kind, EXAMPLES[kind.label])
    assert schema_findings(as_object(kind, EXAMPLES[kind.label])) == []


@pytest.mark.parametrize("row", REFUSED, ids=title)
def test_both_refuse_and_the_finding_has_a_place(row: Tree) -> None:
    kind = BY_LABEL[row["kind"]]
    body = changed(EXAMPLES[row["kind"]], row["at"], row)
    assert not is_sound(kind, body)
    findings = schema_findings(as_object(kind, body))
    assert findings
    for finding in findings:
        assert finding.code.startswith("MUS20")
        assert finding.line > 0
        assert finding.message
        assert "\n" not in finding.message
        assert "jsonschema" not in finding.message and "is not valid:" not in finding.message


@pytest.mark.parametrize(
    ("kind", "at", "row", "message"),
    [
        ("Remedy", "spec.decisionMatches[0].expression", {"value": "a"}, "has both 'expression' and 'clusterCondition"),
        ("ConditionPolicy", "spec.target.kinds", {"value": ["Cluster"]}, "spec.target has both 'kind' and 'kinds'"),
        ("ConditionPolicy", "spec.rules[0].statusExpression", {"value": "a"}, "both 'status' and 'statusExpression'"),
        ("NotificationPolicy", "spec.quietHours.to", {"absent": True}, "spec.quietHours.to is missing"),
        (
            "Fleet",
            "spec.adapters.ManagedCluster",
            {"value": ["dns", "dns"]},
            "spec.adapters.ManagedCluster has 'dns' twi",
        ),
        ("ClusterTaintPolicy", "spec.addOnConditions[0].statusValues", {"value": [True]}, 'write "True", with quotes'),
    ],
)
def test_each_message_names_what_is_wrong(kind: str, at: str, row: Tree, message: str) -> None:
    (finding,) = schema_findings(as_object(BY_LABEL[kind], changed(EXAMPLES[kind], at, row)))
    assert message in f"{finding.message}: {finding.hint}"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def paths(tree: Tree, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path of a tree."""
    found = [path] if path else []
    children: list[tuple[Any, Tree]] = []
    if isinstance(tree, dict):
        children = list(tree.items())
    elif isinstance(tree, list):
        children = list(enumerate(tree))
    for step, value in children:
        found += paths(value, (*path, step))
    return found


@settings(max_examples=often(100))
@given(st.data())
def test_the_validators_agree_on_anything(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(ALL))
    body = copy.deepcopy(EXAMPLES[kind.label])
    path = data.draw(st.sampled_from(paths(body)))
    parent = body
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = data.draw(VALUES)
    assert is_sound(kind, body) == validator_of(kind).is_valid(body)
