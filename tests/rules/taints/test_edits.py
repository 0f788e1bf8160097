"""A latched taint stays, whatever is edited: only conditions, and people who delete it, take it off."""

import json
import random

import pytest

from muster.data.tree import Tree, mappings_at
from tests.support.edits import Repository
from tests.support.policy_edits import cluster


def match(type_: str, *statuses: str, operator: str = "In") -> Tree:
    return {"conditionType": type_, "operator": operator, "statusValues": list(statuses)}


class Latches:
    """ClusterTaintPolicies under random edits; the first put the taint `full` on a cluster that is silent now."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.bodies = [self.policy("first")]

    def policy(self, name: str, **more: Tree) -> Tree:
        spec = {
            "addOnConditions": [match("Disk", "False")],
            "removeOnConditions": [match("Disk", "True")],
            "taints": [{"key": "full", "effect": "NoSchedule"}],
            **more,
        }
        return {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "ClusterTaintPolicy",
            "metadata": {"name": name},
            "spec": spec,
        }

    def texts(self) -> dict[str, str]:
        return {f"{body['metadata']['name']}.yaml": json.dumps(body) for body in self.bodies}

    def any(self) -> Tree:
        return self.chance.choice(self.bodies) if self.bodies else self.policy("nobody")

    # -- edits that leave it

    def rename(self) -> None:
        self.any()["metadata"]["name"] = f"renamed-{self.chance.randrange(1000)}"

    def label(self) -> None:
        self.any()["metadata"]["labels"] = {"team": "a"}

    def younger(self) -> None:
        self.any()["metadata"]["creationTimestamp"] = f"2026-01-01T12:00:{self.chance.randrange(60):02}Z"

    def exclude(self) -> None:
        self.any()["spec"]["targetClusters"] = {"exclude": ["m"]}

    def other_clusters(self) -> None:
        self.any()["spec"]["targetClusters"] = {"clusterNames": ["n"]}

    def other_taints(self) -> None:
        self.any()["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}]

    def other_conditions(self) -> None:
        self.any()["spec"]["addOnConditions"] = [match("Net", "False")]

    def no_removal(self) -> None:
        self.any()["spec"]["removeOnConditions"] = []

    def another(self) -> None:
        self.bodies.append(self.policy(f"more-{len(self.bodies)}-{self.chance.randrange(1000)}"))

    def drop(self) -> None:
        if self.bodies:
            self.bodies.remove(self.any())

    # -- edits that take it away

    def removed_by_silence(self) -> None:
        self.bodies.append(self.policy("last", removeOnConditions=[match("Disk", "True", "Unknown")]))

    def removed_by_another_condition(self) -> None:
        self.bodies.append(self.policy("last", removeOnConditions=[match("Net", "False", operator="NotIn")]))


KEEPING = (
    "rename",
    "label",
    "younger",
    "exclude",
    "other_clusters",
    "other_taints",
    "other_conditions",
    "no_removal",
    "another",
    "drop",
)
TAKING = ("removed_by_silence", "removed_by_another_condition", "deleted")


def full(repository: Repository) -> list[Tree]:
    return [t for t in mappings_at(repository.bodies["Cluster", "m"], "spec", "taints") if t["key"] == "full"]


@pytest.mark.parametrize("seed", range(15))
def test_an_edit_takes_no_latched_taint_off(seed: int) -> None:
    latches, repository = Latches(random.Random(seed)), Repository()
    repository.write(latches.texts() | cluster("False"))
    repository.run()
    first = full(repository)
    assert len(first) == 1
    for edit in latches.chance.choices(KEEPING, k=5):
        getattr(latches, edit)()
        repository.write(latches.texts() | cluster("Unknown"))
        repository.run()
        assert full(repository) == first, edit
    edit = TAKING[seed % len(TAKING)]
    if edit == "deleted":
        repository.edit_derived("m", lambda body: body["spec"].pop("taints"))
    else:
        getattr(latches, edit)()
    repository.write(latches.texts() | cluster("Unknown"))
    repository.run()
    assert full(repository) == [], edit
