"""An edit of TaintPolicies changes a taint on a silent cluster only if it takes away the rule that put it there."""

import json
import random

import pytest

from muster.data.tree import Tree, mappings_at
from tests.support.edits import Repository

WHEN = "variables.full && size(params.zones) == 1"
OTHER = {"key": "other", "effect": "NoSchedule", "when": "status(reported, 'Net') == 'False'"}
#: It handles the silence of another condition.
UNKNOWN = {"key": "lost", "effect": "NoSchedule", "when": "status(reported, 'Net') == 'Unknown'"}


def cluster(disk: str, net: str = "True") -> dict[str, str]:
    conditions = [{"type": "Disk", "status": disk}, {"type": "Net", "status": net}]
    metadata = {"name": "m", "labels": {"a": "b"}}
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata,
            "spec": {"syncMode": "Push"}, "status": {"conditions": conditions}}  # fmt: skip
    return {"m.yaml": json.dumps(body)}


def policy(name: str, taints: list[Tree], **spec: Tree) -> Tree:
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "TaintPolicy", "metadata": {"name": name},
            "spec": {"target": {"kind": "Cluster"}, **spec, "taints": taints}}  # fmt: skip


class Policies:
    """TaintPolicies under random edits; the first has the rule that put the taint `full` there."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.rule: dict[str, Tree] = {"key": "full", "effect": "NoSchedule", "when": WHEN}
        self.body = policy(
            "first", [self.rule],
            params={"zones": ["a"]},
            matchConditions=[{"name": "one", "expression": "has(self.spec)"},
                             {"name": "two", "expression": "!deleting"}],
            variables=[{"name": "disk", "expression": "status(reported, 'Disk')"},
                       {"name": "full", "expression": "variables.disk == 'False'"}],
        )  # fmt: skip
        self.spec = self.body["spec"]
        self.more: list[Tree] = []

    def texts(self) -> dict[str, str]:
        """The files: JSON is YAML."""
        return {f"{body['metadata']['name']}.yaml": json.dumps(body) for body in (self.body, *self.more)}

    # -- edits that leave the rule

    def rename(self) -> None:
        self.body["metadata"]["name"] = f"renamed-{self.chance.randrange(1000)}"

    def label(self) -> None:
        self.body["metadata"]["labels"] = {"team": self.chance.choice("abc")}

    def another_taint(self) -> None:
        self.spec["taints"].insert(
            self.chance.randrange(len(self.spec["taints"]) + 1), self.chance.choice([OTHER, UNKNOWN])
        )

    def another_policy(self) -> None:
        self.more.append(policy(f"more-{len(self.more)}", [self.chance.choice([OTHER, UNKNOWN])]))

    def selector(self) -> None:
        self.spec["target"]["selector"] = {"matchLabels": {"a": "b"}}

    def kinds(self) -> None:
        self.spec["target"].pop("kind", None)
        self.spec["target"]["kinds"] = ["Cluster"]

    def order(self) -> None:
        self.chance.shuffle(self.spec["taints"])
        self.spec["matchConditions"].reverse()

    def guard_names(self) -> None:
        for guard in self.spec["matchConditions"]:
            guard["name"] += "x"

    def variable_names(self) -> None:
        self.spec["variables"][1]["name"] = "isFull"
        self.rule["when"] = WHEN.replace("full", "isFull")

    def another_variable(self) -> None:
        self.spec["variables"].append({"name": f"v{len(self.spec['variables'])}", "expression": "1"})

    def another_param(self) -> None:
        self.spec["params"][f"p{len(self.spec['params'])}"] = self.chance.randrange(9)

    def spaces(self) -> None:
        self.rule["when"] = f"( {self.rule['when']} )  // the same\n"
        self.spec["variables"][0]["expression"] = 'status( reported, "Disk" )'

    # -- edits that take it away

    def drop_policy(self) -> None:
        self.body = policy("first", [OTHER])

    def drop_taint(self) -> None:
        self.spec["taints"] = [OTHER]

    def other_taint(self) -> None:
        self.rule["key"] = "fuller"

    def other_selector(self) -> None:
        self.spec["target"]["selector"] = {"matchLabels": {"a": "c"}}

    def other_when(self) -> None:
        self.rule["when"] = f"{self.rule['when']} && !silent"

    def other_guard(self) -> None:
        self.spec["matchConditions"][0]["expression"] = "has(self.metadata)"

    def other_variable(self) -> None:
        self.spec["variables"][0]["expression"] = "status(previous, 'Disk')"

    def other_param(self) -> None:
        self.spec["params"]["zones"] = ["z"]


KEEPING = ("rename", "label", "another_taint", "another_policy", "selector", "kinds", "order", "guard_names",
           "variable_names", "another_variable", "another_param", "spaces")  # fmt: skip
TAKING = ("drop_policy", "drop_taint", "other_taint", "other_selector", "other_when", "other_guard", "other_variable",
          "other_param")  # fmt: skip


def taints(repository: Repository) -> list[Tree]:
    return [
        taint
        for taint in mappings_at(repository.run()["m"], "spec", "taints")
        if "cluster.karmada.io" not in taint["key"]
    ]


@pytest.mark.parametrize("seed", range(16))
def test_an_edit_that_leaves_the_rule_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    policies, repository = Policies(chance), Repository()
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
    repository.write({"p.yaml": json.dumps(policy("p", [rule, OTHER]))} | cluster("False", "False"))
    assert len(taints(repository)) == 2
    repository.write({"p.yaml": json.dumps(policy("p", [rule, OTHER]))} | cluster("Unknown", net))
    assert [taint["key"] for taint in taints(repository)] == (["full"] if net == "True" else ["full", "other"])


def test_each_policy_that_asks_for_a_taint_is_a_ground() -> None:
    rule = {**OTHER, "when": "status(reported, 'Disk') == 'False'"}
    both, repository = (
        {"a.yaml": json.dumps(policy("a", [rule])), "b.yaml": json.dumps(policy("b", [OTHER]))},
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
    repository.write({"p.yaml": json.dumps(policy("p", [rule]))} | cluster("True", "False"))
    assert [taint["value"] for taint in taints(repository)] == ["x"]
    repository.write({"p.yaml": json.dumps(policy("p", [{**rule, "value": "y"}]))} | cluster("True", "Unknown"))
    assert [taint["value"] for taint in taints(repository)] == ["y"]


def test_a_record_of_an_earlier_version_lifts_nothing() -> None:
    repository = Repository()
    repository.write({"p.yaml": json.dumps(policy("p", [OTHER]))} | cluster("True", "False"))
    assert len(taints(repository)) == 1
    earlier = {"key": "other", "effect": "NoSchedule", "policy": "p", "digest": "0123456789ab"}
    repository.edit_derived("m", lambda body: body["status"]["muster"].update(taints=[earlier]))
    edited = {**OTHER, "when": f"{OTHER['when']} && true"}
    repository.write({"q.yaml": json.dumps(policy("q", [edited]))} | cluster("True", "Unknown"))
    assert len(taints(repository)) == 1
    repository.write({"q.yaml": json.dumps(policy("q", [OTHER]))} | cluster("True", "Unknown"))
    assert taints(repository) == []
