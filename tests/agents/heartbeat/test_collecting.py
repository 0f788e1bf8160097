"""What an agent collects from a real API server whose objects change."""

import json
from pathlib import Path

import pytest

from muster.data.kinds import MANIFEST_WORK
from muster.data.tree import Tree
from tests.support.commandline import Run, muster
from tests.support.git import Repo, new_repository
from tests.support.hub import Hub, needs_hub, running_hub

__all__ = ["muster"]  # a fixture
pytestmark = needs_hub
AT = "2026-01-01T00:00:00Z"
CLAIM = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusterclaims.cluster.open-cluster-management.io"},
    "spec": {
        "group": "cluster.open-cluster-management.io",
        "scope": "Cluster",
        "names": {"plural": "clusterclaims", "singular": "clusterclaim", "kind": "ClusterClaim"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"value": {"type": "string"}}}},
                    }
                },
            }
        ],
    },
}


def node(hub: Hub, name: str, cpu: str) -> None:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    hub.apply(body)
    hub.apply({**body, "status": {"capacity": {"cpu": cpu}, "allocatable": {"cpu": cpu}}}, status=True)


def claim(value: str) -> Tree:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "ClusterClaim",
        "metadata": {"name": "region"},
        "spec": {"value": value},
    }


def namespaced(api: str, kind: str, name: str, namespace: str, **more: Tree) -> Tree:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    seed = new_repository(tmp_path / "seed")
    seed.commit({"fleet.yaml": "{apiVersion: muster.dev/v1alpha1, kind: Fleet, metadata: {name: f}}\n"})
    bare = new_repository(tmp_path / "fleet.git", bare=True)
    seed.git("push", "--quiet", str(bare.path), "main")
    return bare


def test_nodes_claims_add_ons_and_works(tmp_path: Path, repo: Repo, muster: Run) -> None:
    """Of a server of its own: it gets nodes, which are of the whole cluster."""
    with running_hub(tmp_path / "server") as hub:
        hub.install_crds([CLAIM])
        beat = (
            "heartbeat",
            "--cluster",
            "edge",
            "--remote",
            repo.path,
            "--kubeconfig",
            hub.kubeconfig,
            "--addon-namespace",
            "add-ons",
        )
        muster(*beat)
        muster("accept", "--repo", repo.path, "--branch", "main", "--clusters", "edge")
        muster("reconcile", "--repo", repo.path, "--branch", "main", "--now", AT)
        node(hub, "n1", "4")
        hub.apply(claim("eu"))
        lease = namespaced(
            "coordination.k8s.io/v1",
            "Lease",
            "dns",
            "add-ons",
            spec={"renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 60},
        )
        work = namespaced(
            MANIFEST_WORK.api_version, "ManifestWork", "web", "edge", spec={"workload": {"manifests": []}}
        )
        hub.make_namespaces([lease, work])
        hub.apply(lease)
        hub.apply(work)
        applied = {
            "type": "Applied",
            "status": "True",
            "reason": "Complete",
            "message": "",
            "observedGeneration": 1,
            "lastTransitionTime": AT,
        }
        hub.apply({**work, "spec": None, "status": {"conditions": [applied]}}, status=True)

        def told() -> tuple[Tree, set[str]]:
            assert muster(*beat)[1:] == ("edge: renewed, ManagedClusterConditionAvailable is True\n", "")
            found = json.loads(muster("get", "ManagedCluster/edge", "--repo", repo.path, "-o", "json")[1])["status"]
            names = repo.git("ls-tree", "-r", "--name-only", "refs/heads/agents/edge").split()
            return found, set(names) - {"cluster.yaml", "lease.yaml"}

        status, files = told()
        assert status["version"]["kubernetes"].startswith("v1.")
        assert (status["capacity"], status["allocatable"]) == ({"cpu": "4"}, {"cpu": "4"})
        assert status["clusterClaims"] == [{"name": "region", "value": "eu"}]
        assert files == {"addons/dns.yaml", "works/web.yaml"}
        shown = json.loads(muster("get", "ManifestWork/edge/web", "--repo", repo.path, "-o", "json")[1])
        assert shown["status"]["conditions"][0]["type"] == "Applied"

        node(hub, "n2", "500m")
        hub.apply(claim("us"))
        hub.delete(lease)
        hub.delete(work)
        status, files = told()
        assert status["capacity"] == {"cpu": "4500m"}
        assert status["clusterClaims"] == [{"name": "region", "value": "us"}]
        assert files == set()
