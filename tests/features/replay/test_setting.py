"""`--set`: what can be named, which values are tried, and what is said of slips."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from muster.data.kinds import UnknownKind
from muster.features.replay.rerun import UNKNOWN_REFS
from muster.features.replay.setting import parse_sweep
from muster.features.replay.sweep import SettingInForce, checked_sweep
from muster.features.test.memory import MemorySnapshot
from muster.features.whatif.rehearsal import rehearsal
from muster.features.whatif.supposing import NotSupposable
from muster.fleet.assemble import assemble
from muster.git.repository import open_repository
from tests.support.git import Repo, new_repository

FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {reports: {maxAge: 30m}}\n"
PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: shop}
spec:
  tolerations:
  - {key: cluster.open-cluster-management.io/unreachable, operator: Exists, tolerationSeconds: 600}
"""
POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: warm.example.com}
spec:
  target: {kind: ManagedCluster}
  type: Warm
  params: {limits: {high: 3}, words: [a]}
  rules: [{name: warm, when: "params.limits.high > 2", status: "True", reason: Warm}]
"""
FILES = {"fleet.yaml": FLEET, "placement.yaml": PLACEMENT, "policies/warm.yaml": POLICY}


@pytest.mark.parametrize(
    ("given", "kind", "path", "values"),
    [
        (
            "managed-cluster-available.graceFactor=2..4",
            "Fleet",
            ("spec", "policyParams", "managed-cluster-available", "graceFactor"),
            [2, 3, 4],
        ),
        (
            "warm.example.com.limits.high=1,5,5",
            "Fleet",
            ("spec", "policyParams", "warm.example.com", "limits", "high"),
            [1, 5],
        ),
        ("warm.example.com.words[0]=x", "Fleet", ("spec", "policyParams", "warm.example.com", "words", 0), ["x"]),
        ("fleet.spec.reports.maxAge=5m, 10m", "Fleet", ("spec", "reports", "maxAge"), ["5m", "10m"]),
        ("Fleet.reports.maxAge=1h", "Fleet", ("spec", "reports", "maxAge"), ["1h"]),
        ("DisruptionBudget/default.maxDisrupted=10%,20%", "DisruptionBudget", ("spec", "maxDisrupted"), ["10%", "20%"]),
        (
            "placements/shop/web.spec.tolerations[0].tolerationSeconds=60",
            "Placement",
            ("spec", "tolerations", 0, "tolerationSeconds"),
            [60],
        ),
        ("placements/shop/web.spec.clusterSets=[a, b],[c]", "Placement", ("spec", "clusterSets"), [["a", "b"], ["c"]]),
        ("registration.autoAccept=true", "", (), []),
    ],
)
def test_targets_and_values(given: str, kind: str, path: tuple[Any, ...], values: list[Any]) -> None:
    fleet = assemble(MemorySnapshot(FILES))
    if not kind:
        with pytest.raises(NotSupposable, match="no policy 'registration' has parameters"):
            parse_sweep(given, fleet)
        return
    sweep = parse_sweep(given, fleet)
    assert (sweep.setting.object.kind, sweep.setting.path, list(sweep.values)) == (kind, path, values)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("x", "is not TARGET=VALUES"),
        ("fleet.spec.reports.maxAge=", "is not TARGET=VALUES"),
        ("fleet.spec.reports.maxAge=1m,,2m", "are not values"),
        ("fleet.spec.reports.maxAge=1m\nother: 2m", "are not values"),
        ("fleet.spec.reports.maxAge=null", "an empty value"),
        ("managed-cluster-available.graceFactor=8..2", "not a range"),
        ("managed-cluster-available.graceFactor=1..999999999", "more than 100 values"),
        ("managed-cluster-available.graceFactor=2..x", "not a range"),
        ("managed-cluster-availabel.graceFactor=2", "did you mean 'managed-cluster-available'"),
        ("managed-cluster-available.graceFctor=2", "did you mean 'graceFactor'"),
        ("managed-cluster-available=2", "has no parameter"),
        ("managed-cluster-available.graceFactor=101", "must be a whole number from 1 to 100"),
        ("managed-cluster-available.graceFactor=soon", "must be a whole number from 1 to 100"),
        ("fleet.spec.report.maxAge=1m", "did you mean 'reports'"),
        ("fleet.spec.reports.maxAge=1 minute", "maxAge"),
        ("fleet.spec..maxAge=1m", "is not a path"),
        ("fleet.spec.a[x]=1m", "is not a path"),
        ("DisruptionBudget/defualt.maxDisrupted=1%", "did you mean 'default'"),
        ("DisruptionBudget/default.maxDisruptd=1%", "did you mean 'maxDisrupted'"),
        ("Placement/shop/web.tolerations[7].tolerationSeconds=1", "no list with an element [7]"),
        ("Rollout/shop/web.stages[0].minSuccessTime=1m", "agents report on what a Rollout has them do"),
        ("DisruptionBudgets/default.maxDisrupted=[", "are not values"),
    ],
)
def test_slips(tmp_path_factory: pytest.TempPathFactory, given: str, said: str) -> None:
    repo = _repository(tmp_path_factory)
    with pytest.raises(NotSupposable) as caught:
        checked_sweep(open_repository(repo.path, repo.environ), repo.tip(), given)
    assert said in str(caught.value)


def test_a_mistyped_kind(tmp_path_factory: pytest.TempPathFactory) -> None:
    repo = _repository(tmp_path_factory)
    with pytest.raises(UnknownKind, match="did you mean 'disruptionbudget'"):
        checked_sweep(open_repository(repo.path, repo.environ), repo.tip(), "DisruptionBudgt/default.maxDisrupted=1%")


_made: list[Repo] = []


def _repository(factory: pytest.TempPathFactory) -> Repo:
    if not _made:
        repo = new_repository(factory.mktemp("set") / "fleet")
        repo.commit(dict(FILES))
        _made.append(repo)
    return _made[0]


@pytest.mark.parametrize(
    ("given", "edits", "paths"),
    [
        ("fleet.spec.reports.maxAge=5m", {"fleet.yaml": FLEET.replace("30m", "1h")}, ("fleet.yaml",)),
        ("fleet.spec.reports.maxAge=5m", {"fleet.yaml": None}, ("supposed/set.yaml",)),
        ("fleet.spec.reports.maxAge=5m", {"fleet.yaml": FLEET.replace("}}", "}")}, ()),
        ("DisruptionBudget/default.cooldown=5m", {}, ("supposed/set.yaml",)),
        (
            "DisruptionBudget/default.cooldown=5m",
            {
                "b.yaml": "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\n"
                "metadata: {name: default}\nspec: {cooldown: 1m}\n"
            },
            ("b.yaml",),
        ),
    ],
)
def test_a_value_stays_whatever_people_commit(
    tmp_path: Path, given: str, edits: dict[str, str | None], paths: Sequence[str]
) -> None:
    repo = new_repository(tmp_path / "fleet")
    repository = open_repository(repo.path, repo.environ)
    start = repo.commit(dict(FILES))
    sweep = checked_sweep(repository, start, given)
    value = SettingInForce(sweep.setting, sweep.values[0])
    with rehearsal(repository, start, UNKNOWN_REFS) as trial:
        value.begin(trial)
        value.suppose(trial, {("", path): None if text is None else text.encode() for path, text in edits.items()})
        git = trial.repository.git
        having = {
            path
            for path in git.output("ls-tree", "-r", "--name-only", trial.commit).decode().split()
            if b"5m" in git.output("show", f"{trial.commit}:{path}")
        }
    assert having == {*paths}
