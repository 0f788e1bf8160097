"""An edit of Remedies changes an action on a silent cluster only if it takes away the match that held."""

import json
import random
from copy import deepcopy

import pytest

from muster.data.tree import Tree, dig
from tests.support.edits import Repository

ACTION = "TrafficControl"
TYPES = ("Dns", "Disk", "Net")


def condition(type_: str, operator: str = "Equal", status: str = "False") -> Tree:
    return {"clusterConditionMatch": {"conditionType": type_, "operator": operator, "conditionStatus": status}}


def expression(type_: str) -> Tree:
    return {"expression": f"status(conditions, '{type_}') == 'False'"}


def remedy(name: str, matches: list[Tree], clusters: list[str] | None = None) -> Tree:
    spec = {"decisionMatches": matches, "actions": [ACTION]}
    return {
        "apiVersion": "remedy.karmada.io/v1alpha1",
        "kind": "Remedy",
        "metadata": {"name": name},
        "spec": spec if clusters is None else {"clusterAffinity": {"clusterNames": clusters}, **spec},
    }


class Remedies:
    """Remedies under random edits. `held`: the match for which the first acts."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.held = chance.choice([condition, expression])("Dns")
        others = chance.sample([condition("Disk"), expression("Net"), condition("Net", "Equal", "True")], 2)
        matches = [self.held, *others[: chance.randrange(3)]]
        chance.shuffle(matches)
        self.bodies = [remedy("first", matches, chance.choice([None, ["m"], ["m", "n"]]))]

    def texts(self) -> dict[str, str]:
        """The files: JSON is YAML."""
        return {f"{body['metadata']['name']}.yaml": json.dumps(body) for body in self.bodies}

    def with_held(self) -> list[Tree]:
        return [body for body in self.bodies if self.held in body["spec"]["decisionMatches"]]

    # -- edits that leave the match where it is

    def rename(self) -> None:
        body = self.chance.choice(self.bodies)
        body["metadata"]["name"] = f"renamed-{self.chance.randrange(1000)}"

    def label(self) -> None:
        self.chance.choice(self.bodies)["metadata"]["labels"] = {"team": self.chance.choice("abc")}

    def order(self) -> None:
        for body in self.bodies:
            self.chance.shuffle(body["spec"]["decisionMatches"])

    def another_match(self) -> None:
        match = self.chance.choice([condition("Net"), condition("Disk", "NotEqual", "True"), expression("Gpu")])
        self.chance.choice(self.bodies)["spec"]["decisionMatches"].append(match)

    def fewer_matches(self) -> None:
        for body in self.with_held():
            body["spec"]["decisionMatches"] = [self.held]

    def another_cluster(self) -> None:
        for body in self.bodies:
            names = dig(body, "spec", "clusterAffinity", "clusterNames")
            if names is not None:
                names.append(f"x{self.chance.randrange(100)}")

    def every_cluster(self) -> None:
        self.chance.choice(self.bodies)["spec"].pop("clusterAffinity", None)

    def another_action(self) -> None:
        self.chance.choice(self.bodies)["spec"]["actions"].append("Page")

    def another_remedy(self) -> None:
        self.bodies.append(remedy(f"more-{len(self.bodies)}", [condition("Gpu")]))

    def split(self) -> None:
        body = self.with_held()[0]
        body["spec"]["decisionMatches"].remove(self.held)
        body["spec"]["decisionMatches"].append(condition("Gpu"))
        self.bodies.append(remedy(f"split-{len(self.bodies)}", [deepcopy(self.held)], ["m"]))

    def spaces(self) -> None:
        for body in self.with_held():
            for match in body["spec"]["decisionMatches"]:
                if match == self.held and "expression" in match:
                    match["expression"] = "(status( conditions,\n \"Dns\" ) == 'False')  // the same"
        if "expression" in self.held:
            self.held = {"expression": "(status( conditions,\n \"Dns\" ) == 'False')  // the same"}

    # -- edits that take it away

    def drop_match(self) -> None:
        for body in self.with_held():
            body["spec"]["decisionMatches"].remove(self.held)
            body["spec"]["decisionMatches"].append(condition("Gpu"))

    def other_status(self) -> None:
        for body in self.with_held():
            matches = body["spec"]["decisionMatches"]
            matches[matches.index(self.held)] = condition("Dns", "Equal", "True")

    def drop_action(self) -> None:
        for body in self.with_held():
            body["spec"]["actions"].remove(ACTION)

    def drop_cluster(self) -> None:
        for body in self.with_held():
            body["spec"]["clusterAffinity"] = {"clusterNames": ["n"]}

    def drop_remedy(self) -> None:
        self.bodies = [body for body in self.bodies if body not in self.with_held()]


KEEPING = (
    "rename",
    "label",
    "order",
    "another_match",
    "fewer_matches",
    "another_cluster",
    "every_cluster",
    "another_action",
    "another_remedy",
    "split",
    "spaces",
)
TAKING = ("drop_match", "other_status", "drop_action", "drop_cluster", "drop_remedy")


def cluster(status: str, *, others: str) -> dict[str, str]:
    statuses = {"Dns": status, "Disk": others, "Net": "Unknown"}
    conditions = [{"type": type_, "status": statuses[type_]} for type_ in TYPES]
    body = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "m"},
        "spec": {"syncMode": "Push"},
        "status": {"conditions": conditions},
    }
    return {"m.yaml": json.dumps(body)}


def actions(repository: Repository) -> list[str]:
    found = dig(repository.run(), "m", "status", "remedyActions")
    return list(found) if isinstance(found, list) else []


@pytest.mark.parametrize("seed", range(12))
def test_an_edit_that_leaves_the_match_that_held_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    remedies, repository = Remedies(chance), Repository()
    repository.write(remedies.texts() | cluster("False", others="True"))
    assert actions(repository) == [ACTION]
    repository.write(remedies.texts() | cluster("Unknown", others="Unknown"))
    assert actions(repository) == [ACTION]
    for edit in chance.choices(KEEPING, k=4):
        getattr(remedies, edit)()
        repository.write(remedies.texts() | cluster("Unknown", others="Unknown"))
        assert actions(repository) == [ACTION], edit
    edit = TAKING[seed % len(TAKING)]
    getattr(remedies, edit)()
    repository.write(remedies.texts() | cluster("Unknown", others="Unknown"))
    assert actions(repository) == [], edit


@pytest.mark.parametrize("matches", [[condition("Dns")], [expression("Dns")]])
def test_a_record_of_an_earlier_version_lifts_nothing(matches: list[Tree]) -> None:
    repository = Repository()
    repository.write({"r.yaml": json.dumps(remedy("r", matches))} | cluster("False", others="True"))
    assert actions(repository) == [ACTION]
    kind = {"expression": True} if "expression" in matches[0] else {"conditions": ["Dns"]}
    earlier = {"remedy": "r", "digest": "0123456789ab", **kind}
    repository.edit_derived("m", lambda body: body["status"]["muster"].update(grounds=[earlier]))
    edited = {"r.yaml": json.dumps(remedy("r", [*matches, condition("Gpu")]))}
    repository.write(edited | cluster("Unknown", others="True"))
    assert actions(repository) == [ACTION]
    repository.write({"r.yaml": json.dumps(remedy("r", [condition("Gpu")]))} | cluster("Unknown", others="True"))
    assert actions(repository) == []


BOTH_HELD = [condition("Dns"), expression("Disk")]


@pytest.mark.parametrize("kept", BOTH_HELD)
def test_each_match_that_held_is_a_ground(kept: Tree) -> None:
    repository = Repository()
    repository.write({"r.yaml": json.dumps(remedy("r", BOTH_HELD))} | cluster("False", others="False"))
    assert actions(repository) == [ACTION]
    repository.write({"r.yaml": json.dumps(remedy("s", [kept]))} | cluster("Unknown", others="Unknown"))
    assert actions(repository) == [ACTION]
