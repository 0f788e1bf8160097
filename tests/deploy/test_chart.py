"""deploy/chart, with the real Helm: what it renders for which values, whether an API server takes it at the level
`restricted`, and what its pods start, with the environment that they give, over HTTP with a password."""

import re
import shutil
import socket
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree
from tests.agents.join.test_chart import helm, needs_helm
from tests.deploy.test_machine import MUSTER, ROOT, answer, bare_environ, eventually, started
from tests.deploy.test_machine import hub as git_server
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import git_environ, new_repository
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub

pytestmark = needs_helm
MODES = ("watch", "reconcile")


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Helm writes its settings where the chart is."""
    return Path(shutil.copytree(ROOT / "deploy/chart", tmp_path / "chart"))


def named(folder: Path) -> str:
    """The argument with the values that have no default."""
    file = folder / "named.yaml"
    file.write_text("{remote: https://git.example.com/you/fleet.git, image: registry.example.com/muster}\n")
    return f"--values={file}"


def objects(chart: Path, *arguments: str, home: Path | None = None) -> dict[str, Tree]:
    """By kind, of a release that is called muster."""
    home = home or chart
    bodies = list(yaml.safe_load_all(helm("template", "muster", chart, named(home), *arguments, home=home)))
    by_kind = {body["kind"]: body for body in bodies}
    assert len(by_kind) == len(bodies)
    return by_kind


def template(by_kind: dict[str, Tree]) -> Tree:
    if "Deployment" in by_kind:
        return by_kind["Deployment"]["spec"]["template"]
    return by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]


def test_its_version_is_muster_s(chart: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    described = yaml.safe_load((chart / "Chart.yaml").read_text())
    assert described["version"] == described["appVersion"] == project["version"]
    helm("lint", "--strict", chart, named(chart.parent), home=chart)


@needs_hub
@pytest.mark.parametrize("mode", MODES)
def test_a_real_server_accepts_it_at_the_level_restricted(mode: str, chart: Path, hub: Hub) -> None:
    namespace = f"chart-{mode}"
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": level}})
    helm("install", "muster", chart, "-n", namespace, named(chart.parent), f"--set=mode={mode}", home=chart, hub=hub)
    installed = yaml.safe_load_all(helm("get", "manifest", "muster", "-n", namespace, home=chart, hub=hub))
    by_kind = {body["kind"]: body for body in installed}
    workload = {"watch": ["Deployment", "Service"], "reconcile": ["CronJob"]}[mode]
    assert by_kind.keys() == {"ServiceAccount", "PersistentVolumeClaim", "NetworkPolicy", *workload}
    for body in by_kind.values():
        body["metadata"]["namespace"] = namespace
        hub.apply(body)  # under strict validation of fields, which Helm does not ask for
    pod = {"apiVersion": "v1", "kind": "Pod", **template(by_kind)}
    pod["metadata"] |= {"name": "probe", "namespace": namespace}
    hub.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All&fieldValidation=Strict", pod)
    other = next(name for name in MODES if name != mode)
    values = (named(chart.parent), f"--set=mode={other}")
    helm("upgrade", "muster", chart, "-n", namespace, *values, home=chart, hub=hub)
    helm("uninstall", "muster", "-n", namespace, home=chart, hub=hub)


@pytest.mark.parametrize("mode", MODES)
def test_containers_are_locked_and_hold_no_token_of_the_cluster(mode: str, chart: Path) -> None:
    by_kind = objects(chart, f"--set=mode={mode}")
    spec = template(by_kind)["spec"]
    assert not spec["automountServiceAccountToken"]
    assert not by_kind["ServiceAccount"]["automountServiceAccountToken"]
    locked = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"] == locked
        assert container["resources"].keys() == {"requests", "limits"}
        volumes = {mount["name"] for mount in container["volumeMounts"]}
        assert ("page" in volumes) == (mode == "watch" and container["name"] == "muster")
    text = (ROOT / "deploy/Containerfile").read_text()
    assert f"USER {spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}\n" in text


def test_values_go_where_they_belong(chart: Path) -> None:
    values = {
        "args": ["--metrics=/tmp/a b", "--workers=2"],
        "environmentSecret": "sinks",
        "ports": [2222],
        "prometheusNamespace": "",
        "storage": {"size": "9Gi", "class": "fast"},
        "pod": {"nodeSelector": {"a": "b"}, "imagePullSecrets": [{"name": "pull"}]},
    }
    (chart.parent / "values.yaml").write_text(yaml.safe_dump(values))
    by_kind = objects(chart, f"--values={chart.parent / 'values.yaml'}")
    spec = template(by_kind)["spec"]
    assert spec["containers"][0]["args"][-2:] == values["args"]
    assert spec["containers"][0]["envFrom"] == [{"secretRef": {"name": "sinks"}}]
    assert {key: spec[key] for key in ("nodeSelector", "imagePullSecrets")} == values["pod"]
    policy, claim = by_kind["NetworkPolicy"]["spec"], by_kind["PersistentVolumeClaim"]["spec"]
    assert [port["port"] for port in policy["egress"][0]["ports"]] == [53, 53, 2222]
    assert "Ingress" in policy["policyTypes"]
    assert "ingress" not in policy
    assert (claim["storageClassName"], claim["resources"]["requests"]["storage"]) == ("fast", "9Gi")


@pytest.mark.parametrize("value", ["mode=wach", "remot=x", "ports[0]=https", "storage.sise=1Gi"])
def test_a_slip_in_the_values_is_refused(value: str, chart: Path) -> None:
    with pytest.raises(AssertionError, match="schema"):
        helm("template", chart, f"--set={value}", home=chart)


@pytest.mark.parametrize("name", ["remote", "image"])
def test_what_only_its_user_knows_has_no_default(name: str, chart: Path) -> None:
    with pytest.raises(AssertionError, match=f"{name}: name the"):
        helm("template", chart, named(chart.parent), f"--set={name}=", home=chart)


def test_the_values_of_the_page_name_image_and_repository(chart: Path) -> None:
    page = (ROOT / "docs/on-kubernetes.md").read_text()
    (text,) = re.findall(r"^```yaml\n# values.yaml\n(.*?)^```$", page, re.M | re.S)
    (chart.parent / "values.yaml").write_text(text)
    spec = template(objects(chart, f"--values={chart.parent / 'values.yaml'}"))["spec"]
    containers = (*spec["initContainers"], *spec["containers"])
    assert {container["image"] for container in containers} == {"registry.example.com/you/muster:1"}
    assert {container["env"][0]["value"] for container in containers} == {"https://git.example.com/you/fleet.git"}


def test_what_the_pod_starts_reconciles_with_its_credentials(chart: Path, tmp_path: Path) -> None:
    spec = template(objects(chart, "--set=mode=reconcile"))["spec"]
    home, keys = tmp_path / "muster", tmp_path / "keys"
    home.mkdir()
    keys.mkdir()
    with git_server(tmp_path) as (server, url):
        (keys / "credentials").write_text(url.replace("://", "://muster:s3cret@").removesuffix("/fleet.git") + "\n")
        keys.chmod(0o500)
        (first,), (second,) = spec["initContainers"], spec["containers"]
        environ = bare_environ(home)
        for one in first["env"]:
            value = url if one["name"] == "MUSTER_REMOTE" else one["value"]
            environ[one["name"]] = value.replace("/run/secrets/git", str(keys)).replace("/var/lib/muster", str(home))
        before = server.tip("main")
        started([first["command"], [MUSTER, *second["args"]]], environ, home)
        assert server.tip("main") != before


def test_the_service_and_the_rule_for_metrics_lead_to_the_page(chart: Path) -> None:
    """Selectors and ports are names: only this says that they are those of the pod."""
    by_kind = objects(chart)
    pod = template(by_kind)
    ports = {port["name"] for container in pod["spec"]["containers"] for port in container["ports"]}
    service, policy = by_kind["Service"]["spec"], by_kind["NetworkPolicy"]["spec"]
    assert service["selector"] == policy["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
    assert [port["targetPort"] for port in service["ports"]] == ["page"]
    (rule,) = policy["ingress"]
    assert {port["port"] for port in rule["ports"]} == ports == {"page"}
    assert all({"namespaceSelector", "podSelector"} <= peer.keys() for peer in rule["from"]), "both, not either"


def test_what_the_deployment_starts_answers_its_probes(chart: Path, tmp_path: Path) -> None:
    container = template(objects(chart))["spec"]["containers"][0]
    (port,) = container["ports"]
    work, token = new_repository(tmp_path / "fleet"), tmp_path / "token"
    work.commit({"clusters/a/cluster.yaml": cluster("a")})
    token.write_text("s3cret" * 8)
    token.chmod(0o440)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    address = f"127.0.0.1:{number}"
    put = {
        f"--serve=0.0.0.0:{port['containerPort']}": f"--serve=0.0.0.0:{number}",
        "--serve-token=/run/secrets/page/token": f"--serve-token={token}",
        "--push": "--offline",
    }
    command = [MUSTER, *(put.get(word, word) for word in container["args"])]
    asked = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    with subprocess.Popen(command, env=git_environ(tmp_path), cwd=tmp_path, stdout=subprocess.DEVNULL) as watching:
        try:
            for path in sorted(asked):
                assert eventually(f"http://{address}{path}") == 200
            assert [answer(f"http://{address}{path}") for path in ("/", "/metrics")] == [401, 401]
            assert answer(f"http://{address}/metrics", token.read_text()) == 200
        finally:
            watching.terminate()
    assert asked == {"/healthz", "/readyz"}
