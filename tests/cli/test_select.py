"""Objects by what a person types."""

from datetime import datetime

import pytest

from muster.cli.select import select
from muster.data.times import parse_time
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run

NOW: datetime = parse_time("2026-01-01T00:00:00Z")
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: NAME}
spec: {hubAcceptsClient: true}
"""
LEASE = """\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: managed-cluster-lease, namespace: NAME}
spec: {renewTime: '2026-01-01T00:00:00.000000Z'}
"""


@pytest.fixture(scope="module")
def run() -> Run:
    texts = {f"{name}.yaml": f"{CLUSTER}---\n{LEASE}".replace("NAME", name) for name in ("a", "b")}
    return evaluate_snapshot(MemorySnapshot(texts), NOW)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("clusters", ["ManagedCluster/a", "ManagedCluster/b"]),
        ("cluster/a", ["ManagedCluster/a"]),
        ("lease/managed-cluster-lease", ["Lease/managed-cluster-lease"] * 2),
        ("lease/b/managed-cluster-lease", ["Lease/managed-cluster-lease"]),
        ("lease/", ["Lease/managed-cluster-lease"] * 2),
        ("cluster/c", []),
    ],
)
def test_objects_by_kind_namespace_and_name(run: Run, target: str, found: list[str]) -> None:
    assert [f"{body['kind']}/{body['metadata']['name']}" for body in select(run, target)] == found
    assert select(run, None) == run.objects
