"""A hub that does not answer, and where objects are on one."""

import json
from pathlib import Path

import pytest

from muster.agents.kube.apiserver import ApiError
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.data.kinds import CLUSTER_DEPLOYMENT, PLACEMENT_DECISION
from muster.features.sync.hub import object_at, objects_of, path_of
from muster.features.sync.wanted import HubKey
from tests.support.commandline import Run
from tests.support.commandline import muster as muster
from tests.support.git import new_repository


def kubeconfig(path: Path, server: str = "https://127.0.0.1:1") -> Path:
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "users": [{"name": "u", "user": {"token": "t"}}],
        "clusters": [{"name": "hub", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "u"}}],
    }))  # fmt: skip
    return path


def test_a_hub_that_does_not_answer(tmp_path: Path) -> None:
    hub = from_kubeconfig(kubeconfig(tmp_path / "config"))
    with pytest.raises(ApiError, match="does not answer") as caught:
        object_at(hub, "/api/v1/namespaces/default/configmaps/muster")
    assert caught.value.status == 0
    with pytest.raises(ApiError):
        list(objects_of(hub, PLACEMENT_DECISION))


def test_paths() -> None:
    key = HubKey(PLACEMENT_DECISION, "shop", "web-decision-1", status=True)
    root = "/apis/cluster.open-cluster-management.io/v1beta1"
    assert path_of(key) == f"{root}/namespaces/shop/placementdecisions/web-decision-1/status"
    assert path_of(HubKey(CLUSTER_DEPLOYMENT, "ci-1", "ci-1")).endswith("/namespaces/ci-1/clusterdeployments/ci-1")


def test_the_command_says_what_is_wrong(muster: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"README.md": "a fleet\n"})
    code, _, errors = muster("sync", "--repo", repo.path)
    assert (code, "--kubeconfig says how" in errors) == (2, True)
    code, _, errors = muster("sync", "--repo", repo.path, "--kubeconfig", kubeconfig(tmp_path / "config"))
    assert (code, "does not answer" in errors) == (4, True)
    code, out, _ = muster("sync", "--repo", repo.path, "--print-rbac")
    assert (code, "kind: ClusterRole\n" in out) == (0, True)
