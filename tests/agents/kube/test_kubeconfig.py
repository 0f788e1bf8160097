"""Kubeconfigs: of one file and of several, held against the official client where that reads them as kubectl does."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from muster.agents.kube.apiserver import ApiServer, read_content
from muster.agents.kube.kubeconfig import from_inside, from_kubeconfig
from muster.agents.kube.plugin import AccessError
from muster.data.tree import Tree


def written(path: Path, user: Tree, cluster: Tree | None = None, **more: Tree) -> Path:
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "k", "user": "u"}},
            {"name": "other", "context": {"cluster": "other", "user": "u"}},
        ],
        "clusters": [
            {"name": "k", "cluster": {"server": "https://k:6443", **(cluster or {})}},
            {"name": "other", "cluster": {"server": "https://other:6443"}},
        ],
        "users": [{"name": "u", "user": user}],
        **more,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(body))
    return path


def authorization(server: ApiServer) -> str | None:
    return dict(server.login.headers(server.login.credential())).get("Authorization")


def of_the_official_client(path: Path, context: str | None = None) -> Any:
    found = client.Configuration()
    config.load_kube_config(str(path), context, found, persist_config=False)
    return found


@pytest.mark.parametrize(
    "user",
    [
        {},
        {"token": "sesame"},
        {"tokenFile": "token"},
        {"username": "ann", "password": "secret"},
        {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "./login",
                "args": ["a b"],
                "env": [{"name": "TOKEN", "value": "of the plugin"}],
            }
        },
        {"token": "sesame", "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./missing"}},
    ],
)
@pytest.mark.parametrize(
    "cluster",
    [
        {},
        {"insecure-skip-tls-verify": True, "tls-server-name": "inside", "proxy-url": "http://proxy:3128"},
        {"certificate-authority": "ca.crt"},
        {"certificate-authority": "missing", "certificate-authority-data": base64.b64encode(b"inline").decode()},
    ],
)
@pytest.mark.parametrize("context", [None, "other"])
def test_it_is_read_as_the_official_client_reads_it(
    tmp_path: Path, user: Tree, cluster: Tree, context: str | None
) -> None:
    (tmp_path / "token").write_text("from the file\n")
    (tmp_path / "ca.crt").write_text("an authority")
    (tmp_path / "login").write_text(
        '#!/bin/sh\necho \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
        '"status": {"token": "\'"$TOKEN $1"\'"}}\'\n'
    )
    (tmp_path / "login").chmod(0o755)
    path = written(tmp_path / "config", user, cluster)
    ours, theirs = from_kubeconfig(path, context), of_the_official_client(path, context)
    token = theirs.api_key.get("BearerToken")
    assert authorization(ours) == (token.strip() if token else None)
    assert ours.url == theirs.host
    assert ours.verify == theirs.verify_ssl
    assert ours.server_name == (theirs.tls_server_name or "")
    assert ours.proxy == theirs.proxy
    assert read_content(ours.authority) == (Path(theirs.ssl_ca_cert).read_bytes() if theirs.ssl_ca_cert else b"")


def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    server = from_kubeconfig(written(tmp_path / "config", {"tokenFile": "token"}))
    assert authorization(server) == "Bearer one"
    (tmp_path / "token").write_text("two")
    assert authorization(server) == "Bearer two"
    both = from_kubeconfig(written(tmp_path / "both", {"tokenFile": "token", "token": "older"}))
    assert authorization(both) == "Bearer two"
    (tmp_path / "token").unlink()
    assert authorization(both) == "Bearer older"
    with pytest.raises(AccessError, match="token cannot be read"):
        authorization(server)


def test_to_act_as_somebody_else(tmp_path: Path) -> None:
    user = {"as": "ann", "as-uid": "1", "as-groups": ["a", "b"], "as-user-extra": {"scopes": ["view"]}}
    server = from_kubeconfig(written(tmp_path / "config", user))
    assert server.login.headers(server.login.credential()) == [
        ("Impersonate-User", "ann"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-scopes", "view"),
    ]


def test_of_several_files_the_first_counts_and_paths_begin_at_each(tmp_path: Path) -> None:
    one = written(tmp_path / "a" / "config", {"tokenFile": "token"}, clusters=[])
    (tmp_path / "a" / "token").write_text("of a")
    two = written(tmp_path / "b" / "config", {"token": "of b"}, **{"current-context": "other"})
    several = Path(os.pathsep.join(["", str(one), str(tmp_path / "missing"), str(two)]))
    server = from_kubeconfig(several)
    assert (server.url, authorization(server)) == ("https://k:6443", "Bearer of a")


@pytest.mark.parametrize(
    ("user", "more", "message"),
    [
        ({"auth-provider": {"name": "gcp"}}, {}, "auth-provider 'gcp' is not supported"),
        ({"client-certificate": "missing"}, {}, "missing"),
        ({"client-key-data": "-"}, {}, "config: "),
        ({"exec": {"command": "x"}}, {}, "apiVersion None"),
        ({}, {"current-context": "nowhere"}, "no context 'nowhere'"),
        ({}, {"current-context": ""}, "no current-context: name one with --context: c, other"),
        ({}, {"users": []}, "no user 'u'"),
        ({}, {"clusters": [{"name": "k", "cluster": {}}]}, "names no server"),
    ],
)
def test_a_kubeconfig_that_does_not_say(tmp_path: Path, user: Tree, more: Tree, message: str) -> None:
    with pytest.raises(AccessError, match=message):
        from_kubeconfig(written(tmp_path / "config", user, **more))


def test_from_inside_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert from_inside() is None
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    server = from_inside()
    assert server is not None
    assert server.url == "https://[fd00::1]:443"
    assert server.get("/livez")[0] == 0, "there is no such file here"


def test_a_file_that_is_not_yaml_is_named_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("kind: Config\nhello: [")
    with pytest.raises(AccessError, match=r"config is not YAML: line \d: \w+"):
        from_kubeconfig(tmp_path / "config")
