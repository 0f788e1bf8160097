"""What `--how` may be asked for, what is so already, and as which data it answers."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
import yaml

from muster.data.decision import Because, Held
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.features.explain.how.goals import NoGoal, goal_of
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from tests.features.explain.test_cause import SOME, base
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Repo
from tests.support.living import TAINT_POLICY
from tests.support.situations import WEB, reconcile, rollout, snapshot

AT = ("--now", "2026-01-01T12:00:02Z")
TAINTS = TAINT_POLICY.format(kind="ManagedCluster", effect="NoSelect", when="self.metadata.name == 'c1'")
C1 = MANAGED_CLUSTER.id("c1")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = base(tmp_path_factory.mktemp("how") / "fleet")
    repo.commit({"apps/rollout.yaml": rollout("").replace("name: web}, rev", "name: some}, rev"), "p.yaml": TAINTS})
    for seconds in range(3):
        reconcile(repo, NOON + timedelta(seconds=seconds))
    return repo


@pytest.fixture(scope="module")
def decided(repo: Repo) -> Fleet:
    return assemble(snapshot(repo))


@pytest.mark.parametrize(
    ("id_", "field", "text", "seconds"),
    [
        (SOME, "c0", "Placement/apps/some chooses c0", None),
        (C1, "ManagedClusterJoined", "ManagedCluster/c1: ManagedClusterJoined is True", 0),
        (C1, "ManagedClusterJoined!=False", "ManagedCluster/c1: ManagedClusterJoined is not False", 0),
        (C1, "taint example.com/t:NoSelect", "ManagedCluster/c1: taint example.com/t:NoSelect is applied", 0),
        (WEB, "", "Rollout/apps/web is complete", 1),
        (WEB, "c0", "Rollout/apps/web gives v2 to c0", 1),
    ],
)
def test_what_is_so_already(decided: Fleet, id_: ObjectId, field: str, text: str, seconds: int | None) -> None:
    goal = goal_of(decided, (), id_, field)
    since = None if seconds is None else NOON + timedelta(seconds=seconds)
    assert (goal.already, goal.text, goal.since) == (True, text, since)


@pytest.mark.parametrize(
    ("id_", "field", "text"),
    [
        (
            SOME,
            "c9",
            "cluster or held effect 'c9'; there are PlacementMisconfigured, PlacementSatisfied, c0, c2",
        ),
        (C1, "ManagedClusterJoind", "has no condition or held effect 'ManagedClusterJoind'; did you mean"),
        (C1, "ManagedClusterJoined=Yes", "a condition cannot be 'Yes'; True, False, Unknown"),
        (C1, "remedy TrafficControl", "has no condition or held effect 'remedy TrafficControl'; there are Hub"),
        (C1, "", "--how: name what ManagedCluster/c1 is to reach: HubAcceptedManagedCluster"),
    ],
)
def test_what_cannot_be_asked(decided: Fleet, id_: ObjectId, field: str, text: str) -> None:
    with pytest.raises(NoGoal) as refused:
        goal_of(decided, (), id_, field)
    assert text in str(refused.value)


def test_a_broken_object(decided: Fleet) -> None:
    with pytest.raises(NoGoal, match="Placement/apps/some has an error"):
        goal_of(replace(decided, broken=frozenset({SOME})), (), SOME, "c5")


def test_the_only_held_effect_needs_no_name(decided: Fleet) -> None:
    held = Held(C1, "remedy TrafficControl", "a budget", Because("x", ()))
    for field in ("", "remedy", "held remedy TrafficControl", "remedy TrafficControl"):
        assert goal_of(decided, [held], C1, field).text == "ManagedCluster/c1: remedy TrafficControl happens"
    with pytest.raises(NoGoal, match="name what .* is to reach"):
        goal_of(decided, [held, replace(held, effect="taint k:NoSelect")], C1, "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("cluster/c1", "Joined"), "ManagedCluster/c1 has no condition or held effect 'Joined'"),
        (("cluster/c9", "Ready"), "there is no cluster/c9"),
        (("clusters", "Ready"), "name one object, as in clusters/NAME"),
        (("cluster/c1", "Ready", "--worktree"), "--how reads a commit"),
    ],
)
def test_bad_input(muster: Run, repo: Repo, arguments: tuple[str, ...], text: str) -> None:
    code, out, err = muster("explain", *arguments, "--how", "--repo", repo.path, *AT)
    assert (code, out) == (2, "")
    assert text in err


def test_as_text_and_as_data(muster: Run, repo: Repo) -> None:
    asked = ("explain", "placement/apps/some", "c5", "--how", "--repo", repo.path, *AT)
    assert muster(*asked)[1] == ("Placement/apps/some chooses c5 after one of:\n  numberOfClusters 5\n")
    already = muster("explain", "cluster/c1", "ManagedClusterJoined", *asked[3:])[1]
    assert already == "ManagedCluster/c1: ManagedClusterJoined is True already, since 2026-01-01T12:00:00Z.\n"
    tree = json.loads(muster(*asked, "-o", "json")[1])
    assert yaml.safe_load(muster(*asked, "-o", "yaml")[1]) == tree
    placement = {
        "group": "cluster.open-cluster-management.io",
        "kind": "Placement",
        "namespace": "apps",
        "name": "some",
    }
    assert 0 < tree.pop("tried") < 10
    assert tree == {
        "object": placement,
        "field": "c5",
        "goal": "Placement/apps/some chooses c5",
        "already": False,
        "since": None,
        "ways": [{"changes": [{"object": placement, "text": "numberOfClusters 5"}], "at": None}],
        "wait": None,
        "waitedUntil": "2026-02-01T12:00:02Z",
        "waitWhileRenewing": None,
        "complete": True,
    }
