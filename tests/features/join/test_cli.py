"""`muster join` as its users call it, and `muster get waiting` beside it."""

import json
from pathlib import Path

import pytest
import yaml

from tests.agents.heartbeat.test_heartbeat import Server
from tests.agents.heartbeat.test_heartbeat import server as server
from tests.agents.join.test_manifests import fleet
from tests.support.commandline import Run, muster

__all__ = ["muster"]  # a fixture
JOIN = ("join", "--cluster", "edge", "--relay", "https://relay.example")


def test_manifests_on_standard_output_and_next_steps_beside_them(muster: Run) -> None:
    code, out, err = muster(*JOIN)
    assert code == 0
    assert [body["kind"] for body in yaml.safe_load_all(out)][-1] == "Deployment"
    assert "kubectl create secret generic muster-agent --namespace muster-agent --from-file=token\n" in err
    assert err.endswith("muster get waiting\nmuster accept edge\n")


def test_a_chart_a_unit_and_the_line_for_a_certificate(muster: Run, tmp_path: Path) -> None:
    assert muster(*JOIN, "--chart", tmp_path / "chart")[0] == 0
    assert (tmp_path / "chart/templates/agent.yaml").is_file()
    _, _, err = muster(*JOIN, "--chart", tmp_path / "chart", "--with", "addons")
    assert err.startswith("# first, unless Open Cluster Management made it:\nkubectl create namespace open-cluster-")
    assert f"helm install muster-agent {tmp_path}/chart --namespace=muster-agent --create-namespace\n" in err
    assert "kubectl label namespace muster-agent pod-security.kubernetes.io/enforce=restricted" in err
    code, out, err = muster(*JOIN, "--systemd", "--own-authority")
    assert (code, "ExecStart=/usr/local/bin/muster heartbeat" in out) == (0, True)
    assert "put kubeconfig, token, ca.crt into /etc/muster/edge" in err
    assert muster(*JOIN, "--csr")[1] == (
        "muster heartbeat --cluster=edge --relay=https://relay.example --token-file=./token --every "
        "--identity=./identity\n"
    )


def test_over_ssh_the_secret_has_a_key(muster: Run) -> None:
    code, out, err = muster("join", "--cluster", "edge", "--remote", "ssh://git@git.example/fleet.git")
    assert (code, "GIT_SSH_COMMAND" in out) == (0, True)
    assert "--from-file=identity --from-file=known_hosts\n" in err
    assert "may push" in err


def test_who_wants_works_applied_grants_the_rights(muster: Run) -> None:
    _, out, err = muster(*JOIN, "--with", "works", "--namespace", "agents")
    deployment = list(yaml.safe_load_all(out))[-1]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-3:] == ["--works", "--works-namespace=agents", "--every"]
    assert (
        "kubectl create rolebinding muster-agent-works:agents --namespace=NAMESPACE --clusterrole=edit "
        "--serviceaccount=agents:muster-agent\n"
    ) in err
    assert "--verb=impersonate" in err
    _, out, err = muster(*JOIN, "--with", "works", "--systemd")
    assert "--works --works-namespace=muster-agent --every" in out
    assert "list ConfigMaps in the namespace muster-agent" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster", "A b", "--relay", "https://r"), "not a valid name"),
        (("--relay", "https://r"), "give --cluster NAME or --table FILE"),
        (("--cluster", "edge", "--relay", "https://r", "--renew", "edge"), "go with --table"),
        (("--cluster", "edge"), "give --relay URL or --remote URL"),
        (("--cluster", "edge", "--remote", "https://r", "--own-authority"), "--own-authority needs --relay"),
        (("--cluster", "edge", "--relay", "https://r", "--csr", "--systemd"), "exclude each other"),
    ],
)
def test_what_does_not_go_together(muster: Run, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = muster("join", *arguments)
    assert (code, message in err) == (2, True), err


def test_who_waits(muster: Run, server: Server, tmp_path: Path) -> None:
    repo = fleet(tmp_path)

    def beat(cluster: str, *more: str) -> None:
        muster("heartbeat", "--cluster", cluster, "--remote", repo.path, "--api-server", server.url, *more)

    def waiting(*more: str) -> tuple[int, str, str]:
        return muster("get", "waiting", "--repo", repo.path, "--now", "2026-01-01T00:05:00Z", *more)

    def reconcile() -> None:
        muster("reconcile", "--repo", repo.path, "--branch", "main", "--now", "2026-01-01T00:00:00Z")

    assert waiting()[0:2] == (0, "")
    beat("c1", "--identity", str(tmp_path / "identity"))
    beat("c2")
    beat("c3")
    reconcile()
    first, second, third = (line.split() for line in waiting()[1].splitlines()[1:4])
    assert first[:3] == ["c1", "acceptance", "5m"]
    assert first[3].startswith("SHA256:")
    assert first[4:] == ["muster", "accept", "c1"]
    assert (second[:4], third[0]) == (["c2", "acceptance", "5m", "-"], "c3")
    assert {body["kind"] for body in json.loads(waiting("-o", "json")[1])["items"]} == {
        "ManagedCluster",
        "CertificateSigningRequest",
    }
    muster("deny", "--repo", repo.path, "--branch", "main", "--clusters", "c3")
    muster("accept", "--repo", repo.path, "--branch", "main", "--clusters", "c1,c2")
    reconcile()
    (left,) = waiting()[1].splitlines()[1:2]
    assert left.split()[:5] == ["c1", "a", "signature", "of", left.split()[4]]
    assert left.endswith("muster sign")
    assert waiting("-w")[0] == 2
    code, _, err = muster("get", "wating", "--repo", repo.path)
    assert code == 2, err
