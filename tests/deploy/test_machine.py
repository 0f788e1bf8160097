"""deploy/systemd and the Containerfiles, as far as a machine can tell without systemd running, or a builder. What a
unit would start is started here, with the environment that it gives, over HTTP with a password."""

import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from tests.features.pulses.test_walkthrough import cluster
from tests.packaging.conftest import SHIPPED
from tests.support.git import Repo, clone, git_environ, new_repository
from tests.support.gitservers import http_backend
from tests.support.release.packages import EXTRAS

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy/systemd"
SERVICES = sorted(UNITS.glob("*.service"))
BIN = Path(sys.executable).parent
MUSTER = str(BIN / "muster")

analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


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


IMAGES = ROOT / "deploy/Containerfile"


def test_the_images_are_made_of_what_muster_is_built_from() -> None:
    text = IMAGES.read_text()
    copied = {word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M) for word in line.split()}
    assert copied == set(SHIPPED)
    extras = set(re.findall(r'"\.\[(.*)\]"', text)[0].split(","))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extras <= project["optional-dependencies"].keys()
    assert extras == set(EXTRAS), "as in muster.pyz"
    assert re.findall(r"^USER (.*)$", text, re.M) == ["65532:65532"] * 2


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([BIN / "hadolint", IMAGES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
