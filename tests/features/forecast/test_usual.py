"""How long clusters took, from the versions of their derived files."""

from datetime import timedelta
from pathlib import Path

from muster.data.kinds import MANIFEST_WORK_REPLICA_SET, ROLLOUT
from muster.data.snapshot import Agents
from muster.data.tree import Tree
from muster.data.yaml.emitter import file_text
from muster.features.forecast.usual import UsualTime, usual_times
from muster.fleet.assemble import assemble
from muster.fleet.derived import HEADER
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from tests.support.git import new_repository

WEB, SET = ROLLOUT.id("web", "apps"), MANIFEST_WORK_REPLICA_SET.id("base", "apps")
OBJECTS = """\
apiVersion: muster.dev/v1alpha1
kind: Rollout
metadata: {name: web, namespace: apps}
spec: {placementRef: {name: web}, revision: v2}
---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: base, namespace: apps}
spec:
  placementRefs: [{name: web}]
  manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}}
"""


def _cluster(name: str, revision: str, state: str, since: str) -> str:
    entry = {"revision": revision, "stage": "all", "state": state, "since": f"2026-01-01T{since}Z"}
    body: Tree = {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "status": {"muster": {"rollouts": {"apps/web": entry}}},
    }
    return file_text(body, header=HEADER)


def _work(state: str, written: str, since: str) -> str:
    known = {"state": state, "since": f"2026-01-01T{since}Z", "written": f"2026-01-01T{written}Z"}
    labels = {"work.open-cluster-management.io/manifestworkreplicaset": "apps.base"}
    body: Tree = {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "base-1", "namespace": "a", "labels": labels},
        "status": {"muster": {"rollout": known}},
    }
    return file_text(body, header=HEADER)


def test_the_median_of_what_they_took(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"objects.yaml": OBJECTS})
    file, work = "derived/managedclusters/{}.yaml", "derived/manifestworks/a/base-1.yaml"
    started = "10:00:00"
    for files in (
        {file.format("a"): _cluster("a", "v1", "Progressing", started), work: _work("ToApply", started, started)},
        {file.format("a"): _cluster("a", "v1", "Succeeded", "10:04:00"), work: _work("Succeeded", started, "10:00:30")},
        {file.format("a"): _cluster("a", "v1", "Failed", "10:05:00")},
        {file.format("a"): _cluster("a", "v1", "Succeeded", "10:06:00")},  # a recovery does not count
        {file.format("a"): _cluster("a", "v2", "Progressing", "11:00:00")},
        {file.format("a"): _cluster("a", "v2", "Succeeded", "11:00:01")},  # it had v2 before
        {file.format("b"): _cluster("b", "v1", "Progressing", "10:00:00")},
        {file.format("b"): _cluster("b", "v1", "Succeeded", "10:10:00")},
        {file.format("b"): _cluster("b", "v2", "Succeeded", "12:00:00")},  # nobody knows when it began
        {file.format("c"): _cluster("c", "v2", "Progressing", "10:00:00")},
        {file.format("c"): _cluster("c", "v2", "Succeeded", "10:05:00")},
    ):
        repo.commit(files)
    repository = open_repository(repo.path, repo.environ)
    snapshot = CommitSnapshot(repository, repo.tip(), (), Agents())
    found = usual_times(repository, repo.tip(), assemble(snapshot))
    assert found == {WEB: UsualTime(timedelta(minutes=5), 3), SET: UsualTime(timedelta(seconds=30), 1)}
