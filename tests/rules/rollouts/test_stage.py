"""Rollouts as their users see them: which cluster has what, and what the Rollout says."""

from pathlib import Path

import pytest
import yaml

from muster.rules.rollouts.policy import Rollout
from muster.rules.rollouts.reasons import clusters_of_rollout, why_revision
from tests.rules.rollouts.world import RolloutWorld

CANARY = {"name": "canary", "selector": {"matchLabels": {"canary": "true"}}, "minSuccessTime": "60s"}
REST = {"name": "rest", "maxConcurrency": 1, "progressDeadline": "5m"}
#: Clusters of which nothing is heard stay chosen.
TOLERANT = {"tolerations": [{"operator": "Exists"}]}


@pytest.fixture
def world(tmp_path: Path) -> RolloutWorld:
    world = RolloutWorld(tmp_path)
    world.runs("v1", "b", "c")
    world.runs("v1", "a", canary="true")
    return world


def test_stage_by_stage(world: RolloutWorld) -> None:
    world.rollout("v1", CANARY, REST)
    assert world.at(0) == "a:v1=Progressing"
    assert world.said == "Progressing: stage canary, revision v1"
    assert world.at(1) == "a:v1=Succeeded"
    assert (world.said, world.next) == ("Soaking: stage canary, revision v1, until 2026-01-01T00:01:01Z", 61)
    assert world.at(60) == "a:v1=Succeeded"
    assert world.at(61) == "a:v1=Succeeded b:v1=Progressing"
    assert world.at(62) == "a:v1=Succeeded b:v1=Succeeded c:v1=Progressing"
    assert world.at(63) == "a:v1=Succeeded b:v1=Succeeded c:v1=Succeeded"
    assert world.said == "Complete: 3 clusters have v1"
    assert world.status["completed"] == "v1"


def _rolled_out(world: RolloutWorld, revision: str = "v1") -> None:
    """Bring all clusters to a revision, until second 100."""
    world.rollout(revision, CANARY, REST)
    for second in (0, 1, 61, 62, 63, 64, 100):
        world.at(second)
    assert world.said == f"Complete: 3 clusters have {revision}"


def test_a_new_revision_starts_at_the_first_stage(world: RolloutWorld) -> None:
    _rolled_out(world)
    world.rollout("v2", CANARY, REST)
    assert world.at(200) == "a:v2=Progressing b:v1=Succeeded c:v1=Succeeded"
    assert world.said == "Progressing: stage canary, revision v2; 2 clusters keep another revision until their turn"
    assert world.status["revisions"] == {"v1": 2, "v2": 1}
    assert world.at(1000) == "a:v2=Progressing b:v1=Succeeded c:v1=Succeeded", "it does not run it yet"
    world.runs("v2", "a")
    assert world.at(1001).startswith("a:v2=Succeeded")
    assert world.at(1061) == "a:v2=Succeeded b:v2=Progressing c:v1=Succeeded"
    world.rollout("v3", CANARY, REST)
    assert world.at(1100) == "a:v3=Progressing b:v2=Progressing c:v1=Succeeded", "b keeps v2, and its place"
    world.runs("v3", "a")
    world.at(1101)
    assert world.at(1161) == "a:v3=Succeeded b:v3=Progressing c:v1=Succeeded", "b goes on in its own place"


def test_a_failure_stops_it_and_a_recovery_goes_on(world: RolloutWorld) -> None:
    _rolled_out(world)
    world.rollout("v2", CANARY, REST)
    world.runs("v2", "a")
    world.at(200)
    world.at(201)
    assert world.at(261) == "a:v2=Succeeded b:v2=Progressing c:v1=Succeeded"
    assert world.next == 561
    assert world.at(561) == "a:v2=Succeeded b:v2=TimeOut c:v1=Succeeded"
    assert world.said == "Stopped: stage rest: b failed at v2; 1 cluster keeps another revision until their turn"
    world.runs("v2", "b")
    assert world.at(600) == "a:v2=Succeeded b:v2=Succeeded c:v2=Progressing"


def test_a_gate_that_is_false_again_is_a_failure(world: RolloutWorld) -> None:
    _rolled_out(world)
    world.rollout("v2", CANARY, REST)
    world.runs("v2", "a")
    world.at(200)
    world.at(201)
    world.runs("v1", "a")
    assert world.at(230) == "a:v2=Failed b:v1=Succeeded c:v1=Succeeded"
    assert world.said.startswith("Stopped: stage canary: a failed at v2")


def test_a_rollback_goes_in_the_reverse_order(world: RolloutWorld) -> None:
    _rolled_out(world)
    world.rollout("v2", CANARY, REST, onFailure="Rollback")
    world.runs("v2", "a")
    world.at(200)
    world.at(201)
    world.at(261)
    assert world.at(561) == "a:v2=Succeeded b:v1=Progressing c:v1=Succeeded"
    assert world.said == (
        "RollingBack: stage rest, revision v1 (rolled back from v2); 1 cluster keeps another revision until their turn"
    )
    assert world.at(562) == "a:v1=Progressing b:v1=Succeeded c:v1=Succeeded", "b runs v1: it never got v2"
    world.runs("v1", "a")
    world.at(563)
    assert world.said.startswith("RollingBack: stage canary"), "it soaks"
    world.at(623)
    assert world.said == "RolledBack: v2 failed; clusters have v1"
    world.rollout("v2.1", CANARY, REST, onFailure="Rollback")
    assert world.at(700).startswith("a:v2.1=Progressing")


def test_without_a_complete_revision_there_is_nothing_to_go_back_to(world: RolloutWorld) -> None:
    world.rollout("v2", CANARY, {**REST, "progressDeadline": "1m"}, onFailure="Rollback")
    world.runs("v2", "a")
    for second in (0, 1, 61, 62):
        world.at(second)
    world.at(121)
    assert world.said == "Stopped: stage rest: b failed at v2"


def test_silence_is_neither_success_nor_failure_until_the_deadline(world: RolloutWorld) -> None:
    world.rollout("v1", CANARY, REST)
    world.placement("web", TOLERANT)
    world.silent("b")
    for second in (0, 1):
        world.at(second)
    assert world.at(61) == "a:v1=Succeeded b:v1=Progressing"
    world.at(62)
    assert world.next == 361
    world.at(361)
    assert world.said == "Stopped: stage rest: b (silent) failed at v1"
    world.placement("web")
    assert world.at(400) == "a:v1=Succeeded b:v1=TimeOut", "its failure counts although the Placement drops it"
    assert world.last is not None
    view = world.last.after.fleet
    rollout = next(iter(view.compiled.of(Rollout)))
    assert clusters_of_rollout(view, rollout) == ["a", "b", "c"]
    assert why_revision(view, rollout, "b").endswith(
        "; it is silent, after its last sign of life at 2025-12-31T00:00:00Z"
    )


def test_clusters_that_leave_and_join(world: RolloutWorld) -> None:
    world.rollout("v1", CANARY, REST)
    world.placement(
        "web", {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"canary": "true"}}}}]}
    )
    for second in (0, 1, 61):
        world.at(second)
    assert world.said == "Complete: 1 cluster has v1"
    world.placement("web")
    assert world.at(100) == "a:v1=Succeeded b:v1=Progressing"
    assert world.said.startswith("Complete"), "a complete rollout stays complete"
    world.placement(
        "web", {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"none": "true"}}}}]}
    )
    assert world.at(200) == ""


def test_the_strategy_of_open_cluster_management(world: RolloutWorld) -> None:
    canary = {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "true"}}}}
    world.placement("web", {"decisionStrategy": {"groupStrategy": {"decisionGroups": [canary]}}})
    strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "1m"}}
    world.rollout("v1", strategy=strategy)
    assert world.at(0) == "a:v1=Progressing"
    world.at(1)
    assert world.at(61) == "a:v1=Succeeded b:v1=Progressing c:v1=Progressing"
    strategy["progressivePerGroup"]["mandatoryDecisionGroups"] = [{"groupName": "canry"}]  # type: ignore[index]
    world.rollout("v2", strategy=strategy)
    assert world.at(100) == "a:v1=Succeeded b:v1=Succeeded c:v1=Succeeded"
    assert world.said == "Invalid: there is no decision group named 'canry'; its clusters keep what they have"


def test_paused_and_without_clusters(world: RolloutWorld) -> None:
    world.rollout("v1", CANARY, paused=True)
    assert world.at(0) == ""
    assert world.said == "Paused: stage canary: spec.paused is true"
    world.rollout("v1", CANARY)
    assert world.at(1) == "a:v1=Progressing"
    assert world.status["skipped"] == 2
    world.rollout("v1", placementRef={"name": "wbe"})
    assert world.at(2) == "a:v1=Succeeded"
    assert world.said.startswith("Invalid: there is no Placement 'wbe' in the namespace 'apps'")


def test_without_gates_a_cluster_has_to_be_available(world: RolloutWorld) -> None:
    world.rollout("v1", gate=[])
    world.placement("web", TOLERANT)
    world.silent("b")
    world.at(0)
    assert world.at(1) == "a:v1=Succeeded b:v1=Progressing c:v1=Succeeded"


def test_a_revision_by_expression_and_an_expression_that_fails(world: RolloutWorld) -> None:
    world.rollout({"from": "'v' + string(size(self.metadata.name) - 2)"}, gate=[])
    assert world.at(0) == "a:v1=Progressing b:v1=Progressing c:v1=Progressing"
    world.rollout({"from": "self.metadata.labels['release']"}, gate=[])
    assert world.at(1) == "a:v1=Succeeded b:v1=Succeeded c:v1=Succeeded"
    assert world.said.startswith("Invalid: the expression of its revision failed")


def test_a_gate_that_fails_to_evaluate_is_not_passed(world: RolloutWorld) -> None:
    gate = {"name": "broken", "expression": "works['web'].metadata.name == 'web'"}
    world.rollout("v1", gate=[gate])
    world.at(0)
    assert world.at(1) == "a:v1=Progressing b:v1=Progressing c:v1=Progressing"
    assert world.last is not None
    assert world.last.codes == ["MUS401"]


def test_an_error_in_the_rollout_changes_nothing(world: RolloutWorld) -> None:
    _rolled_out(world)
    before, said = world.entries, world.said
    world.rollout("v2", CANARY, {"name": "rest", "progressDeadline": "2d"})
    assert world.at(200) == before
    assert world.said == said
    assert world.last is not None
    assert world.last.codes == ["MUS205"]
    world.write("rollout.yaml", None)
    assert world.at(300) == ""


def test_the_order_within_a_stage(world: RolloutWorld) -> None:
    world.runs("v1", "a", wave="10")
    world.runs("v1", "c", wave="9")
    world.rollout("v1", {"name": "all", "sortBy": "wave", "maxConcurrency": 1})
    assert world.at(0) == "c:v1=Progressing"
    world.at(1)
    assert world.at(2) == "a:v1=Succeeded b:v1=Progressing c:v1=Succeeded"


def test_why_a_cluster_has_its_revision(world: RolloutWorld) -> None:
    _rolled_out(world)
    world.rollout("v2", CANARY, {**REST, "selector": {"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]}})
    world.runs("v1", "c", no="yes")
    world.at(200)
    assert world.last is not None
    fleet = world.last.after.fleet
    rollout = fleet.compiled.of(Rollout)[0]
    assert clusters_of_rollout(fleet, rollout) == ["a", "b", "c"]
    assert why_revision(fleet, rollout, "a") == (
        "has v2 (Progressing since 2026-01-01T00:03:20Z), in stage canary; it has not passed the gate runs"
    )
    assert why_revision(fleet, rollout, "b") == (
        "has v1 (Succeeded since 2026-01-01T00:01:02Z); it gets v2 in stage rest. "
        "Progressing: stage canary, revision v2; 1 cluster keeps another revision until their turn"
    )
    assert why_revision(fleet, rollout, "c") == "has no revision yet: no stage selects it"


CALENDAR = """
apiVersion: muster.dev/v1alpha1
kind: Calendar
metadata: {name: hours}
spec: {timeZone: Europe/Berlin, windows: [{from: "01:02", to: "01:04"}], freezes: [{period: 2026-01-02, reason: audit}]}
"""


def test_nothing_starts_outside_of_the_windows_of_its_calendars(world: RolloutWorld) -> None:
    world.write("calendar.yaml", CALENDAR)
    world.rollout("v1", {**CANARY, "windows": ["hours"]}, REST)
    assert world.at(0) == ""
    said = "Waiting: stage canary: it is outside the windows of calendar 'hours' until 2026-01-01T00:02:00Z"
    assert (world.said, world.next) == (said, 120)
    assert world.at(119) == ""
    assert world.at(120) == "a:v1=Progressing"


def test_what_has_started_goes_on_and_a_freeze_gives_its_reason(world: RolloutWorld) -> None:
    world.write("calendar.yaml", CALENDAR)
    world.rollout("v1", CANARY, {**REST, "windows": ["missing", "hours"]})
    for second in (0, 1, 61, 120):
        world.at(second)
    assert world.entries == "a:v1=Succeeded b:v1=Progressing"
    assert world.at(86_520) == "a:v1=Succeeded b:v1=Succeeded"
    assert "calendar 'hours' is frozen: audit until 2026-01-03T00:02:00Z" in world.said
    world.rollout("v1", CANARY, {**REST, "windows": ["missing"]})
    world.at(86_521)
    assert world.said.startswith("Waiting: stage rest: there is no calendar 'missing'")


def _freeze(world: RolloutWorld, until: str, **more: object) -> None:
    """Freeze rollouts from second 10 on."""
    freeze = {"name": "audit", "period": f"2026-01-01T00:00:10Z/{until}", "holds": ["rollouts"], **more}
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}}
    world.write("fleet.yaml", yaml.safe_dump({**body, "spec": {"freezes": [freeze]}}))


def _approval(name: str, effect: str, since: str) -> str:
    entry = {"object": "Rollout/apps/web", "effect": effect, "since": since}
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Approval", "metadata": {"name": name}}
    return yaml.safe_dump({**body, "spec": {"effects": [entry]}})


FROZEN = "freeze 'audit' until 2026-01-01T00:10:00Z; to break it, merge muster/proposals/freeze-audit"


def test_a_freeze_holds_every_cluster_until_it_ends_or_is_broken_for_the_stage(world: RolloutWorld) -> None:
    _freeze(world, "2026-01-01T00:10:00Z")
    world.rollout("v1", CANARY, {**REST, "approval": True})
    world.at(0)
    assert world.at(11) == "a:v1=Succeeded", "what has started goes on"
    assert world.at(61) == world.at(71) == "a:v1=Succeeded"
    assert (world.said, world.next) == (f"Waiting: stage rest: {FROZEN}", 600)
    assert world.last is not None
    assert [held["topic"] for held in world.last.after.held] == ["freeze-audit"]
    world.write("approval.yaml", _approval("rollouts", "rollout rest v1", "2026-01-01T00:01:01Z"))
    assert world.at(80) == "a:v1=Succeeded", "that was approved, but not for the freeze"
    world.write("approval.yaml", _approval("freeze-audit", "rollout rest v1", "2026-01-01T00:01:11Z"))
    assert world.at(90) == "a:v1=Succeeded b:v1=Progressing"
    assert world.at(91) == "a:v1=Succeeded b:v1=Succeeded c:v1=Progressing", "it is broken for the whole stage"
    assert world.status["muster"]["approved"] == ["rest", "rest freeze-audit"]
    world.rollout("v2", CANARY, {**REST, "approval": True})
    assert world.at(100).startswith("a:v1=Succeeded"), "another revision waits again"
    assert world.at(600).startswith("a:v2=Progressing")


def test_a_freeze_holds_the_clusters_that_it_selects_and_no_rollback(world: RolloutWorld) -> None:
    _freeze(world, "2026-01-01T00:10:00Z", selector={"matchLabels": {"frozen": "true"}})
    world.runs("v1", "b", frozen="true")
    world.rollout("v1", CANARY, {"name": "rest"}, onFailure="Rollback")
    for second in (0, 1, 5, 61, 62):
        world.at(second)
    assert world.entries == "a:v1=Succeeded c:v1=Succeeded"
    assert world.said == f"Waiting: stage rest: {FROZEN}"
    assert world.at(600) == "a:v1=Succeeded b:v1=Progressing c:v1=Succeeded"
    world.at(601)
    _freeze(world, "2026-01-02T00:00:00Z", selector={"matchLabels": {"frozen": "true"}})
    world.rollout("v2", {"name": "all", "progressDeadline": "1m"}, onFailure="Rollback")
    assert world.at(610) == "a:v2=Progressing b:v1=Succeeded c:v2=Progressing"
    assert world.at(670) == "a:v1=Progressing b:v1=Succeeded c:v1=Progressing", "what failed is undone at any hour"
