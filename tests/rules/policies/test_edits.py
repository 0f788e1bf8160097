"""An edit of a policy changes what it decided about a cluster only if it takes away the rule that decided it.

For each kind of policy with a target: random edits that leave the rule, one after the other, each in a run of its own,
and one that takes it away. Nothing new is heard of the cluster. Taints, latches, Remedies and budgets have tests of
their own, `test_edits.py`, `test_requested.py` or `test_grounds.py` in their rooms.
"""

import json
import random
from collections.abc import Callable
from datetime import timedelta

import pytest

from muster.data.tree import Tree, dig
from tests.support.edits import START, Repository
from tests.support.policy_edits import KEEPING, TAKING, WHEN, PolicyEdits, cluster, policy

MINUTE = timedelta(minutes=1)
#: What the last run says of the policy's decision.
Decided = Callable[[Repository], Tree]


def condition_of(repository: Repository) -> Tree:
    conditions = dig(repository.bodies["Cluster", "m"], "status", "conditions")
    return next((condition for condition in conditions if condition["type"] == "Full"), None)


def pending_of(repository: Repository) -> Tree:
    return dig(repository.bodies["Cluster", "m"], "status", "muster", "pending", "Full")


def condition_policy(chance: random.Random, **spec: Tree) -> PolicyEdits:
    rules = [
        {"name": "full", "when": WHEN, "status": "True", "reason": "Full", "message": "m"},
        {"name": "else", "status": "False", "reason": "Not", "message": "m"},
    ]

    def other() -> Tree:
        return {"name": f"r{chance.randrange(10**6)}", "when": "false", "status": "True", "reason": "R"}

    return PolicyEdits.of(chance, "ConditionPolicy", {"type": "Full", "rules": rules, **spec}, "rules", other)


def kept_through(policies: PolicyEdits, repository: Repository, decided: Decided, state: dict[str, str]) -> Tree:
    """Edit four times, and check what stays; return it."""
    first = decided(repository)
    for edit in policies.chance.choices(KEEPING, k=4):
        getattr(policies, edit)()
        repository.write(policies.texts() | state)
        repository.run()
        assert decided(repository) == first, edit
    return first


def taken_by(policies: PolicyEdits, edit: str, repository: Repository, state: dict[str, str]) -> None:
    getattr(policies, edit)()
    repository.write(policies.texts() | state)
    repository.run()


@pytest.mark.parametrize("seed", range(10))
def test_conditions(seed: int) -> None:
    policies, repository = condition_policy(random.Random(seed)), Repository()
    repository.write(policies.texts() | cluster("False"))
    repository.run()
    first = kept_through(policies, repository, condition_of, cluster("False"))
    assert (first["status"], first["lastTransitionTime"]) == ("True", "2026-01-01T12:01:00Z")
    edit = TAKING[seed % len(TAKING)]
    taken_by(policies, edit, repository, cluster("False"))
    assert condition_of(repository) != first, edit


@pytest.mark.parametrize("seed", range(10))
def test_outcomes_that_must_last(seed: int) -> None:
    policies, repository = condition_policy(random.Random(seed), holdFor={"True": "10m", "False": "1h"}), Repository()
    repository.write(policies.texts() | cluster("True"))
    repository.run()
    repository.write(policies.texts() | cluster("False"))
    repository.run()
    first = kept_through(policies, repository, pending_of, cluster("False"))
    assert first == {"status": "True", "reason": "Full", "since": "2026-01-01T12:02:00Z"}
    edit = (*TAKING, None, "broken")[seed % 7]
    if edit not in (None, "broken"):
        taken_by(policies, edit, repository, cluster("False"))
        assert pending_of(repository) != first, edit
        return
    if edit:  # an error of a policy says nothing about a cluster
        itself = {**policies.body, "spec": {**policies.spec, "rulse": []}}
        for body in (policy("ConditionPolicy", "broken", rulse=[]), itself):
            files = {f"{body['metadata']['name']}.yaml": json.dumps(body)}
            repository.write(policies.texts() | cluster("False") | files)
            repository.run()
            assert pending_of(repository) == first
    repository.write(policies.texts() | cluster("False"))
    repository.run(START + 12 * MINUTE - timedelta(seconds=1))
    assert condition_of(repository)["status"] == "False"
    repository.run(START + 12 * MINUTE)
    assert condition_of(repository)["status"] == "True"


# -- scores


MANAGED = {
    "c.yaml": json.dumps(
        {
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": "m", "labels": {"a": "b", "disk": "full"}},
            "spec": {"hubAcceptsClient": True},
        }
    )
}
#: The expression of the policy fails.
FAILING = {"c.yaml": MANAGED["c.yaml"].replace('"disk"', '"net"')}


def score_of(repository: Repository) -> Tree:
    body = repository.bodies.get(("AddOnPlacementScore", "cost"))
    if body is None:
        return None
    book = dig(body, "status", "muster", "scores", "price")
    return [body["status"]["scores"], dig(body, "status", "validUntil"), book["since"]]


def score_policy(chance: random.Random) -> PolicyEdits:
    spec = {"resource": "cost", "score": "price", "expression": f"({WHEN}) ? 7 : 3"}

    def other() -> Tree:
        return {"resource": f"other{chance.randrange(1000)}", "score": "s", "expression": "1"}

    if chance.random() < 0.5:
        spec["validFor"] = "1h"
    return PolicyEdits.of(
        chance, "ScorePolicy", spec, "", other, "expression", "ManagedCluster", "self.metadata.labels.disk == 'full'"
    )


@pytest.mark.parametrize("state", [MANAGED, FAILING], ids=["", "while the expression fails"])
@pytest.mark.parametrize("seed", range(10))
def test_scores(seed: int, state: dict[str, str]) -> None:
    policies, repository = score_policy(random.Random(seed)), Repository()
    repository.write(policies.texts() | MANAGED)
    repository.run()
    first = kept_through(policies, repository, score_of, state)
    assert (first[0], first[2]) == ([{"name": "price", "value": 7}], "2026-01-01T12:01:00Z")
    edit = TAKING[seed % len(TAKING)]
    if state is FAILING and edit not in ("drop_policy", "other_selector", "other_guard"):
        edit = "drop_policy"
    taken_by(policies, edit, repository, state)
    assert score_of(repository) != first, edit


# -- pulses


def pulses_of(repository: Repository) -> Tree:
    return [[pulse.policy, pulse.reason] for pulse in repository.pulses]


def pulse_policy(chance: random.Random) -> PolicyEdits:
    spec = {"rules": [{"name": "full", "when": WHEN}], "interval": "1h", "event": {"topic": "t"}}

    def other() -> Tree:
        return {"name": f"r{chance.randrange(10**6)}", "when": "false"}

    return PolicyEdits.of(chance, "PulsePolicy", spec, "rules", other)


@pytest.mark.parametrize("seed", range(10))
def test_pulses(seed: int) -> None:
    policies, repository = pulse_policy(random.Random(seed)), Repository()
    repository.write(policies.texts() | cluster("False"))
    repository.run()
    assert pulses_of(repository) == [["first", "full"]]
    repository.run()
    assert kept_through(policies, repository, pulses_of, cluster("False")) == []
    if seed % 2:  # the interval goes on under the new name
        repository.run(START + 61 * MINUTE)
        assert len(pulses_of(repository)) == 1
    else:  # another policy has another interval
        policies.rename()
        policies.rule["when"] = "variables.disk == 'False'"
        taken_by(policies, "label", repository, cluster("False"))
        assert len(pulses_of(repository)) == 1
