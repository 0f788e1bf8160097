"""A first check in shards says what one of the whole fleet does, and leaves the same state."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from muster.dataclass import dataclass
from muster.fleet.clusters import CLUSTER_SET
from muster.git.repository import open_repository
from muster.run.memo.state import RunState, open_state
from muster.run.neighbourhood_records import ORPHANS
from muster.run.shards import sharded
from muster.run.shards.evaluation import evaluate_shard
from muster.run.shards.executors import Executor, Processes
from muster.run.shards.sharded import check_in_shards
from muster.run.shards.workers import Workers
from muster.run.uncommitted import UncommittedCheck, check_uncommitted
from tests.run.shuffled import Shuffled
from tests.run.test_uncommitted import asked_of_the_index, asked_of_the_work_tree
from tests.support.editing import Editing
from tests.support.example import NOON
from tests.support.examples import often
from tests.support.living import cluster


@dataclass(frozen=True, slots=True)
class InShards(Workers):
    """Check in shards, however small the fleet is."""

    by: Executor | None = None

    def executor(self, files: int) -> Executor | None:
        """Return what checks them."""
        return self.by


def state_in(folder: Path) -> RunState:
    state = open_state(folder / "state")
    assert state is not None
    return state


def told(checked: UncommittedCheck) -> object:
    return checked.fleet.sorted_findings(), checked.count, checked.fleet.partial


def content(state: RunState) -> object:
    """What a state says of a fleet, by neighbourhood. A part counts as an orphan what names a cluster of the rest: at
    worst more is read next time."""
    facts = state.facts()
    if facts is None:
        return None
    neighbourhoods = [
        (
            known.name,
            known.shared,
            known.troubled,
            _without_orphans(known.totals),
            sorted(state.names([number])),
            sorted(state.files([number])),
        )
        for number, known in state.kept(range(1000)).items()
    ]
    return (
        replace(facts, totals=_without_orphans(facts.totals)),
        sorted(neighbourhoods),
        sorted(state.findings(()), key=repr),
    )


def _without_orphans(totals: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in sorted(totals.items()) if name != ORPHANS}


def compare(living: Editing, folder: Path, steps: int, executor: Executor, size: int) -> int:
    """Let people edit a fleet, and compare first checks; return how many left a state of shards."""
    repository, in_shards = open_repository(living.repo.path, living.repo.environ), list[str]()

    def counted(*arguments: Any) -> Any:
        done = check_in_shards(*arguments)
        in_shards.append("")
        return done

    for number in range(steps):
        lived = living.step()
        living.repo.git("add", "--all")
        ask = (asked_of_the_work_tree, asked_of_the_index)[number % 2]
        states = state_in(folder / f"{number}a"), state_in(folder / f"{number}b")
        workers = InShards(by=executor, files=size), InShards()
        with patch.object(sharded, "check_in_shards", counted):
            found = [
                check_uncommitted(ask(repository), state, now=NOON, workers=some)
                for state, some in zip(states, workers, strict=True)
            ]
        assert told(found[0]) == told(found[1]), lived
        assert content(states[0]) == content(states[1]), lived
        living.commit_or_not()
    return len(in_shards)


@pytest.mark.parametrize("seed", range(often(2)))
def test_of_a_fleet_that_people_edit(tmp_path: Path, seed: int) -> None:
    living = Editing.small(tmp_path / "fleet", seed, 10)
    assert compare(living, tmp_path, 12, Shuffled(seed), (6, 30, 200)[seed % 3]) > 4


def test_in_two_processes(tmp_path: Path) -> None:
    assert compare(Editing.small(tmp_path / "fleet", 5, 10), tmp_path, 2, Processes(2, evaluate_shard), 20) == 2


SET = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: prod}
spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}
"""


def test_a_set_in_a_clusters_folder_is_known_to_all_shards(tmp_path: Path) -> None:
    living = Editing.small(tmp_path / "fleet", 1, 10)
    labelled = [
        cluster(f"c00{number}").replace("region: eu}", f'region: eu, {CLUSTER_SET}: "prod"}}') for number in (1, 2)
    ]
    living.repo.commit({"clusters/c001/cluster.yaml": labelled[0], "clusters/c002/cluster.yaml": labelled[1]})
    living.repo.commit({"clusters/c003/set.yaml": SET})
    repository, state = open_repository(living.repo.path, living.repo.environ), state_in(tmp_path)
    workers = InShards(by=Shuffled(1), files=8)
    checked = check_uncommitted(asked_of_the_work_tree(repository), state, now=NOON, workers=workers)
    assert checked.fleet.partial
    assert not [one for one in checked.fleet.findings if "ManagedClusterSet" in one.message]
