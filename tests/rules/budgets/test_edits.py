"""An edit of DisruptionBudgets releases what one of them holds only if it takes away the budget, or its terms."""

import json
import random

import pytest

from muster.data.tree import Tree, dig, mappings_at
from tests.support.edits import Repository

NAMES = ("a", "b", "c", "d")
TAINTS = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "TaintPolicy",
    "metadata": {"name": "bad"},
    "spec": {
        "target": {"kind": "Cluster"},
        "taints": [{"key": "bad", "effect": "NoSchedule", "when": "has(self.metadata.labels.bad)"}],
    },
}


def budget(name: str, **spec: Tree) -> Tree:
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "DisruptionBudget", "metadata": {"name": name}, "spec": spec}


def clusters(*bad: str) -> dict[str, str]:
    return {
        f"{name}.yaml": json.dumps(
            {
                "apiVersion": "cluster.karmada.io/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": name, "labels": {"a": "b", **({"bad": "yes"} if name in bad else {})}},
                "spec": {"syncMode": "Push"},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            }
        )
        for name in NAMES
    } | {"taints.yaml": json.dumps(TAINTS)}


class Budgets:
    """DisruptionBudgets under random edits; the first one holds."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        terms = {"maxDisrupted": 1, "ignoreUpTo": 0, "cooldown": "1h", "suspectObserverAt": "100%"}
        domain = chance.choice(({}, {"domainLabel": "a"}))
        self.body = budget(chance.choice(("default", "first")), selector={"matchLabels": {"a": "b"}}, **terms, **domain)
        self.more: list[Tree] = []

    def texts(self) -> dict[str, str]:
        return {f"{body['metadata']['name']}.yaml": json.dumps(body) for body in (self.body, *self.more) if body}

    # -- edits that leave it

    def rename(self) -> None:
        self.body["metadata"]["name"] = f"renamed-{self.chance.randrange(1000)}"

    def label(self) -> None:
        self.body["metadata"]["labels"] = {"team": self.chance.choice("abc")}

    def another_budget(self) -> None:
        name = f"more-{len(self.more)}"
        self.more.append(budget(name, selector={"matchLabels": {"a": self.chance.choice("xy")}}, maxDisrupted=0))

    def order(self) -> None:
        self.body["spec"] = dict(reversed(self.body["spec"].items()))

    def longer_cooldown(self) -> None:
        self.body["spec"]["cooldown"] = "2h"

    def other_removals(self) -> None:
        self.body["spec"]["maxRemoved"] = self.chance.randint(1, 9)

    def broken_budget(self) -> None:
        self.more.append(budget(f"broken-{len(self.more)}", maxDisruptde=1, selector={"matchLabels": {"a": "x"}}))

    # -- edits that take it away

    def drop_budget(self) -> None:
        self.body = {}
        self.more = [body for body in self.more if "maxDisruptde" not in body["spec"]]

    def more_allowed(self) -> None:
        self._sound()["spec"] |= {"maxDisrupted": 4, "cooldown": "0s"}

    def other_clusters(self) -> None:
        self._sound()["spec"]["selector"] = {"matchLabels": {"a": "z"}}

    def allowed_by_a_person(self) -> None:
        allowed = "until 2026-02-01T00:00:00Z: it is so"
        self._sound()["metadata"]["annotations"] = {"muster.dev/allow-disruption": allowed}

    def _sound(self) -> Tree:
        self.more = [body for body in self.more if "maxDisruptde" not in body["spec"]]
        return self.body


KEEPING = ("rename", "rename", "label", "another_budget", "order", "longer_cooldown", "other_removals", "broken_budget")
TAKING = ("drop_budget", "more_allowed", "other_clusters", "allowed_by_a_person")


def tainted(repository: Repository) -> list[str]:
    return [name for name in NAMES if mappings_at(repository.bodies["Cluster", name], "spec", "taints")]


def held(repository: Repository) -> list[str]:
    bodies = ((name, repository.bodies["Cluster", name]) for name in NAMES)
    return [name for name, body in bodies if mappings_at(body, "status", "muster", "held")]


def times(repository: Repository) -> list[list[Tree]]:
    fleet = next(body for (kind, _), body in repository.bodies.items() if kind == "Fleet")
    return [[entry.get("since"), entry.get("met")] for entry in dig(fleet, "status", "muster", "budgets") or ()]


@pytest.mark.parametrize("cooling", [False, True], ids=["exceeded", "cooling down"])
@pytest.mark.parametrize("seed", range(12))
def test_an_edit_that_leaves_the_budget_releases_nothing(seed: int, cooling: bool) -> None:
    budgets, repository = Budgets(random.Random(seed)), Repository()
    bad: tuple[str, ...] = NAMES[:2]  # the built-in budget allows two
    repository.write(budgets.texts() | clusters())
    repository.run()
    repository.write(budgets.texts() | clusters(*bad))
    repository.run()
    if cooling:
        bad = NAMES[:1]
        repository.write(budgets.texts() | clusters(*bad))
        repository.run()
    first = times(repository)
    assert first == [["2026-01-01T12:02:00Z", "2026-01-01T12:03:00Z" if cooling else None]]
    for edit in budgets.chance.choices(KEEPING, k=4):
        getattr(budgets, edit)()
        repository.write(budgets.texts() | clusters(*bad))
        repository.run()
        assert (tainted(repository), held(repository), times(repository)) == ([], list(bad), first), edit
    edit = TAKING[seed % len(TAKING)]
    getattr(budgets, edit)()
    repository.write(budgets.texts() | clusters(*bad))
    repository.run()
    assert tainted(repository) == list(bad), edit
