"""What policies may cost: for one object all their expressions and variables together, and a share of a run's limit."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import muster
from muster import cel
from muster.fleet.settings import DEFAULTS
from muster.rules.policies.lazy import LEAST_SHARE, PolicyScope, cost_share
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: About four million units: 500,000 rounds of 8.
HEAVY = "lists.range(500000).all(n, n >= 0)"


def fleet(path: Path, *policies: str, clusters: int = 2) -> Repo:
    repo = new_repository(path / "fleet")
    for number in range(clusters):
        repo.write(f"clusters/c{number}.yaml", cluster(f"c{number}"))
    for number, policy in enumerate(policies):
        repo.write(f"policies/{number}.yaml", policy)
    return repo


def policy(rule: str, variables: str = "") -> str:
    return f"""apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {{name: heavy}}
spec:
  target: {{kind: ManagedCluster}}
  type: example.com/Heavy
  variables: [{variables}]
  rules: [{{name: r, when: "{rule}", status: "True", reason: R, message: m}}]
"""


def condition(run: muster.Run, name: str) -> dict[str, str]:
    body = next(body for body in run.objects if body["kind"] == "ManagedCluster" and body["metadata"]["name"] == name)
    found: dict[str, str] = next(one for one in body["status"]["conditions"] if one["type"] == "example.com/Heavy")
    return found


def test_a_chain_of_variables_costs_no_more_than_one_expression_may(tmp_path: Path) -> None:
    chain = [f"{{name: v0, expression: '{HEAVY}'}}"]
    chain += [f"{{name: v{n}, expression: 'variables.v{n - 1} && {HEAVY}'}}" for n in range(1, 30)]
    run = muster.evaluate(fleet(tmp_path, policy("variables.v29", ", ".join(chain))).path, NOW)
    (found,) = run.findings
    assert found.code == "MUS305"
    assert "2 objects" in found.message
    assert "costs more than 10,000,000 units with what was evaluated before it" in found.message
    assert condition(run, "c0")["reason"] == "PolicyError"


def test_what_one_policy_spends_no_other_lacks(tmp_path: Path) -> None:
    light = policy("true").replace("heavy", "light").replace("Heavy", "Light")
    run = muster.evaluate(fleet(tmp_path, policy(" && ".join([HEAVY] * 3)), light).path, NOW)
    assert [found.code for found in run.findings] == ["MUS305"]
    body = next(body for body in run.objects if body["kind"] == "ManagedCluster")
    assert {one["type"]: one["status"] for one in body["status"]["conditions"]}["example.com/Light"] == "True"


def test_a_variable_is_evaluated_once_also_where_it_fails() -> None:
    programs = {"bad": cel.compile("lists.range(1000).map(n, n).size() / 0"), "good": cel.compile("1 + 1")}
    scope = PolicyScope({}, programs, 1_000_000)
    rule = cel.compile("lists.range(10).exists(n, variables.bad == n) || variables.good == 2")
    assert rule.run(scope, budget=scope.budget).value is True
    assert 1_000_000 - scope.budget.left < 40_000
    assert scope["variables"] == {"good": 2}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("has(variables.good)", True),
        ("has(variables.good) ? variables.good : 0", 2),
        ("variables.?good.orValue(0)", 2),
        ("variables[?'good'].orValue(0)", 2),
        ("'good' in variables", True),
        ("has(variables.other)", False),
        ("variables.?other.orValue(0)", 0),
        ("'other' in variables", False),
    ],
)
def test_a_variable_is_there_before_it_is_evaluated(expression: str, value: object) -> None:
    scope = PolicyScope({}, {"good": cel.compile("1 + 1")}, 1_000_000)
    assert cel.compile(expression).run(scope, budget=scope.budget).value == value


def test_what_a_variable_spends_its_expression_has_spent() -> None:
    scope = PolicyScope({}, {"v": cel.compile(HEAVY)}, 10_000_000)
    result = cel.compile("variables.v").run(scope, budget=scope.budget)
    assert result.value is True
    assert 4_000_000 < result.cost == 10_000_000 - scope.budget.left


@pytest.mark.parametrize(
    ("run_limit", "objects", "share"),
    [
        (500_000_000, 1, 10_000_000),
        (500_000_000, 50, 7_812_500),
        (500_000_000, 64, 7_812_500),  # the same while a fleet grows a little
        (500_000_000, 65, 3_906_250),
        (500_000_000, 1_000_000, LEAST_SHARE),
        (1, 1, LEAST_SHARE),
    ],
)
def test_the_share_of_one_object(run_limit: int, objects: int, share: int) -> None:
    assert cost_share(run_limit, DEFAULTS.expression_cost, objects) == share


def test_an_expression_limit_below_the_least_share_holds() -> None:
    assert cost_share(500_000_000, 1_000, 5) == 1_000


def test_a_fleet_sets_what_a_policy_may_cost(tmp_path: Path) -> None:
    repo = fleet(tmp_path, policy(HEAVY))
    assert not muster.evaluate(repo.path, NOW).findings
    repo.write(
        "fleet.yaml",
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {limits: {policyCost: 4000000}}\n",
    )
    (found,) = muster.evaluate(repo.path, NOW).findings
    assert found.code == "MUS305"
    assert "more than 2,000,000 units" in found.message


def test_of_many_mistakes_in_one_expression_the_first_are_told(tmp_path: Path) -> None:
    run = muster.evaluate(fleet(tmp_path, policy(" || ".join(f"nothing{n}" for n in range(500)))).path, NOW)
    assert [found.code for found in run.findings] == ["MUS302"] * 21
    assert run.findings[-1].message == "480 more issues of this expression are not shown"
