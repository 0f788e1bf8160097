"""ScorePolicies are compiled, or refused with a reason at its place."""

from pathlib import Path

import pytest

from muster.data.kinds import SCORE_POLICY
from muster.data.tree import Tree
from muster.fleet.objects import Object
from muster.rules.scores.policy import SCORE_POLICIES
from tests.rules.scores.test_stage import ScoredFleet


def test_resource_and_score_have_the_name_of_the_policy() -> None:
    spec: Tree = {"target": {"kind": "ManagedCluster"}, "expression": "int(params.a)", "params": {"a": 1}}
    policy, findings = SCORE_POLICIES.compile(Object(SCORE_POLICY.id("cost"), {"spec": spec}, ()))
    assert findings == []
    assert policy is not None
    assert (policy.resource, policy.score, policy.valid_for) == ("cost", "cost", None)


@pytest.mark.parametrize(
    ("spec", "said", "line"),
    [
        ({"expression": "'text'"}, "int", 6),
        ({"expression": "self.metadata.nam == 'x' ? 1 : 2"}, "nam", 6),
        ({"target": {"kind": "Cluster"}}, "other objects than ManagedClusters", 14),
    ],
)
def test_what_cannot_score_is_refused(tmp_path: Path, spec: Tree, said: str, line: int) -> None:
    fleet = ScoredFleet(tmp_path)
    fleet.policy(**spec)
    (found, *_) = fleet.at(0).findings
    assert said in found.message
    assert (found.file, found.line) == ("policies/cost.yaml", line)
