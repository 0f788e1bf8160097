"""Random edits of a policy with a target: those that leave what one of its rules says, and those that take it away."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from muster.data.tree import Tree

#: True of the cluster `m` while its condition Disk is False.
WHEN = "variables.full && size(params.zones) == 1"


def cluster(disk: str, net: str = "True", **labels: str) -> dict[str, str]:
    """The file of the cluster `m`, with two conditions that its agent reports."""
    conditions = [{"type": "Disk", "status": disk}, {"type": "Net", "status": net}]
    body = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "m", "labels": {"a": "b", **labels}},
        "spec": {"syncMode": "Push"},
        "status": {"conditions": conditions},
    }
    return {"m.yaml": json.dumps(body)}


def policy(kind: str, name: str, target: str = "Cluster", **spec: Tree) -> Tree:
    """A policy of a kind for the clusters of another."""
    spec = {"target": {"kind": target}, **spec}
    return {"apiVersion": "muster.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@dataclass
class PolicyEdits:
    """A policy under random edits, and the policies that come beside it.

    `rule`: what holds its expression, at `at`; `rules`: the list with it, None if a policy has one only. `other`: a
    rule about something else; `target`: the kind of the clusters.
    """

    chance: random.Random
    body: Tree
    rule: dict[str, Tree]
    at: str = "when"
    rules: list[Tree] | None = None
    other: Callable[[], Tree] = dict
    more: list[Tree] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        chance: random.Random,
        kind: str,
        spec: Tree,
        rules: str,
        other: Callable[[], Tree],
        at: str = "when",
        target: str = "Cluster",
        full: str = "status(reported, 'Disk') == 'False'",
    ) -> Self:
        """A policy with guards, variables and params; the first of its `rules` uses them."""
        common = {
            "params": {"zones": ["a"]},
            "matchConditions": [
                {"name": "one", "expression": "has(self.spec)"},
                {"name": "two", "expression": "!deleting"},
            ],
            "variables": [
                {"name": "disk", "expression": full.partition(" == ")[0]},
                {"name": "full", "expression": f"variables.disk == {full.partition(' == ')[2]}"},
            ],
        }
        body = policy(kind, "first", target, **common, **spec)
        listed = body["spec"][rules] if rules else None
        return cls(chance, body, listed[0] if listed else body["spec"], at, listed, other)

    @property
    def spec(self) -> Tree:
        """What the policy says."""
        return self.body["spec"]

    def texts(self) -> dict[str, str]:
        """The files: JSON is YAML."""
        bodies = (self.body, *self.more) if self.body else self.more
        return {f"{body['metadata']['name']}.yaml": json.dumps(body) for body in bodies}

    # -- edits that leave the rule

    def rename(self) -> None:
        self.body["metadata"]["name"] = f"renamed-{self.chance.randrange(1000)}"

    def label(self) -> None:
        self.body["metadata"]["labels"] = {"team": self.chance.choice("abc")}

    def another_rule(self) -> None:
        if self.rules is not None:
            self.rules.append(self.other())

    def another_policy(self) -> None:
        metadata = {"name": f"more-{len(self.more)}"}
        self.more.append({**self.body, "metadata": metadata, "spec": self._of_another()})

    def _of_another(self) -> Tree:
        """What another policy says: its rule is about something else."""
        spec = {"target": self.spec["target"], **self.other()} if self.rules is None else {}
        names = ("target", "type", "resource", "score", "interval", "event")
        shared = {name: self.spec[name] for name in names if name in self.spec}
        if "type" in shared:
            shared["type"] = f"Other{len(self.more)}"
        lists = {name: [self.other()] for name in ("rules", "taints") if name in self.spec}
        return json.loads(json.dumps({**shared, **lists, **spec}))

    def selector(self) -> None:
        self.spec["target"]["selector"] = {"matchLabels": {"a": "b"}}

    def kinds(self) -> None:
        target = self.spec["target"]
        if "kind" in target:
            target["kinds"] = [target.pop("kind")]

    def order(self) -> None:
        self.spec["matchConditions"].reverse()
        self.spec["params"] = dict(reversed(self.spec["params"].items()))

    def guard_names(self) -> None:
        for guard in self.spec["matchConditions"]:
            guard["name"] += "x"

    def variable_names(self) -> None:
        name = f"full{self.chance.randrange(1000)}"
        before, self.spec["variables"][1]["name"] = self.spec["variables"][1]["name"], name
        self.rule[self.at] = self.rule[self.at].replace(f"variables.{before} ", f"variables.{name} ")

    def another_variable(self) -> None:
        self.spec["variables"].append({"name": f"v{len(self.spec['variables'])}", "expression": "1"})

    def another_param(self) -> None:
        self.spec["params"][f"p{len(self.spec['params'])}"] = self.chance.randrange(9)

    def spaces(self) -> None:
        self.rule[self.at] = f"( {self.rule[self.at]} )  // the same\n"

    # -- edits that take it away

    def drop_policy(self) -> None:
        self.body = {}

    def other_selector(self) -> None:
        self.spec["target"]["selector"] = {"matchLabels": {"a": "c"}}

    def other_guard(self) -> None:
        self.spec["matchConditions"][0]["expression"] = "!has(self.metadata)"

    def other_param(self) -> None:
        self.spec["params"]["zones"] = []

    def other_variable(self) -> None:
        self.spec["variables"][0]["expression"] = "'True'"


KEEPING = (
    "rename",
    "label",
    "another_rule",
    "another_policy",
    "selector",
    "kinds",
    "order",
    "guard_names",
    "variable_names",
    "another_variable",
    "another_param",
    "spaces",
)
TAKING = ("drop_policy", "other_selector", "other_guard", "other_param", "other_variable")
