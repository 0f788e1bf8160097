"""The chart of `muster join`, with the real Helm: what it renders, and its life in a real cluster."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from muster.agents.heartbeat.facts import ADD_ON_NAMESPACE
from muster.agents.join.chart import helm_chart
from muster.agents.join.manifests import EXTRAS, AgentSetup, manifests, port_of
from muster.data.tree import Tree
from tests.agents.join.test_manifests import ADD_ONS, PUSHING, SETUP, answers
from tests.support.hub import Hub, RefusedError, needs_hub
from tests.support.hub import hub as hub

needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="helm not installed (make servers)")
SSH = replace(PUSHING, address="ssh://git@git.example:2222/fleet.git", port=2222, ssh=True)


def written(folder: Path, setup: AgentSetup) -> Path:
    for path, text in helm_chart(setup).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def helm(*arguments: object, home: Path, hub: Hub | None = None) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **({"KUBECONFIG": str(hub.kubeconfig)} if hub else {})}
    command = ["helm", *map(str, arguments)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def place(body: Tree) -> tuple[str, str, str]:
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def rendered(chart: Path, *arguments: str) -> dict[tuple[str, str, str], Tree]:
    text = helm("template", chart, *arguments, home=chart)
    return {place(body): body for body in yaml.safe_load_all(text)}


def expected(setup: AgentSetup) -> dict[tuple[str, str, str], Tree]:
    """What `muster join` prints without a chart, but for the namespace: it is the release's."""
    return {place(body): body for body in manifests(setup) if body["kind"] != "Namespace"}


@needs_helm
@pytest.mark.parametrize("setup", [SETUP, PUSHING, SSH], ids=["relay", "repository", "ssh"])
def test_helm_renders_the_objects_that_join_prints(setup: AgentSetup, tmp_path: Path) -> None:
    chart = written(tmp_path, setup)
    helm("lint", "--strict", chart, home=tmp_path)
    assert rendered(chart, "--namespace", "muster-agent") == expected(setup)
    assert rendered(chart, "--namespace", "second") == expected(replace(setup, namespace="second"))


ADDRESSES = (
    "https://a",
    "http://a",
    "https://a:8443",
    "HTTPS://a:8443/x:1",
    "https://[::1]",
    "https://[::1]:8443/a?b=:2",
    "ssh://a/f",
    "git+ssh://a/f",
    "ssh://git@a:2222/f",
    "git@a:fleet.git",
    "git://a/f",
    "https://u:9@a/f",
    "a:2222",
)


@needs_helm
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_chart_s_network_policy_lets_the_address_through(address: str, tmp_path: Path) -> None:
    chart = written(tmp_path, SETUP)
    policy = rendered(chart, f"--set=address={address}")["NetworkPolicy", "default", "muster-agent"]
    setup = replace(SETUP, namespace="default", address=address, port=port_of(address))
    assert policy == expected(setup)["NetworkPolicy", "default", "muster-agent"]


@needs_helm
@pytest.mark.parametrize(
    "value", ["1", "on", "null", "a: b", "x # y", "'", '"', "{{ .Values.cluster }}", "%s", "C:\\x", "é\n- z"]
)
def test_values_stay_strings_whatever_they_are(value: str, tmp_path: Path) -> None:
    """Also in a file of values, where a number is one."""
    chart, file = written(tmp_path, PUSHING), tmp_path / "mine.yaml"
    names = ("cluster", "image", "secret")
    file.write_text(yaml.safe_dump(dict.fromkeys(names, value)))
    setup = replace(PUSHING, namespace="default", cluster=value, image=value, secret=value)
    assert rendered(chart, "--values", str(file)) == expected(setup)
    if value == "1":
        assert rendered(chart, *(f"--set={name}=1" for name in names)) == expected(setup)


@needs_hub
@needs_helm
def test_two_releases_live_in_one_cluster_and_take_nothing_with_them(hub: Hub, tmp_path: Path) -> None:
    extras = frozenset(EXTRAS) - {"capacity"}
    first = written(tmp_path / "first", replace(SETUP, extras=extras))
    second = written(tmp_path / "second", replace(SETUP, extras=extras | {"capacity"}))
    hub.make_namespaces([ADD_ONS])  # as Open Cluster Management makes it
    for name, chart in (("helm-one", first), ("helm-two", second)):
        helm("install", "muster-agent", chart, "-n", name, "--create-namespace", home=tmp_path, hub=hub)
    assert answers(hub, "helm-one") == {"capacity": 403, "addons": 200}
    assert answers(hub, "helm-two") == {"capacity": 200, "addons": 200}
    address = "--set=address=https://relay.example:9443"
    helm("upgrade", "muster-agent", first, "-n", "helm-one", address, home=tmp_path, hub=hub)
    path = "/apis/networking.k8s.io/v1/namespaces/helm-one/networkpolicies/muster-agent"
    ports = [one["port"] for one in hub.request("GET", path)["spec"]["egress"][0]["ports"]]
    assert ports == [53, 53, 443, 6443, 9443]
    helm("uninstall", "muster-agent", "-n", "helm-one", home=tmp_path, hub=hub)
    with pytest.raises(RefusedError, match="404"):
        hub.request("GET", path)
    for name in (ADD_ON_NAMESPACE, "helm-one"):
        namespace = hub.request("GET", f"/api/v1/namespaces/{name}")
        assert "deletionTimestamp" not in namespace["metadata"]
    assert answers(hub, "helm-two") == {"capacity": 200, "addons": 200}
    helm("uninstall", "muster-agent", "-n", "helm-two", home=tmp_path, hub=hub)
    for kind in ("clusterroles", "clusterrolebindings", f"namespaces/{ADD_ON_NAMESPACE}/roles"):
        items = hub.request("GET", f"/apis/rbac.authorization.k8s.io/v1/{kind}")["items"]
        assert not [one for one in items if "helm-" in one["metadata"]["name"]]
