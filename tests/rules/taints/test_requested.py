"""An edit of TaintPolicies changes a taint on a silent cluster only if it takes away the rule that put it there."""

import json
import random

import pytest

from muster.data.tree import Tree, mappings_at
from tests.support.edits import Repository
from tests.support.policy_edits import KEEPING, WHEN, PolicyEdits, cluster, policy

OTHER = {"key": "other", "effect": "NoSchedule", "when": "status(reported, 'Net') == 'False'"}
#: It handles the silence of another condition.
UNKNOWN = {"key": "lost", "effect": "NoSchedule", "when": "status(reported, 'Net') == 'Unknown'"}


def taint_policy(name: str, taints: list[Tree]) -> Tree:
    return policy("TaintPolicy", name, taints=taints)


class Policies(PolicyEdits):
    """TaintPolicies under random edits; the first has the rule that put the taint `full` there."""

    def drop_taint(self) -> None:
        self.spec["taints"] = [OTHER]

    def other_taint(self) -> None:
        self.rule["key"] = "fuller"

    def other_when(self) -> None:
        self.rule["when"] = f"({self.rule['when'].partition('//')[0]}) && !silent"

    def other_guard(self) -> None:
        self.spec["matchConditions"][0]["expression"] = "has(self.metadata)"

    def other_variable(self) -> None:
        self.spec["variables"][0]["expression"] = "status(previous, 'Disk')"


TAKING = (
    "drop_policy",
    "drop_taint",
    "other_taint",
    "other_selector",
    "other_when",
    "other_guard",
    "other_variable",
    "other_param",
)


def policies_of(chance: random.Random) -> Policies:
    rule = {"key": "full", "effect": "NoSchedule", "when": WHEN}
    return Policies.of(chance, "TaintPolicy", {"taints": [rule]}, "taints", lambda: chance.choice([OTHER, UNKNOWN]))


def taints(repository: Repository) -> list[Tree]:
    return [
        taint
        for taint in mappings_at(repository.run()["m"], "spec", "taints")
        if "cluster.karmada.io" not in taint["key"]
    ]


@pytest.mark.parametrize("seed", range(16))
def test_an_edit_that_leaves_the_rule_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    policies, repository = policies_of(chance), Repository()
    repository.write(policies.texts() | cluster("False"))
    first = taints(repository)
    assert [taint["key"] for taint in first] == ["full"]
    for edit in chance.choices(KEEPING, k=4):
        getattr(policies, edit)()
        repository.write(policies.texts() | cluster("Unknown"))
        assert taints(repository) == first, edit
    edit = TAKING[seed % len(TAKING)]
    getattr(policies, edit)()
    repository.write(policies.texts() | cluster("Unknown"))
    assert taints(repository) == [], edit


@pytest.mark.parametrize("net", ["True", "Unknown"])
def test_a_rule_stays_for_what_it_reads_itself(net: str) -> None:
    repository, rule = Repository(), {**OTHER, "key": "full", "when": "status(reported, 'Disk') == 'False'"}
    repository.write({"p.yaml": json.dumps(taint_policy("p", [rule, OTHER]))} | cluster("False", "False"))
    assert len(taints(repository)) == 2
    repository.write({"p.yaml": json.dumps(taint_policy("p", [rule, OTHER]))} | cluster("Unknown", net))
    assert [taint["key"] for taint in taints(repository)] == (["full"] if net == "True" else ["full", "other"])


def test_each_policy_that_asks_for_a_taint_is_a_ground() -> None:
    rule = {**OTHER, "when": "status(reported, 'Disk') == 'False'"}
    both, repository = (
        {"a.yaml": json.dumps(taint_policy("a", [rule])), "b.yaml": json.dumps(taint_policy("b", [OTHER]))},
        Repository(),
    )
    repository.write(both | cluster("False", "False"))
    assert len(taints(repository)) == 1
    repository.write(both | cluster("True", "Unknown"))
    assert len(taints(repository)) == 1
    repository.write({"b.yaml": both["b.yaml"]} | cluster("True", "Unknown"))
    assert len(taints(repository)) == 1
    repository.write(both | cluster("True", "True"))
    assert taints(repository) == []


def test_another_value_replaces_the_taint() -> None:
    repository, rule = Repository(), {**OTHER, "value": "x"}
    repository.write({"p.yaml": json.dumps(taint_policy("p", [rule]))} | cluster("True", "False"))
    assert [taint["value"] for taint in taints(repository)] == ["x"]
    repository.write({"p.yaml": json.dumps(taint_policy("p", [{**rule, "value": "y"}]))} | cluster("True", "Unknown"))
    assert [taint["value"] for taint in taints(repository)] == ["y"]


def test_a_record_of_an_earlier_version_lifts_nothing() -> None:
    repository = Repository()
    repository.write({"p.yaml": json.dumps(taint_policy("p", [OTHER]))} | cluster("True", "False"))
    assert len(taints(repository)) == 1
    earlier = {"key": "other", "effect": "NoSchedule", "policy": "p", "digest": "0123456789ab"}
    repository.edit_derived("m", lambda body: body["status"]["muster"].update(taints=[earlier]))
    edited = {**OTHER, "when": f"{OTHER['when']} && true"}
    repository.write({"q.yaml": json.dumps(taint_policy("q", [edited]))} | cluster("True", "Unknown"))
    assert len(taints(repository)) == 1
    repository.write({"q.yaml": json.dumps(taint_policy("q", [OTHER]))} | cluster("True", "Unknown"))
    assert taints(repository) == []


@pytest.mark.parametrize("first", [True, False])
def test_a_rule_that_fails_does_not_claim_another_rules_taint(first: bool) -> None:
    """Else the next run of the same instant would write another record."""
    failing = {**OTHER, "when": "self.metadata.labels['missing'] == 'x'"}
    holding = {**OTHER, "when": "status(reported, 'Disk') == 'False'"}
    repository, rules = Repository(), [failing, holding] if first else [holding, failing]
    repository.write({"p.yaml": json.dumps(taint_policy("p", rules))} | cluster("False", "True"))
    (taint,) = taints(repository)
    before = dict(repository.derived)
    assert (taints(repository), repository.derived) == ([taint], before)
    repository.write({"p.yaml": json.dumps(taint_policy("p", rules))} | cluster("True", "True"))
    assert taints(repository) == [taint], "a rule that fails lifts nothing"
    assert taints(repository) == [taint]
