"""Login plugins: real programs that count how often they run."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.agents.kube.plugin import AccessError, LoginPlugin, login_plugin
from muster.data.tree import Tree

NOW = datetime(2026, 1, 1, tzinfo=UTC)
V1 = "client.authentication.k8s.io/v1"


def program(folder: Path, status: Tree, version: str = V1) -> Path:
    """A plugin beside the kubeconfig that prints a credential, and notes what it was told."""
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    (folder / "answer.json").write_text(json.dumps(answer))
    made = folder / "login"
    made.write_text(
        '#!/bin/sh\ncd "$(dirname "$0")"; echo "$KUBERNETES_EXEC_INFO" >> runs; echo "$REGION" >> runs; '
        '[ "$1" = get-token ] && cat answer.json\n'
    )
    made.chmod(0o755)
    return made


def plugin(folder: Path, **more: Tree) -> LoginPlugin:
    spec = {"command": "./login", "args": ["get-token"], "apiVersion": V1, **more}
    made = login_plugin(
        spec,
        {
            "server": "https://c",
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}],
        },
        folder,
    )
    made.clock = lambda: NOW
    return made


def runs(folder: Path) -> list[str]:
    return (folder / "runs").read_text().splitlines()[::2]


def test_a_token_is_kept_until_it_expires(tmp_path: Path) -> None:
    program(tmp_path, {"token": "t1", "expirationTimestamp": "2026-01-01T00:15:00Z"})
    asked = plugin(tmp_path)
    assert [asked.credential().token for _ in range(3)] == ["t1"] * 3
    assert len(runs(tmp_path)) == 1
    program(tmp_path, {"token": "t2", "expirationTimestamp": "2026-01-01T00:30:00Z"})
    asked.clock = lambda: NOW + timedelta(minutes=15)
    assert asked.credential().token == "t2"


def test_a_refused_credential_is_asked_for_anew_but_not_its_successor(tmp_path: Path) -> None:
    program(tmp_path, {"token": "t1"})
    asked = plugin(tmp_path)
    first = asked.credential()
    asked.clock = lambda: NOW + timedelta(days=30)
    assert asked.credential() is first
    asked.forget(first)
    second = asked.credential()
    asked.forget(first)
    assert asked.credential() is second
    assert len(runs(tmp_path)) == 2


def test_the_plugin_is_told_of_the_cluster_if_it_asks(tmp_path: Path) -> None:
    program(tmp_path, {"clientCertificateData": "c", "clientKeyData": "k"})
    found = plugin(tmp_path, provideClusterInfo=True, env=[{"name": "REGION", "value": "eu"}]).credential()
    assert (found.certificate, found.key, found.token) == (b"c", b"k", "")
    told, region = (tmp_path / "runs").read_text().splitlines()
    assert region == "eu"
    assert json.loads(told) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://c", "config": {"audience": "x"}}},
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"command": "aws-is-missing", "installHint": "install it from\n  aws.example"},
            "aws-is-missing is not installed: install it from aws.example",
        ),
        ({"args": ["x"]}, "login failed with status 1"),
        ({"command": "/"}, "cannot run"),
    ],
)
def test_a_plugin_that_fails(tmp_path: Path, more: Tree, message: str) -> None:
    program(tmp_path, {"token": "t"})
    with pytest.raises(AccessError, match=message):
        plugin(tmp_path, **more).credential()


@pytest.mark.parametrize(
    "status",
    [{}, {"clientCertificateData": "c"}, {"token": "t", "expirationTimestamp": "soon"}],
)
def test_an_answer_that_cannot_be_used(tmp_path: Path, status: Tree) -> None:
    program(tmp_path, status)
    with pytest.raises(AccessError, match="cannot be used"):
        plugin(tmp_path).credential()


def test_an_answer_of_another_version(tmp_path: Path) -> None:
    program(tmp_path, {"token": "t"}, "client.authentication.k8s.io/v1beta1")
    with pytest.raises(AccessError, match="not an ExecCredential of client.authentication.k8s.io/v1"):
        plugin(tmp_path).credential()
    assert plugin(tmp_path, apiVersion="client.authentication.k8s.io/v1beta1").credential().token == "t"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"command": ""}, "no command"),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1"),
        ({"interactiveMode": "Always"}, "needs a terminal"),
    ],
)
def test_a_plugin_that_cannot_be_used(tmp_path: Path, more: Tree, message: str) -> None:
    with pytest.raises(AccessError, match=message):
        plugin(tmp_path, **more)
