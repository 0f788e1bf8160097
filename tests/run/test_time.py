"""Whatever an evaluation asked of time wakes its object, whatever was decided: a warm run misses no instant."""

# ruff: noqa: E501 - documents

from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from muster.data.times import parse_time
from muster.data.tree import Tree, dig
from tests.run.test_incremental import compared, state_in
from tests.support.git import Content, new_repository
from tests.support.living import Living, cluster, lease, observed, placement, report

#: A Thursday.
TEN = parse_time("2026-01-01T10:00:00Z")
CONDITION_POLICY = """apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {{name: {lower}}}
spec:
  target: {{kind: ManagedCluster}}
  type: {name}
  {more}
"""
BUDGET = """apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: default}
spec: {maxDisrupted: 1, ignoreUpTo: 1, cooldown: 1m}
"""
TAINT_POLICY = """apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata: {{name: {name}}}
spec:
  target: {{kind: ManagedCluster}}
  taints: [{{key: example.com/t, effect: NoSelect, when: "{when}"}}]
"""
SCORE_POLICY = """apiVersion: muster.dev/v1alpha1
kind: ScorePolicy
metadata: {name: cost}
spec:
  target: {kind: ManagedCluster}
  matchConditions: [{name: now, expression: "window('Thu 10:10-10:20') || self.metadata.name == 'c4'"}]
  resource: cost
  score: price
  expression: "self.metadata.name == 'c4' ? 1 : 50"
"""
BINDING = """apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: default, namespace: apps}
spec: {clusterSet: default}
"""
DAY = CONDITION_POLICY.format(
    name="Day",
    lower="day",
    more="matchConditions: [{name: now, expression: now.getMinutes() < 20 || now.getMinutes() >= 40}]\n"
    "  rules: [{name: early, when: now.getMinutes() < 20, status: 'True', reason: Early}, {name: late, status: 'False', reason: Late}]",
)
BROKEN = CONDITION_POLICY.format(name="Broken", lower="broken", more="rulse: []")
PLACEMENT_BY_SCORE = placement("cheap", 1) + (
    "  prioritizerPolicy:\n    mode: Exact\n    configurations:\n"
    "    - {scoreCoordinate: {type: AddOn, addOn: {resourceName: cost, scoreName: price}}, weight: 1}\n"
)
FREEZE = """apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {freezes: [{name: f, period: 2025-12-31/2026-01-03, holds: [placements], selector: {matchLabels: {region: eu}}}]}
"""


def test_a_policy_that_does_not_apply_now_beside_a_broken_one(tmp_path: Path) -> None:
    living = _compare(tmp_path, {"day.yaml": DAY, "broken.yaml": BROKEN}, minutes=(10, 25, 45))
    day = next(cond for cond in _conditions(living, "c0") if cond["type"] == "Day")
    assert (day["status"], day["lastTransitionTime"]) == ("False", "2026-01-01T10:45:00Z")


def test_a_held_taint_whose_request_ends(tmp_path: Path) -> None:
    policy = TAINT_POLICY.format(name="w", when="window('Thu 10:10-10:20')")
    _compare(tmp_path, {"budget.yaml": BUDGET, "taint.yaml": policy}, minutes=(0, 10, 15, 20, 20.5, 22, 40))


def test_a_score_policy_that_does_not_apply_now(tmp_path: Path) -> None:
    files = {"score.yaml": SCORE_POLICY, "binding.yaml": BINDING, "placement.yaml": PLACEMENT_BY_SCORE}
    _compare(tmp_path, files, minutes=(0, 5, 10, 15, 20, 25))


def test_an_expression_that_fails_until_some_instant(tmp_path: Path) -> None:
    fails = "now < timestamp('2026-01-01T10:10:00Z') ? self.metadata.labels['absent'] == '' : true"
    files = {
        "taint.yaml": TAINT_POLICY.format(name="t", when=fails),
        "score.yaml": SCORE_POLICY.replace("\"self.metadata.name == 'c4' ? 1 : 50\"", f'"{fails} ? 3 : 5"'),
        "condition.yaml": CONDITION_POLICY.format(
            name="Fails", lower="fails", more=f'rules: [{{name: r, when: "{fails}", status: "True", reason: R}}]'
        ),
    }
    _compare(tmp_path, files, minutes=(0, 5, 10, 15))


@pytest.mark.parametrize("names", (("a", "b"), ("b", "a")))
def test_two_policies_for_one_taint(tmp_path: Path, names: tuple[str, str]) -> None:
    """A rule that does not hold cancels nothing."""
    always, weekend = names
    files = {
        "always.yaml": TAINT_POLICY.format(name=always, when="self.metadata.name == 'c1'"),
        "weekend.yaml": TAINT_POLICY.format(name=weekend, when="window('Sat-Sun') || window('Thu 10:10-10:20')"),
    }
    living = _compare(tmp_path, files, minutes=(0, 10, 15, 20, 25))
    tainted = {obj["metadata"]["name"]: obj["status"]["muster"] for obj in living.cold().last.objects if _taints(obj)}
    assert {name: status["taints"][0]["policy"] for name, status in tainted.items()} == {"c1": always}


TOLERATED = """  tolerations:
  - {key: gpu, operator: Exists, tolerationSeconds: 600}
  - {key: disk, operator: Exists, tolerationSeconds: 900}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "effects", (("NoSelectIfNew", "NoSelect"), ("NoSelect", "NoSelectIfNew"), ("NoSelectIfNew", "PreferNoSelect"))
)
@pytest.mark.parametrize("number", (1, 3, 4))
@pytest.mark.parametrize("regions", (("us", ""), ("", "eu")))
def test_tolerations_that_end_while_a_freeze_holds_moves(
    tmp_path: Path, effects: tuple[str, str], number: int, regions: tuple[str, str]
) -> None:
    """The clusters of eu neither come nor leave; what is held ends with the toleration."""
    clusters = {
        f"clusters/{name}/cluster.yaml": cluster(name, leaseDurationSeconds="3600", region=region, taints=taints)
        for name, region, taints in (
            ("c0", "us", f"[{{key: gpu, effect: {effects[0]}}}]"),
            ("c1", "eu", f"[{{key: disk, effect: {effects[1]}}}]"),
            ("c2", "eu", f"[{{key: gpu, effect: {effects[0]}}}]"),
            ("c3", "us", f"[{{key: disk, effect: {effects[1]}}}]"),
        )
    }
    files = {
        "binding.yaml": BINDING,
        "p.yaml": placement("p", number, region=regions[0]) + TOLERATED,
        "p2.yaml": placement("p2", 2, region="eu") + TOLERATED,
    }
    living = _compare(tmp_path, files | clusters, minutes=(0,))
    living.repo.commit({"fleet.yaml": FREEZE, "p.yaml": placement("p", number, region=regions[1]) + TOLERATED})
    state, lived = state_in(tmp_path), list[str]()
    for minute in (1, 5, 10, 12, 15, 17, 20, 25, 30):
        living.now = TEN + timedelta(minutes=minute)
        compared(living, state, lived)


def _taints(obj: Tree) -> object:
    return dig(obj, "spec", "taints") if obj["kind"] == "ManagedCluster" else None


def _compare(tmp_path: Path, files: dict[str, str], minutes: tuple[float, ...], clusters: int = 5) -> Living:
    """Run at each instant, warm, and compare with a cold run there."""
    living = Living(new_repository(tmp_path / "fleet"), Random(1), now=TEN)
    fleet: dict[str, Content] = dict(files)
    for number in range(clusters):
        name = f"c{number}"
        fleet.setdefault(f"clusters/{name}/cluster.yaml", cluster(name, leaseDurationSeconds="3600"))
        fleet |= {
            f"clusters/{name}/lease.yaml": lease(name, TEN).replace("60}", "3600}"),
            f"{name}.yaml": observed(name),
        }
    living.repo.commit(fleet)
    state, lived = state_in(tmp_path), list[str]()
    for minute in minutes:
        living.now = TEN + timedelta(minutes=minute)
        lived.append(str(living.now))
        compared(living, state, lived)
    return living


def _conditions(living: Living, name: str) -> list[dict[str, str]]:
    return next(
        obj["status"]["conditions"]
        for obj in living.cold().last.objects
        if obj["metadata"]["name"] == name and obj["kind"] == "ManagedCluster"
    )


def test_a_report_that_counted_is_not_taken_back(tmp_path: Path) -> None:
    """On the first run every object existed before: also one that cannot be read, and later can."""
    living = Living(new_repository(tmp_path / "fleet"), Random(1), now=TEN)
    label = cluster("c5").replace("region: eu", "region: us")
    files: dict[str, Content] = {"a.yaml": cluster("c5"), "b.yaml": label, "c6.yaml": cluster("c6")}
    living.repo.commit(files | {"r.yaml": report("c5", 1, at=TEN - timedelta(minutes=5))})
    state = state_in(tmp_path)
    for step in ("two files set one label", "again", "one is taken back", "again"):
        if step == "one is taken back":
            living.repo.commit({"b.yaml": None})
        compared(living, state, [step])
        objects = living.cold().last.objects
        accepted = [obj["status"]["conditions"][0] for obj in objects if obj["kind"] == "AdapterReport"]
        assert [condition["reason"] for condition in accepted] == ["Accepted"], step


def test_a_creation_time_ahead_of_the_clock(tmp_path: Path) -> None:
    """It counts from then on, and reports of before do not."""
    ahead = cluster("c1", leaseDurationSeconds="3600").replace(
        "name: c1\n", 'name: c1\n  creationTimestamp: "2026-01-01T10:10:00Z"\n'
    )
    files = {
        "clusters/c1/cluster.yaml": ahead,
        "r.yaml": report("c1", 1, at=TEN),
        "fleet.yaml": "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {adapters: {ManagedCluster: [validation]}}\n",
    }
    living = _compare(tmp_path, files, minutes=(0, 5, 10, 15))
    body = next(
        obj for obj in living.cold().last.objects if obj["metadata"]["name"] == "c1" and obj["kind"] == "ManagedCluster"
    )
    assert body["status"]["muster"]["created"] == "2026-01-01T10:10:00Z"


@pytest.mark.parametrize("region", ["", "eu"])
def test_new_placements_that_answer_each_other_while_a_freeze_holds_moves(tmp_path: Path, region: str) -> None:
    """The first run leaves nothing that a second one at the same instant would change."""
    clusters = {
        f"clusters/c{number}/cluster.yaml": cluster(
            f"c{number}", leaseDurationSeconds="3600", region="eu" if number % 2 else "us"
        )
        for number in range(5)
    }
    selector = "selector: {matchLabels: {region: eu}}"
    freeze = FREEZE if region else FREEZE.replace(f", {selector}", "")
    assert (selector in freeze) is bool(region)
    weights = {"near": -9, "far": 9}
    files = {
        f"{name}.yaml": placement(name, number) + "  prioritizerPolicy:\n    mode: Exact\n    configurations:\n"
        f"    - {{scoreCoordinate: {{builtIn: Balance}}, weight: {weight}}}\n"
        for (name, weight), number in zip(weights.items(), (2, 2), strict=True)
    }
    living = _compare(tmp_path, clusters | {"binding.yaml": BINDING, "fleet.yaml": freeze}, minutes=(0,))
    living.repo.commit(files)
    state, lived = state_in(tmp_path), list[str]()
    assert compared(living, state, lived).settled.files
    for _ in range(2):
        assert not compared(living, state, lived).settled.files
