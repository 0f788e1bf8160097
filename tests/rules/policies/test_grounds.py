"""What a rule says: digests are stored, so they must not change between versions."""

from dataclasses import replace

import pytest

from muster import cel
from muster.cel.types import DYN, STRING, MapType
from muster.data.kinds import KARMADA_CLUSTER
from muster.rules.policies.environments import policy_environment
from muster.rules.policies.grounds import ConditionTypes, Grounds

_POLICY = policy_environment((KARMADA_CLUSTER,), {})
_MAPS = {name: MapType(STRING, DYN) for name in ("variables", "params")}
ENVIRONMENT = replace(_POLICY, variables={**_POLICY.variables, **_MAPS})


def program(text: str) -> cel.Program:
    return cel.compile(text, ENVIRONMENT)


def digest(text: str, variables: dict[str, str] | None = None, **params: object) -> str:
    compiled = {name: program(expression) for name, expression in (variables or {}).items()}
    return Grounds.of(compiled, params).digest(program(text))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("conditions.A.status == 'True'", '( conditions.A.status\n == "True" ) // why'),
        ("variables.a == 'x' && true", "variables.b == 'x' && true"),
    ],
)
def test_the_way_of_writing_does_not_count(text: str, same: str) -> None:
    variables = {"a": "conditions.A.status", "b": "conditions.A.status"}
    assert digest(text, variables) == digest(same, variables)


OTHERS = (
    "1 == 2",
    "1 == 2u",
    "'1' == '2'",
    "b'1' == b'2'",
    "2 == 1",
    "1 != 2",
    "1.0 == 2.0",
    "[1, 2] == []",
    "[1] == [2]",
    "[[1]] == [[2]]",
    "[[1, 2]] == [[]]",
    "[[1], [2]] == []",
    "has(conditions.A)",
    "has(conditions.B)",
    "'A' in conditions",
    "conditions.all(c, c == 'A')",
    "conditions.exists(c, c == 'A')",
    "{'a': 1} == {'a': 2}",
    "{'a': 1} == {'b': 1}",
    "dyn(self).b.c == 1",
    "dyn(self).c.b == 1",
    "cel.bind(x, 1, x == 2)",
    "variables.a == 1",
    "variables.b == 1",
    "params.a == 1",
    "params.b == 1",
    "size(params) == 1",
    "size(variables) == 1",
)


def test_all_that_an_expression_says_counts() -> None:
    variables = {"a": "conditions.A", "b": "conditions.B"}
    digests = {digest(text, variables, a=1, b=2) for text in OTHERS}
    assert len(digests) == len(OTHERS)
    assert digest("params.a == 1", a=1) != digest("params.a == 1", a=2)
    assert digest("params.a == 1", a=1) == digest("params.a == 1", a=1, b=2)


def test_a_digest_is_the_same_in_every_version() -> None:
    assert digest("conditions.A.status == 'False' && params.n > 1", n=2) == "65962e11a47f"


def test_a_chain_of_variables_costs_a_step_each() -> None:
    chain = {"v0": "conditions.A"} | {f"v{n}": f"[variables.v{n - 1}, variables.v{n - 1}]" for n in range(1, 400)}
    assert len(digest("variables.v399 == 1", chain)) == 12


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("conditions.A.status == reported['B'].status", {"A", "B"}),
        ("status(conditions, 'A') == 'False' && 'C' in previous", {"A", "C"}),
        ("has(conditions.A) && variables.b == 1", {"A", "B"}),
        ("conditions.exists(c, c == 'A')", None),
        ("conditions[variables.b].status == 'True'", None),
        ("variables['b'] == 1", {"B"}),
        ("1 == 2", set()),
    ],
)
def test_types_that_are_read(text: str, types: set[str] | None) -> None:
    read = Grounds.of({"b": program("conditions.B")}, {}).types_read(program(text))
    assert read.every is (types is None)
    if types is not None:
        assert read == ConditionTypes(frozenset(types))
