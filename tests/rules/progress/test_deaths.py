"""Fleets that die of a version, or whose observer goes blind, under random strategies: Rollouts and sets of works.

A version that kills clusters gets no further than the clusters that may get it at once. Blindness rolls nothing back.
"""

from random import Random

import pytest

from muster.data.tree import Tree
from tests.rules.progress.both import BothKinds

_NAMES = "abcdefgh"
_TOLERATION: Tree = {"key": "cluster.open-cluster-management.io/unreachable", "operator": "Exists"}
_MINUTE = 60


def _fleet(chance: Random) -> tuple[BothKinds, dict[str, str]]:
    """Eight clusters that have version 1, and the decision group of each."""
    fleet = BothKinds(_NAMES)
    groups = {name: chance.choice("xyz") for name in _NAMES}
    for name, group in groups.items():
        fleet.label(name, wave=group)
    decided = [
        {"groupName": group, "groupClusterSelector": {"labelSelector": {"matchLabels": {"wave": group}}}}
        for group in "xyz"
    ]
    fleet.placement(
        "web",
        decisionStrategy={"groupStrategy": {"decisionGroups": decided}},
        tolerations=[_TOLERATION] if chance.random() < 0.5 else [],
    )
    if chance.random() < 0.5:  # the default budget would hold the taints of many clusters
        fleet.without_budget()
    fleet.rolls_out(1, type="All")
    fleet.step(0)
    fleet.says.update(dict.fromkeys(_NAMES, "done"))
    fleet.step(1)
    assert fleet.rollout_said().startswith("Complete")
    return fleet, groups


def _strategy(chance: Random, groups: dict[str, str]) -> tuple[dict[str, Tree], int]:
    """A strategy that goes on while nothing fails, and how many clusters may get a version before any succeeds."""
    if chance.random() < 0.3:
        first = min(groups.values())
        return {"type": "ProgressivePerGroup"}, [*groups.values()].count(first)
    concurrency, most = chance.choice(((1, 1), (3, 3), ("25%", 2), ("50%", 4)))
    if chance.random() < 0.3:
        group = chance.choice(sorted({*groups.values()}))
        mandatory: Tree = [{"groupName": group}]
        most = max(most, [*groups.values()].count(group))
        return {"type": "Progressive", "maxConcurrency": concurrency, "mandatoryDecisionGroups": mandatory}, most
    return {"type": "Progressive", "maxConcurrency": concurrency}, most


@pytest.mark.parametrize("seed", range(5))
def test_a_version_that_kills_every_cluster_that_gets_it(seed: int) -> None:
    chance = Random(seed)
    fleet, groups = _fleet(chance)
    strategy, most = _strategy(chance, groups)
    soaks, deadline = chance.random() < 0.5, chance.choice(("None", "20m", "40m"))
    fleet.on_failure = chance.choice(("Pause", "Rollback"))
    fleet.rolls_out(2, maxFailures=0, minSuccessTime="10m" if soaks else "0s", progressDeadline=deadline, **strategy)
    now, had = 10 * _MINUTE, set[str]()
    while now < 150 * _MINUTE:
        has = fleet.step(now)
        had |= {name for name in _NAMES if f"{name}2" in has.split()}
        for name in sorted(had - fleet.silent):
            if soaks and fleet.says.get(name) is None:
                fleet.says[name] = chance.choice(("done", "progressing"))
            elif chance.random() < 0.7:
                fleet.silent.add(name)
        now += (
            chance.choice((30, 2 * _MINUTE, 4 * _MINUTE)) if had - fleet.silent else chance.choice((11, 29)) * _MINUTE
        )
    assert 0 < len(had) <= most, (strategy, sorted(had), fleet.said())
    assert fleet.silent == had
    has = fleet.step(now)
    assert {name for name in _NAMES if f"{name}2" in has.split()} == had, "nothing goes back"
    expected = "waits for" if deadline == "None" else "False Stopped"
    assert expected in fleet.said(), fleet.said()


@pytest.mark.parametrize("seed", range(5))
def test_an_observer_that_goes_blind_for_all_clusters(seed: int) -> None:
    chance = Random(seed)
    fleet, groups = _fleet(chance)
    strategy, _ = _strategy(chance, groups)
    fleet.on_failure = "Rollback"
    fleet.rolls_out(2, maxFailures=0, minSuccessTime="10m", progressDeadline=chance.choice(("None", "40m")), **strategy)
    now = 10 * _MINUTE
    for _ in range(chance.randint(1, 5)):
        has = fleet.step(now)
        for name in (name for name in _NAMES if f"{name}2" in has.split()):
            fleet.says[name] = chance.choice(("progressing", "done")) if fleet.says.get(name) != "done" else "done"
        now += chance.choice((1, 5, 11)) * _MINUTE
    before = set(fleet.step(now).split())
    fleet.silent = set(_NAMES)
    for minutes in (6, 20, 45, 180):
        differs = set(fleet.step(now + minutes * _MINUTE).split()) - before
        assert not differs, ("nothing starts, and nothing goes back", differs)
        assert "RollingBack" not in fleet.rollout_said()
    now += 181 * _MINUTE
    fleet.silent = set()
    for _ in range(30):
        fleet.step(now)
        if fleet.rollout_said().startswith("Complete"):
            break
        fleet.says.update(dict.fromkeys(_NAMES, "done"))
        now += 11 * _MINUTE
    assert fleet.rollout_said().startswith("Complete"), fleet.rollout_said()
    assert fleet.said().startswith("True Complete"), fleet.said()
    assert fleet.step(now).split() == [f"{name}2" for name in _NAMES]
