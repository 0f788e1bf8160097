"""A hub that does not answer, and where objects are on one."""

import json
import shutil
from pathlib import Path

import pytest

from muster.agents.kube.apiserver import ApiError
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.data.kinds import CLUSTER_DEPLOYMENT, PLACEMENT_DECISION
from muster.features.sync.hub import HubKey, HubKind, object_at, objects_of, path_of
from tests.support.commandline import Run
from tests.support.commandline import muster as muster
from tests.support.example import EXAMPLE
from tests.support.git import new_repository


def kubeconfig(path: Path, server: str = "https://127.0.0.1:1") -> Path:
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "hub",
                "users": [{"name": "u", "user": {"token": "t"}}],
                "clusters": [{"name": "hub", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
                "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "u"}}],
            }
        )
    )
    return path


def test_a_hub_that_does_not_answer(tmp_path: Path) -> None:
    hub = from_kubeconfig(kubeconfig(tmp_path / "config"))
    with pytest.raises(ApiError, match="does not answer") as caught:
        object_at(hub, "/api/v1/namespaces/default/configmaps/muster")
    assert caught.value.status == 0
    with pytest.raises(ApiError):
        list(objects_of(hub, HubKind.of(PLACEMENT_DECISION)))


def test_paths() -> None:
    key = HubKey(HubKind.of(PLACEMENT_DECISION), "shop", "web-decision-1", status=True)
    root = "/apis/cluster.open-cluster-management.io/v1beta1"
    assert path_of(key) == f"{root}/namespaces/shop/placementdecisions/web-decision-1/status"
    assert path_of(HubKey(HubKind.of(CLUSTER_DEPLOYMENT), "ci-1", "ci-1")).endswith(
        "/namespaces/ci-1/clusterdeployments/ci-1"
    )
    secret = HubKind("", "Secret", "v1", "secrets")
    assert path_of(HubKey(secret, "a", "b/status")) == "/api/v1/namespaces/a/secrets/b%2Fstatus"


def test_a_kind_is_the_same_in_each_version() -> None:
    old, new = HubKind("argoproj.io", "ApplicationSet", "v1alpha1"), HubKind("argoproj.io", "ApplicationSet", "v1")
    assert old == new
    assert {old} == {new}
    assert (old.group_kind, HubKind("", "Secret", "v1").group_kind) == ("ApplicationSet.argoproj.io", "Secret")


def test_rights_for_projections_need_a_hub_that_says_their_resources(muster: Run, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    shutil.copytree(EXAMPLE, repo.path, dirs_exist_ok=True)
    repo.commit({})
    code, out, errors = muster("sync", "--repo", repo.path, "--print-rbac", "--projections", "kustomization")
    assert (code, "kustomizations" in out) == (0, False)
    assert "warning: no Projection is called 'kustomization'; did you mean 'kustomizations'?" in errors
    code, _, errors = muster("sync", "--repo", repo.path, "--print-rbac", "--projections", "all")
    kind = "Kustomization of kustomize.toolkit.fluxcd.io/v1"
    assert (code, f"warning: no rule for {kind}: give --kubeconfig" in errors) == (0, True)
    access = ("--kubeconfig", kubeconfig(tmp_path / "config"))
    code, _, errors = muster("sync", "--repo", repo.path, "--print-rbac", "--projections", "all", *access)
    assert (code, "does not answer" in errors) == (4, True)


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
