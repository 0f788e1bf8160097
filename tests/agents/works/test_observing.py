"""Feedback and conditions from an object."""

import pytest

from muster.agents.works.observing import ConditionValue, read_feedback, rule_conditions
from muster.data.tree import Tree

WEB: Tree = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "generation": 2},
    "spec": {"replicas": 3},
    "status": {"readyReplicas": 1, "paused": False, "text": "x" * 2000, "list": [1]},
}


def paths(*found: Tree) -> Tree:
    return {"type": "JSONPaths", "jsonPaths": list(found)}


@pytest.mark.parametrize(
    ("rules", "values", "said"),
    [
        ([], [], ConditionValue("True", "NoStatusFeedbackSynced")),
        (
            [{"type": "WellKnownStatus"}],
            [{"name": "ReadyReplicas", "fieldValue": {"type": "Integer", "integer": 1}}],
            ConditionValue("True", "StatusFeedbackSynced"),
        ),
        (
            [paths({"name": "p", "path": ".status.paused"}, {"name": "n", "path": ".metadata.name", "version": "v1"})],
            [
                {"name": "p", "fieldValue": {"type": "Boolean", "boolean": False}},
                {"name": "n", "fieldValue": {"type": "String", "string": "web"}},
            ],
            ConditionValue("True", "StatusFeedbackSynced"),
        ),
        (
            [
                paths(
                    {"name": "a", "path": ".status.text"},
                    {"name": "b", "path": ".status.list"},
                    {"name": "c", "path": ".x["},
                    {"name": "d", "path": ".spec.replicas", "version": "v2"},
                )
            ],
            [],
            ConditionValue(
                "False",
                "StatusFeedbackSyncFailed",
                "Sync status feedback failed: version set in the path d is not matched for the related resource; "
                "the value for a is longer than 1024 characters; "
                "the value for b is neither an integer, a boolean nor a string; "
                "the JSONPath '.x[' cannot be used: this bracket is not closed",
            ),
        ),
    ],
)
def test_feedback(rules: list[Tree], values: list[Tree], said: ConditionValue) -> None:
    found, got = read_feedback(WEB, rules)
    assert (found, got.status, got.reason) == (values, said.status, said.reason)
    assert sorted(got.message.split("; ")) == sorted(said.message.split("; ")) or len(got.message) == len(said.message)


def test_a_kind_without_well_known_status() -> None:
    found = read_feedback({"apiVersion": "v1", "kind": "Secret"}, [{"type": "WellKnownStatus"}])
    assert found[1].message == "Sync status feedback failed: no status of v1 Secret is well known"


def cel(*expressions: str, **more: str) -> Tree:
    return {"type": "CEL", "condition": "Progressing", "celExpressions": list(expressions), **more}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            cel("object.status.readyReplicas < object.spec.replicas"),
            ConditionValue("True", "ConditionRuleEvaluated", "Manifest is Progressing"),
        ),
        (
            cel("object.spec.replicas == 3", "object.metadata.generation == 1"),
            ConditionValue("False", "ConditionRuleEvaluated", "Manifest is not Progressing"),
        ),
        (cel("true", message="m"), ConditionValue("True", "ConditionRuleEvaluated", "m")),
        (
            cel("false", message="m", messageExpression="string(result) + ' ' + object.metadata.name"),
            ConditionValue("False", "ConditionRuleEvaluated", "false web"),
        ),
        (cel("true", message="m", messageExpression="''"), ConditionValue("True", "ConditionRuleEvaluated", "m")),
        (
            cel("hasConditions(object.status)"),
            ConditionValue("False", "ConditionRuleEvaluated", "Manifest is not Progressing"),
        ),
        (
            {"type": "Lua", "condition": "Progressing"},
            ConditionValue("Unknown", "ConditionRuleInvalid", "unrecognized condition rule type Lua"),
        ),
    ],
)
def test_conditions_by_rules(rule: Tree, said: ConditionValue) -> None:
    assert rule_conditions(WEB, [rule]) == {"Progressing": said}


@pytest.mark.parametrize(
    "expression", ["object.status.missing == 1", "object.spec.replicas", "object.", "1 + 'a' == 2"]
)
def test_an_expression_that_fails_is_false_and_says_why(expression: str) -> None:
    said = rule_conditions(WEB, [cel(expression)])["Progressing"]
    assert (said.status, said.reason) == ("False", "ConditionRuleExpressionError")
    assert said.message
    assert rule_conditions(WEB, [cel("true", messageExpression=expression)])["Progressing"].status == "True"


@pytest.mark.parametrize(
    ("obj", "condition", "said"),
    [
        (
            {"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True"}]}},
            "Complete",
            ("True", "Job is finished"),
        ),
        ({"apiVersion": "batch/v1", "kind": "Job", "status": {}}, "Complete", ("False", "Job is not finished")),
        (
            {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}},
            "Complete",
            ("False", "Pod is in phase Running"),
        ),
        (WEB, "Complete", None),
    ],
)
def test_well_known_conditions(obj: Tree, condition: str, said: tuple[str, str] | None) -> None:
    found = rule_conditions(obj, [{"type": "WellKnownConditions", "condition": condition}])
    assert found == ({} if said is None else {condition: ConditionValue(said[0], "ConditionRuleEvaluated", said[1])})
