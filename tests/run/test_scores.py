"""Scores by policy, evaluated from what the last run left, in shards and from nothing: always the same."""

from functools import partial
from pathlib import Path

import yaml

from muster.data.tree import Tree
from tests.run import test_incremental
from tests.run.shards import test_sharded
from tests.run.shuffled import Shuffled
from tests.run.test_incremental import state_in
from tests.support.happenings import later
from tests.support.living import Living, placement


class ScoredLife(Living):
    """A fleet in which ScorePolicies come, change and go, and a Placement follows them."""

    def step(self) -> str:
        """Let something happen."""
        follows = (self.a_score_policy, self.a_score_policy, self.a_status, self.a_label, partial(later, self, 61))
        return self.chance.choice((*follows, partial(later, self, 1801), self.a_reported_score))()

    def a_score_policy(self) -> str:
        """A ScorePolicy comes, changes or goes."""
        chance, name = self.chance, self.chance.choice(("cost", "age"))
        if chance.random() < 0.15 and (self.repo.path / f"policies/{name}.yaml").exists():
            return self.puts({f"policies/{name}.yaml": None}, f"no more policy {name}")
        spec: Tree = {
            "target": {"kind": "ManagedCluster"},
            "resource": "cost",
            "score": name,
            "expression": chance.choice(
                (
                    "size(self.metadata.name) * 40",
                    "self.metadata.labels.region == 'eu' ? 80 : -80",
                    "now < timestamp('2026-01-01T12:30:00Z') ? 5 : 50",
                    "int(self.metadata.labels.bad)",
                    "status(conditions, 'ManagedClusterConditionAvailable') == 'True' ? 10 : 0",
                    "none",
                )
            ),
        }
        if chance.random() < 0.5:
            spec["validFor"] = "1h"
        coordinate = {"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "cost"}}
        body = yaml.safe_load(placement("scored", 2))
        body["spec"]["prioritizerPolicy"] = {
            "mode": "Exact",
            "configurations": [{"scoreCoordinate": coordinate, "weight": 1}],
        }
        policy = {"apiVersion": "muster.dev/v1alpha1", "kind": "ScorePolicy", "metadata": {"name": name}, "spec": spec}
        files = {f"policies/{name}.yaml": yaml.safe_dump(policy), "apps/scored.yaml": yaml.safe_dump(body)}
        return self.puts(dict(files), f"policy {name}: {spec}")

    def a_reported_score(self) -> str:
        """An agent's score has the name of a policy's."""
        name = self.chance.choice(self.names)
        body = {
            "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {"name": "cost", "namespace": name},
            "status": {"scores": [{"name": "cost", "value": 77}]},
        }
        path = f"scores/{name}.yaml"
        gone = (self.repo.path / path).exists()
        return self.puts({path: None if gone else yaml.safe_dump(body)}, f"a score of {name}")


def test_from_what_the_last_run_left(tmp_path: Path) -> None:
    taken = test_incremental.live(ScoredLife.small(tmp_path / "fleet", 1, 8), state_in(tmp_path), 24)
    assert taken["wide"] > 3, taken


def test_in_shards(tmp_path: Path) -> None:
    living, shuffled = ScoredLife.small(tmp_path / "fleet", 2, 8), Shuffled(2)
    assert test_sharded.live(living, tmp_path, 10, shuffled, (1, 8, 30)) > 5
