"""What an object in the cluster says: feedback values, and conditions by the rules of its work.

Source: ocm `pkg/work/spoke/statusfeedback` and `pkg/work/spoke/conditions`.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple

from muster import cel
from muster.cel.declarations import TimeUse
from muster.cel.env import Function
from muster.cel.types import BOOL, DYN, STRING
from muster.data.jsonpath.values import values_at
from muster.data.tree import Tree, mapping_at, mappings_at

#: The prefix of the reasons of all conditions that rules give.
RULE_REASON: Final = "ConditionRule"
_EVALUATED, _INVALID, _ERROR = "ConditionRuleEvaluated", "ConditionRuleInvalid", "ConditionRuleExpressionError"
_MOST_CHARACTERS: Final = 1024
_KNOWN_STATUS: Final = {
    ("apps/v1", "Deployment"): (
        ("ReadyReplicas", ".status.readyReplicas"),
        ("Replicas", ".status.replicas"),
        ("AvailableReplicas", ".status.availableReplicas"),
    ),
    ("apps/v1", "DaemonSet"): (
        ("NumberReady", ".status.numberReady"),
        ("DesiredNumberScheduled", ".status.desiredNumberScheduled"),
        ("NumberAvailable", ".status.numberAvailable"),
    ),
    ("batch/v1", "Job"): (
        ("JobComplete", '.status.conditions[?(@.type=="Complete")].status'),
        ("JobSucceeded", ".status.succeeded"),
    ),
    ("v1", "Pod"): (("PodReady", '.status.conditions[?(@.type=="Ready")].status'), ("PodPhase", ".status.phase")),
}
_KNOWN_RULES: Final = {
    ("batch/v1", "Job", "Complete"): {
        "celExpressions": [
            "hasConditions(object.status)",
            "object.status.conditions.exists(c, c.type in ['Complete', 'Failed'] && c.status == 'True')",
        ],
        "messageExpression": "result ? 'Job is finished' : 'Job is not finished'",
    },
    ("v1", "Pod", "Complete"): {
        "celExpressions": ["object.status.phase in ['Succeeded', 'Failed']"],
        "messageExpression": "'Pod is in phase ' + object.status.phase",
    },
}


class ConditionValue(NamedTuple):
    """The content of a condition."""

    status: str
    reason: str
    message: str = ""


def read_feedback(obj: Tree, rules: Iterable[Tree]) -> tuple[list[Tree], ConditionValue]:
    """Return an object's feedback values, and whether they could be read."""
    values, errors, asked = list[Tree](), list[str](), False
    for rule in rules:
        asked = True
        for name, path in _paths(obj, rule, errors):
            try:
                values += _value(name, path, obj)
            except ValueError as error:
                errors.append(str(error))
    if errors:
        return values, ConditionValue(
            "False", "StatusFeedbackSyncFailed", f"Sync status feedback failed: {'; '.join(errors)}"
        )
    return values, ConditionValue("True", "StatusFeedbackSynced" if asked else "NoStatusFeedbackSynced")


def _paths(obj: Tree, rule: Tree, errors: list[str]) -> Iterator[tuple[str, str]]:
    kind = (obj.get("apiVersion"), obj.get("kind"))
    if rule.get("type") == "WellKnownStatus":
        if kind not in _KNOWN_STATUS:
            errors.append(f"no status of {kind[0]} {kind[1]} is well known")
        yield from _KNOWN_STATUS.get(kind, ())
    version = str(kind[0]).rpartition("/")[2]
    for path in mappings_at(rule, "jsonPaths") if rule.get("type") == "JSONPaths" else ():
        if path.get("version") not in (None, "", version):
            errors.append(f"version set in the path {path.get('name')} is not matched for the related resource")
        else:
            yield str(path.get("name")), str(path.get("path"))


def _value(name: str, path: str, obj: Tree) -> list[Tree]:
    """The value at a path, as an entry of a list; empty if there is none. ValueError if it cannot be reported."""
    value = next(iter(values_at(obj, path)), None)
    if value is None:
        return []
    forms = {bool: ("Boolean", "boolean"), int: ("Integer", "integer"), str: ("String", "string")}
    if value.__class__ not in forms:
        raise ValueError(f"the value for {name} is neither an integer, a boolean nor a string")
    if isinstance(value, str) and len(value) > _MOST_CHARACTERS:
        raise ValueError(f"the value for {name} is longer than {_MOST_CHARACTERS} characters")
    type_, field = forms[value.__class__]
    return [{"name": name, "fieldValue": {"type": type_, field: value}}]


def rule_conditions(obj: Tree, rules: Iterable[Tree]) -> dict[str, ConditionValue]:
    """Return the conditions that rules derive from an object, by type."""
    conditions = dict[str, ConditionValue]()
    for rule in rules:
        type_ = str(rule.get("condition") or "")
        if rule.get("type") == "WellKnownConditions":
            built_in = _KNOWN_RULES.get((str(obj.get("apiVersion")), str(obj.get("kind")), type_))
            texts = {name: rule[name] for name in ("message", "messageExpression") if rule.get(name)}
            if built_in is not None:
                conditions[type_] = _condition(obj, type_, {**built_in, **texts})
        elif rule.get("type") == "CEL":
            conditions[type_] = _condition(obj, type_, rule)
        else:
            conditions[type_] = ConditionValue(
                "Unknown", _INVALID, f"unrecognized condition rule type {rule.get('type')}"
            )
    return conditions


def _condition(obj: Tree, type_: str, rule: Tree) -> ConditionValue:
    try:
        result = all(_evaluated(expression, {"object": obj}) for expression in rule.get("celExpressions") or ())
    except cel.CelError as error:
        return ConditionValue("False", _ERROR, str(error))
    message = str(rule.get("message") or f"Manifest is {'' if result else 'not '}{type_}")
    if rule.get("messageExpression"):
        try:
            text = _message(rule["messageExpression"]).evaluate({"object": obj, "result": result})
            message = str(text) if text != "" else message
        except cel.CelError as error:
            message = str(error)
    return ConditionValue(str(result), _EVALUATED, message)


def _evaluated(expression: str, variables: dict[str, Tree]) -> bool:
    result = _rule(str(expression)).evaluate(variables)
    if not isinstance(result, bool):  # the checker lets a value of unknown type pass
        raise cel.EvaluationError(f"expected bool result of {expression!r}")
    return result


@cache
def _rule(expression: str) -> cel.Program:
    return cel.compile(expression, cel.Env({"object": DYN}, _FUNCTIONS, require_bool=True))


@cache
def _message(expression: str) -> cel.Program:
    return cel.compile(expression, cel.Env({"object": DYN, "result": BOOL}, _FUNCTIONS, result=STRING))


def has_conditions(status: Tree) -> bool:
    """Does a status have conditions?"""
    return bool(mapping_at(status).get("conditions"))


_FUNCTIONS: Final = {"hasConditions": Function(has_conditions, (DYN,), BOOL, moving=TimeUse.CARRIED)}
