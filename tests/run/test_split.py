"""A fleet split by folder, and joined again: each half decides what the whole fleet decides, with its clocks."""

import random
from datetime import datetime, timedelta
from typing import Final

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.support.example import NOON
from tests.support.living import BINDING, TAINT_POLICY, cluster, lease, observed, placement

#: A budget of a part of the fleet is another one in a half.
BUDGET: Final = (
    "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\nspec: {maxDisrupted: 100%}\n"
)
HALVES: Final = ("eu", "us")


def of_half(path: str, half: str) -> bool:
    """Is a file of a half, or of both? What is derived names a cluster or a Placement of one half, or the Fleet."""
    return not any(f"{other}-" in path or path.startswith(f"{other}/") for other in HALVES if other != half)


def of_clusters(files: dict[str, str]) -> dict[str, str]:
    """Return the files of clusters and Placements: a set that both halves share says how many clusters it has."""
    return {path: text for path, text in files.items() if any(f"{half}-" in path for half in HALVES)}


def decided(files: dict[str, str], now: datetime) -> dict[str, str]:
    """Return the files with what a run writes."""
    settled = settle(MemorySnapshot(files), now)
    merged = {**files, **settled.files}
    return {path: text for path, text in merged.items() if text is not None}


def beginning() -> dict[str, str]:
    files = {"policies/t.yaml": TAINT_POLICY.format(kind="ManagedCluster", effect="NoSelect", when="variables.far")}
    files["policies/budget.yaml"] = BUDGET
    for half in HALVES:
        files[f"{half}/binding.yaml"] = BINDING.replace("apps", f"{half}-apps")
        files[f"{half}/web.yaml"] = placement("web", 2, region=half).replace("apps", f"{half}-apps")
        for number in range(5):
            name = f"{half}-{number}"
            files[f"{half}/{name}/cluster.yaml"] = cluster(name, region=half)
            files[f"{half}/{name}/lease.yaml"] = lease(name, NOON)
            files[f"{half}/{name}/observed.yaml"] = observed(name)
    return files


def lived(chance: random.Random, now: datetime, silent: set[str]) -> dict[str, str]:
    """What agents say at an instant: one cluster more or less is silent, another is ill."""
    names = [f"{half}-{number}" for half in HALVES for number in range(5)]
    silent ^= {chance.choice(names)} if len(silent) < 2 else {min(silent)}
    ill = chance.choice(names)
    return {
        **{f"{name[:2]}/{name}/lease.yaml": lease(name, now) for name in names if name not in silent},
        **{f"{name[:2]}/{name}/observed.yaml": observed(name, healthy=name != ill) for name in names},
    }


@pytest.mark.parametrize("seed", range(3))
def test_no_clock_restarts_and_no_cluster_moves(seed: int) -> None:
    chance, now, silent = random.Random(seed), NOON, set[str]()
    whole = decided(beginning(), now)
    for _ in range(4):
        now += timedelta(minutes=chance.randint(1, 7))
        whole = decided({**whole, **lived(chance, now, silent)}, now)
    halves = {half: {path: text for path, text in whole.items() if of_half(path, half)} for half in HALVES}
    assert sum("lastTransitionTime" in text for text in halves["eu"].values()) > 5
    for half, files in halves.items():
        assert of_clusters(decided(files, now)) == of_clusters(files), f"nothing follows from the split of {half}"
        bare = {path: text for path, text in files.items() if not path.startswith("derived/")}
        assert of_clusters(decided(bare, now)) != of_clusters(files), "what is derived has the clocks"
    for _ in range(6):
        now += timedelta(minutes=chance.randint(1, 7))
        said = lived(chance, now, silent)
        whole = decided({**whole, **said}, now)
        for half, files in halves.items():
            mine = {path: text for path, text in said.items() if of_half(path, half)}
            halves[half] = decided({**files, **mine}, now)
            assert of_clusters(halves[half]) == {path: of_clusters(whole)[path] for path in whole if f"{half}-" in path}
    joined = {**halves["eu"], **halves["us"]}
    assert of_clusters(joined) == of_clusters(whole), "and joined again, nothing is lost"
    assert decided(joined, now) == whole
