"""What `muster join` prints: a real API server accepts it under strict validation, and its rights suffice."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from muster.agents.heartbeat.facts import ADD_ON_NAMESPACE
from muster.agents.join.manifests import EXTRAS, NAME, AgentSetup, is_ssh, manifests, port_of, systemd_unit
from muster.agents.kube.apiserver import ApiError, ApiServer, Login
from muster.data.tree import Tree
from tests.agents.works.site import config_map, work
from tests.support.commandline import Run, muster
from tests.support.git import Repo, clone, new_repository
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub

__all__ = ["muster"]  # a fixture
SETUP = AgentSetup("edge", "https://relay.example:8443", relay=True, port=8443)
PUSHING = replace(SETUP, address="https://git.example/fleet.git", relay=False, port=443, extras=frozenset(EXTRAS))

ADD_ONS: Tree = {"metadata": {"namespace": ADD_ON_NAMESPACE}}


def by_kind(setup: AgentSetup) -> dict[str, Tree]:
    return {f"{body['kind']}/{body['metadata']['name']}": body for body in manifests(setup)}


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("git+ssh://a/f", 22),
        ("git://a/f", 9418),
        ("https://[::1]:8443", 8443),
        ("https://a", 443),
        ("http://a", 80),
        ("https://a:8443/x", 8443),
        ("git@a:fleet.git", 22),
        ("ssh://a/f", 22),
        ("https://a:x", 443),
    ],
)
def test_the_port_of_an_address(address: str, port: int) -> None:
    assert port_of(address) == port


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ssh://a/f", True),
        ("git+ssh://a/f", True),
        ("git@a:fleet.git", True),
        ("https://a:8443/x", False),
        ("/srv/fleet:1.git", False),
    ],
)
def test_whether_an_address_is_of_ssh(address: str, said: bool) -> None:
    assert is_ssh(address) is said


def test_ssh_reads_its_key_and_the_hosts_from_the_secret() -> None:
    setup = replace(PUSHING, address="ssh://git@git.example/fleet.git", port=22, ssh=True)
    container = by_kind(setup)["Deployment/muster-agent"]["spec"]["template"]["spec"]["containers"][0]
    found = {one["name"]: one["value"] for one in container["env"]}
    assert "credential.helper" not in found.values()
    assert shlex.split(found["GIT_SSH_COMMAND"]) == [
        "ssh",
        "-i",
        "/var/run/secrets/muster/identity",
        "-oIdentitiesOnly=yes",
        "-oUserKnownHostsFile=/var/run/secrets/muster/known_hosts",
    ]
    unit = systemd_unit(setup)
    assert "LoadCredential=identity:/etc/muster/edge/identity\nLoadCredential=known_hosts:" in unit
    assert "LoadCredential=credentials" not in unit
    assert '-i "$CREDENTIALS_DIRECTORY/identity"' in unit


def test_without_extras_there_are_no_rights_on_nodes() -> None:
    found = by_kind(SETUP)
    assert "DaemonSet/muster-detector" not in found
    assert found["ClusterRole/muster-agent:muster-agent"]["rules"] == [
        {"nonResourceURLs": ["/healthz", "/livez", "/version"], "verbs": ["get"]}
    ]
    ports = {one["port"] for one in found["NetworkPolicy/muster-agent"]["spec"]["egress"][0]["ports"]}
    assert ports == {53, 443, 6443, 8443}
    container = found["Deployment/muster-agent"]["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == [
        "heartbeat",
        "--cluster=edge",
        "--relay=https://relay.example:8443",
        "--token-file=/var/run/secrets/muster/token",
        "--deployment=muster-agent/muster-agent",
        "--every",
    ]


def test_a_detector_reports_where_the_agent_does() -> None:
    for setup, target in (
        (
            replace(SETUP, own_authority=True),
            [
                "--relay=https://relay.example:8443",
                "--token-file=/var/run/secrets/muster/token",
                "--relay-ca=/var/run/secrets/muster/ca.crt",
            ],
        ),
        (PUSHING, ["--remote=https://git.example/fleet.git"]),
    ):
        found = by_kind(replace(setup, extras=frozenset(("remedies",))))["DaemonSet/muster-detector"]
        assert found["spec"]["template"]["spec"]["containers"][0]["args"] == [
            "detect",
            "--cluster=edge",
            "--kind=ManagedCluster",
            *target,
            "--dns=kubernetes.default.svc.cluster.local",
        ]


def test_the_unit_says_the_same(tmp_path: Path) -> None:
    unit = systemd_unit(replace(SETUP, own_authority=True))
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert line == (
        "ExecStart=/usr/local/bin/muster heartbeat --cluster=edge --relay=https://relay.example:8443 "
        "--token-file=%d/token --relay-ca=%d/ca.crt --every --kubeconfig=%d/kubeconfig"
    )
    assert "LoadCredential=ca.crt:/etc/muster/edge/ca.crt" in unit
    assert "GIT_CONFIG_KEY_0=credential.helper" in systemd_unit(PUSHING)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze not installed")
@pytest.mark.parametrize("setup", [SETUP, PUSHING])
def test_systemd_finds_nothing_wrong_with_the_unit(setup: AgentSetup, tmp_path: Path) -> None:
    unit = tmp_path / "muster-agent-edge.service"
    unit.write_text(systemd_unit(setup).replace("/usr/local/bin/muster", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "muster-agent-edge" not in done.stderr


@needs_hub
@pytest.mark.parametrize("setup", [SETUP, PUSHING])
def test_a_real_server_accepts_all_of_it_at_the_level_restricted(hub: Hub, setup: AgentSetup) -> None:
    hub.make_namespaces([ADD_ONS])
    for body in manifests(setup):
        hub.apply(body)
    for workload in (body for body in manifests(setup) if body["kind"] in ("Deployment", "DaemonSet")):
        # The controllers do not run here: the pods that they would make are what the level is asked about.
        template = workload["spec"]["template"]
        metadata = {"name": "probe", "namespace": NAME, **template["metadata"]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        hub.request("POST", f"/api/v1/namespaces/{NAME}/pods?dryRun=All&fieldValidation=Strict", pod)


def token(hub: Hub, namespace: str = NAME) -> str:
    """A token of the agent's ServiceAccount."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{NAME}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(hub.request("POST", path, body)["status"]["token"])


@needs_hub
def test_the_agent_runs_with_the_token_of_its_account_and_nothing_more(hub: Hub, tmp_path: Path, muster: Run) -> None:
    extras = frozenset(("capacity", "addons", "works"))
    setup = replace(PUSHING, cluster="rim", extras=extras)
    hub.make_namespaces([ADD_ONS])
    for body in manifests(setup):
        hub.apply(body)
    deployment = by_kind(setup)["Deployment/muster-agent"]
    hub.apply(
        {**deployment, "spec": None, "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}
        | {"spec": deployment["spec"]},
        status=True,
    )
    hub.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    hub.apply(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "dns", "namespace": ADD_ON_NAMESPACE},
            "spec": {},
        }
    )
    (tmp_path / "token").write_text(token(hub))
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": hub.url, "certificate-authority": str(hub.certificate)}}],
        "users": [{"name": "u", "user": {"tokenFile": "token"}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    repo = fleet(tmp_path)
    arguments = [one for one in setup.arguments("") if one != "--every" and not one.startswith("--remote=")]
    beat = (*arguments, f"--remote={repo.path}", f"--kubeconfig={tmp_path / 'kubeconfig'}")
    assert muster(*beat) == (0, "rim: asked to join\n", "")
    muster("accept", "--repo", repo.path, "--branch", "main", "--clusters", "rim")
    muster("reconcile", "--repo", repo.path, "--branch", "main", "--now", "2026-01-01T00:00:00Z")
    assert muster(*beat) == (0, "rim: renewed, ManagedClusterConditionAvailable is True\n", "")
    assert "addons/dns.yaml" in repo.git("ls-tree", "-r", "--name-only", "refs/heads/agents/rim")
    # Works: nothing may be applied until the user grants it, with the command that `join` prints.
    manifest = config_map("web", "joined", v="1")
    person = clone(repo, tmp_path / "person")
    derived = work("web", manifest)
    derived["metadata"]["namespace"] = "rim"
    person.commit({"derived/manifestworks/rim/web.yaml": yaml.safe_dump(derived)})
    person.git("push", "--quiet", "origin", "main")
    hub.make_namespaces([manifest])

    def applied() -> tuple[str, str]:
        assert muster(*beat)[0] == 0
        text = repo.git("show", "refs/heads/agents/rim:works/web.yaml")
        one = next(one for one in yaml.safe_load(text)["status"]["conditions"] if one["type"] == "Applied")
        return one["status"], one["message"]

    status, message = applied()
    assert (status, 'cannot patch resource "configmaps"' in message) == ("False", True)
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAME}
    # The controller that fills the role `edit` from this one does not run here.
    edit = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-edit"}
    hub.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "subjects": [account],
            "roleRef": edit,
            "metadata": {"name": "muster-agent-works", "namespace": "joined"},
        }
    )
    assert applied() == ("True", "Apply manifest work complete")
    assert hub.get(manifest)["data"] == {"v": "1"}
    server = ApiServer(hub.url, Login(token=token(hub)), hub.certificate)
    for path in ("/api/v1/secrets", "/api/v1/namespaces/default/pods", "/apis/apps/v1/deployments"):
        with pytest.raises(ApiError) as caught:
            server.get_json(path)
        assert caught.value.status == 403


def answers(hub: Hub, namespace: str) -> dict[str, int]:
    """What an agent is answered when it asks for nodes and for the Leases of add-ons."""
    server = ApiServer(hub.url, Login(token=token(hub, namespace)), hub.certificate)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{ADD_ON_NAMESPACE}/leases"
    return {name: server.get(path)[0] for name, path in (("capacity", "/api/v1/nodes"), ("addons", leases))}


@needs_hub
def test_two_agents_in_one_cluster_have_their_own_rights(hub: Hub) -> None:
    hub.make_namespaces([ADD_ONS])
    first = replace(SETUP, namespace="agent-one", extras=frozenset(("capacity", "addons")))
    second = replace(SETUP, namespace="agent-two", extras=frozenset(("addons",)))
    third = replace(SETUP, namespace="agent-three")
    for setup in (first, second, third):
        for body in manifests(setup):
            hub.apply(body)
    assert answers(hub, "agent-one") == {"capacity": 200, "addons": 200}
    assert answers(hub, "agent-two") == {"capacity": 403, "addons": 200}
    assert answers(hub, "agent-three") == {"capacity": 403, "addons": 403}
    for body in manifests(second):
        if body["kind"] != "Namespace":
            hub.delete(body)
    assert answers(hub, "agent-one") == {"capacity": 200, "addons": 200}


def fleet(folder: Path) -> Repo:
    seed = new_repository(folder / "seed")
    seed.commit({"fleet.yaml": "{apiVersion: muster.dev/v1alpha1, kind: Fleet, metadata: {name: f}}\n"})
    bare = new_repository(folder / "fleet.git", bare=True)
    seed.git("push", "--quiet", str(bare.path), "main")
    return bare


def test_an_agent_of_a_relay_needs_no_git(tmp_path: Path) -> None:
    """As in the agent's image: no git on the PATH."""
    (tmp_path / "token").write_text("t")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "muster",
            "heartbeat",
            "--cluster=edge",
            "--relay=http://127.0.0.1:1",
            f"--token-file={tmp_path / 'token'}",
            "--api-server=http://127.0.0.1:1",
        ],
        env={**os.environ, "PATH": str(tmp_path), "GIT_PYTHON_REFRESH": "quiet"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "the relay does not answer" in done.stderr) == (4, True), done.stderr
