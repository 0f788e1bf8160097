"""deploy/systemd, deploy/kubernetes and deploy/Containerfile: as far as a machine can tell without systemd running, a
cluster or a builder. What a unit and a pod would start is started here, with the environment that they give, over HTTP
with a password."""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml
from jsonschema import Draft202012Validator

from tests.features.pulses.test_walkthrough import cluster
from tests.packaging.conftest import SHIPPED
from tests.support.git import Repo, clone, git_environ, new_repository
from tests.support.gitservers import http_backend

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy/systemd"
SERVICES = sorted(UNITS.glob("*.service"))
KUBERNETES = ROOT / "deploy/kubernetes"
BIN = Path(sys.executable).parent
MUSTER = str(BIN / "muster")

analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
kustomize = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


@contextmanager
def hub(tmp_path: Path) -> Iterator[tuple[Repo, str]]:
    """A bare repository with a fleet behind HTTP, for those who have the password; and its URL."""
    work = new_repository(tmp_path / "work")
    work.commit({"clusters/a/cluster.yaml": cluster("a")})
    server = clone(work, tmp_path / "hub" / "fleet.git", "--bare")
    server.git("config", "http.receivepack", "true")
    with http_backend(tmp_path / "hub", password="muster:s3cret") as url:
        yield server, f"{url}/fleet.git"


def bare_environ(home: Path) -> dict[str, str]:
    """What systemd and a container give: no name, no address, no configuration."""
    return {name: value for name, value in git_environ(home).items() if name[:7] not in ("GIT_AUT", "GIT_COM")}


def started(commands: list[list[str]], environ: Mapping[str, str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    for command in commands:
        done = subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), command
    return done


def settings(unit: Path) -> list[tuple[str, str]]:
    """What stands in a unit, in order: keys come more than once."""
    lines = (line.partition("=") for line in unit.read_text().splitlines() if re.match(r"\w+=", line))
    return [(key, value) for key, _, value in lines]


@analyze
def test_systemd_reads_the_units(tmp_path: Path) -> None:
    """muster is found at another place here; nothing else differs."""
    for unit in UNITS.iterdir():
        (tmp_path / unit.name).write_text(unit.read_text().replace("/usr/local/bin/muster", "/bin/true"))
    units = sorted(str(path) for path in tmp_path.iterdir())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert len(units) == 3


@analyze
@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_systemd_calls_the_services_hardly_exposed(unit: Path) -> None:
    """2.0 of 10, and less: what is left is the network, which git needs."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_both_services_are_hardened_alike() -> None:
    (one, other) = ({(key, value) for key, value in settings(unit)} for unit in SERVICES)
    assert {key for key, _ in one ^ other - {("Environment", "MUSTER_SERVE=127.0.0.1:8080")}} == {
        "Description",
        "Type",
        "ExecStart",
        "TimeoutStartSec",
        "Restart",
        "RestartSec",
        "Conflicts",
        "WantedBy",
    }


def test_what_the_service_starts_reconciles_with_its_credentials(tmp_path: Path) -> None:
    unit = settings(UNITS / "muster-reconcile@.service")
    state, keys = tmp_path / "state", tmp_path / "credentials"
    state.mkdir()
    keys.mkdir()
    with hub(tmp_path) as (server, url):
        environ = bare_environ(state) | {"MUSTER_REMOTE": url, "CREDENTIALS_DIRECTORY": str(keys)}
        (keys / "git").write_text(url.replace("://", "://muster:s3cret@").removesuffix("/fleet.git") + "\n")
        keys.chmod(0o500)
        for assignment in (word for key, value in unit if key == "Environment" for word in words(value)):
            name, _, value = assignment.partition("=")
            environ[name] = value.replace("%S/muster/%i", str(state)).replace("%C/muster/%i", str(tmp_path / "cache"))
        commands = [words(value) for key, value in unit if key in ("ExecStartPre", "ExecStart")]
        commands = [[MUSTER if word == "/usr/local/bin/muster" else word for word in command] for command in commands]
        before = server.tip("main")
        assert " accepted\n" in started(commands, environ, state).stdout
        assert server.tip("main") != before
        assert started(commands, environ, state).stdout.startswith("nothing to do")


def test_the_service_that_stays_shows_metrics_to_the_machine_itself(tmp_path: Path) -> None:
    unit = settings(UNITS / "muster-watch@.service")
    (given,) = (value for key, value in unit if key == "Environment" and value.startswith("MUSTER_SERVE="))
    assert given.partition("=")[2].rpartition(":")[0] == "127.0.0.1"
    environments = [number for number, (key, _) in enumerate(unit) if key == "EnvironmentFile"]
    assert environments, "what stands there goes before: two fleets need two ports"
    work = new_repository(tmp_path / "fleet")
    work.commit({"clusters/a/cluster.yaml": cluster("a")})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (text,) = (value for key, value in unit if key == "ExecStart")
    put = {"/usr/local/bin/muster": MUSTER, "${MUSTER_SERVE}": address, "--push": "--offline"}
    command = [put.get(word, word) for word in words(text)]
    with subprocess.Popen(command, env=git_environ(tmp_path), cwd=tmp_path, stdout=subprocess.DEVNULL) as watching:
        try:
            assert eventually(f"http://{address}/metrics", host=address) == 200
            assert answer(f"http://{address}/metrics") not in (0, 200), "by a name that is another's"
        finally:
            watching.terminate()


def words(value: str) -> list[str]:
    """A value's words as systemd has them: quotes of both sorts around a word, and no expansion in these."""
    return [one or other or plain for one, other, plain in re.findall(r"'([^']*)'|\"([^\"]*)\"|(\S+)", value)]


@dataclass(frozen=True)
class Pod:
    """What a manifest starts, and its objects."""

    objects: list[dict[str, Any]]
    spec: dict[str, Any]


def built(folder: Path) -> Pod:
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True)
    objects = list(yaml.safe_load_all(done.stdout))
    (workload,) = (body["spec"] for body in objects if body["kind"] in ("CronJob", "Deployment"))
    return Pod(objects, workload.get("jobTemplate", {"spec": workload})["spec"]["template"]["spec"])


@kustomize
@pytest.mark.parametrize("name", ["cronjob", "deployment"])
def test_a_cluster_would_take_the_manifests(name: str) -> None:
    """By the schemas of Kubernetes, in which no field is unknown, and by the rules of the level `restricted`."""
    schemas = json.loads((Path(__file__).parent / "kubernetes.json").read_text())
    pod = built(KUBERNETES / name)
    for body in pod.objects:
        schema = {"$ref": f"#/$defs/{schemas['kinds'][body['kind']]}", "$defs": schemas["$defs"]}
        assert [error.message for error in Draft202012Validator(schema).iter_errors(body)] == []
    assert len(pod.objects) == {"cronjob": 6, "deployment": 8}[name]
    spec = pod.spec
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not spec["automountServiceAccountToken"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    assert {next(iter(volume.keys() - {"name"})) for volume in spec["volumes"]} <= {
        "persistentVolumeClaim",
        "emptyDir",
        "secret",
    }
    for container in (*spec["initContainers"], *spec["containers"]):
        locked = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert container["securityContext"] == locked
        assert container["resources"].keys() == {"requests", "limits"}


@kustomize
def test_the_overlay_of_the_page_names_image_and_repository(tmp_path: Path) -> None:
    page = (ROOT / "docs/on-kubernetes.md").read_text()
    (text,) = re.findall(r"^```yaml\n(# kustomization.*?)^```$", page, re.M | re.S)
    shutil.copytree(KUBERNETES, tmp_path / "muster/deploy/kubernetes")
    (tmp_path / "kustomization.yaml").write_text(text)
    pod = built(tmp_path)
    assert {one["image"] for one in (*pod.spec["initContainers"], *pod.spec["containers"])} == {
        "registry.example.com/you/muster:1"
    }
    (settings,) = (body for body in pod.objects if body["kind"] == "ConfigMap")
    assert settings["data"] == {"remote": "https://git.example.com/you/fleet.git"}


@kustomize
def test_what_the_pod_starts_reconciles_with_its_credentials(tmp_path: Path) -> None:
    spec = built(KUBERNETES / "cronjob").spec
    home, keys = tmp_path / "muster", tmp_path / "keys"
    home.mkdir()
    keys.mkdir()
    with hub(tmp_path) as (server, url):
        (keys / "credentials").write_text(url.replace("://", "://muster:s3cret@").removesuffix("/fleet.git") + "\n")
        keys.chmod(0o500)
        (first,), (second,) = spec["initContainers"], spec["containers"]
        environ = bare_environ(home)
        for one in first["env"]:
            value = one.get("value", url)
            environ[one["name"]] = value.replace("/run/secrets/git", str(keys)).replace("/var/lib/muster", str(home))
        before = server.tip("main")
        started([first["command"], [MUSTER, *second["args"]]], environ, home)
        assert server.tip("main") != before


@kustomize
def test_the_service_and_the_rule_for_metrics_lead_to_the_page() -> None:
    """Selectors and ports are names: nobody but this says that they are those of the pod."""
    objects = built(KUBERNETES / "deployment").objects
    by_kind = {
        kind: [body["spec"] for body in objects if body["kind"] == kind]
        for kind in ("Deployment", "Service", "NetworkPolicy")
    }
    (deployment,), (service,) = by_kind["Deployment"], by_kind["Service"]
    template = deployment["template"]
    ports = {port["name"] for one in template["spec"]["containers"] for port in one["ports"]}
    labels = template["metadata"]["labels"].items()
    assert service["selector"].items() <= labels
    assert [port["targetPort"] for port in service["ports"]] == ["page"]
    (closed,), (opened,) = (
        [one for one in by_kind["NetworkPolicy"] if bool(one.get("ingress")) is way] for way in (False, True)
    )
    assert closed["podSelector"] == {}
    assert "Ingress" in closed["policyTypes"], "all others stay out"
    assert opened["podSelector"]["matchLabels"].items() <= labels
    (rule,) = opened["ingress"]
    assert {port["port"] for port in rule["ports"]} == ports == {"page"}
    assert all({"namespaceSelector", "podSelector"} <= peer.keys() for peer in rule["from"]), "both, not either"


@kustomize
def test_what_the_deployment_starts_answers_its_probes(tmp_path: Path) -> None:
    container = built(KUBERNETES / "deployment").spec["containers"][0]
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
        f"0.0.0.0:{port['containerPort']}": f"0.0.0.0:{number}",
        "/run/secrets/page/token": str(token),
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


def eventually(url: str, host: str = "10.1.2.3:8080") -> int:
    """The status that a URL comes to answer with."""
    for _ in range(300):
        if (status := answer(url, host=host)) == 200:
            break
        time.sleep(0.1)
    return status


def answer(url: str, token: str = "", host: str = "10.1.2.3:8080") -> int:
    """The status that a URL answers with to who calls it by a pod's address, as a kubelet does, and a Prometheus with
    its token; 0 where nobody does."""
    headers = {"Host": host} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        return int(urllib3.request("GET", url, headers=headers, retries=False, timeout=5).status)
    except urllib3.exceptions.HTTPError:
        return 0


IMAGES = ("deploy/Containerfile", "deploy/agent/Containerfile")


@pytest.mark.parametrize("image", IMAGES)
def test_the_image_is_made_of_what_muster_is_built_from(image: str) -> None:
    text = (ROOT / image).read_text()
    copied = {word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M) for word in line.split()}
    assert copied == set(SHIPPED)
    extras = set(re.findall(r'"\.\[(.*)\]"', text)[0].split(","))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extras <= project["optional-dependencies"].keys()
    assert re.findall(r"^USER (.*)$", text, re.M) == ["65532:65532"]


@pytest.mark.parametrize("image", IMAGES)
def test_hadolint_finds_nothing(image: str) -> None:
    done = subprocess.run([BIN / "hadolint", ROOT / image], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
