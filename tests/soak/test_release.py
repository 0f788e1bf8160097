"""What `make release` makes runs where it is meant to: muster.pyz on Debian with a Python and git alone, the image with
a container runtime, as a user without root on a root that is read-only. And it is made the same twice."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.agents.heartbeat.test_heartbeat import Server
from tests.agents.join.test_chart import needs_helm
from tests.agents.relay.test_cli import said
from tests.agents.relay.test_relay import SETTINGS
from tests.deploy.test_chart import objects, template
from tests.packaging.conftest import SHIPPED, committed
from tests.support.git import Repo, clone, git_environ, new_repository
from tests.support.patience import wait_until
from tests.support.processes import running
from tests.support.release import ROOT, SUMS, release
from tests.support.release.__main__ import PARTS
from tests.support.release.image import AGENT
from tests.support.release.image import NAME as IMAGE
from tests.support.release.pyz import NAME as PYZ
from tests.support.release.running import USER, Container

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="roots and containers are started by root here"),
    pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="mmdebstrap not installed"),
]
LATER: Final = "2026-01-01T12:10:00Z"
RECONCILE: Final = ("reconcile", f"--now={LATER}")


@pytest.fixture(scope="module")
def muster_repository(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return committed(tmp_path_factory.mktemp("source") / "muster", (*SHIPPED, "deploy"))


@pytest.fixture(scope="module")
def made(muster_repository: Repo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    _, missing = release(muster_repository.path, out, PARTS)
    if missing:
        pytest.skip(str(missing))
    return out


def fleet(folder: Path) -> Path:
    """The example fleet, committed at its noon."""
    repo = new_repository(folder / "fleet")
    shutil.copytree(ROOT / "fleet-repo-example", repo.path, dirs_exist_ok=True)
    repo.commit()
    return repo.path


@contextmanager
def bare_root(suite: str, folder: Path, *packages: str) -> Iterator[Path]:
    """A root of Debian's essential packages and a few more."""
    root = folder / "root"
    command = ["mmdebstrap", "--quiet", "--variant=essential", f"--include={','.join(packages)}", suite, str(root)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield root
    finally:
        shutil.rmtree(root)


def inside(root: Path, *command: str, user: int = 0) -> "subprocess.CompletedProcess[str]":
    """Run a program in a root, which has no network and sees no other process."""
    isolated = ["unshare", "--mount", "--pid", "--fork", "--net", "chroot", f"--userspec={user}:{user}", str(root)]
    clean = ["env", "-i", "HOME=/home/ada", "PATH=/usr/bin:/bin", "sh", "-c", 'cd /home/ada/fleet && exec "$@"', "sh"]
    return subprocess.run([*isolated, *clean, *command], capture_output=True, text=True, check=False)


def test_pyz_runs_on_a_bare_root(made: Path, tmp_path: Path) -> None:
    with bare_root("bookworm", tmp_path, "python3.11-minimal", "libpython3.11-stdlib", "git") as root:
        shutil.copy(made / PYZ, root / PYZ)
        shutil.copytree(fleet(tmp_path), root / "home/ada/fleet")
        subprocess.run(["chown", "--recursive", "1000:1000", str(root / "home/ada")], check=True)
        muster = ("python3.11", f"/{PYZ}")
        assert inside(root, *muster, "--version", user=1000).stdout.startswith("muster, version ")
        assert inside(root, *muster, "validate", user=1000).stdout.endswith(" objects, no findings\n")
        done = inside(root, *muster, *RECONCILE, "--workers=2", user=1000)
        assert "condition ManagedClusterConditionAvailable True -> Unknown" in done.stdout, done.stderr
        assert inside(root, *muster, *RECONCILE, user=1000).stdout.startswith("nothing to do")
        (folder,) = (root / "home/ada/.cache/muster/pyz").iterdir()
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (1000, 0o700)
        done = inside(root, "env", "XDG_CACHE_HOME=/home/ada/.cache", *muster, "--version")
        assert "was not made by muster.pyz for this user" in done.stderr, "of root, which trusts no user"


def test_another_python_is_refused_in_one_sentence(made: Path, tmp_path: Path) -> None:
    with bare_root("trixie", tmp_path, "python3.13-minimal", "libpython3.13-stdlib") as root:
        shutil.copy(made / PYZ, root / PYZ)
        (root / "home/ada/fleet").mkdir(parents=True)
        done = inside(root, "python3.13", f"/{PYZ}", "--version")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(
        "muster.pyz needs CPython 3.11 on linux-x86_64 with glibc 2.28 or later, and this is "
    )


@pytest.mark.parametrize("user", [USER, 1234])
def test_the_image_reconciles_the_fleet_that_is_mounted(user: int, made: Path, tmp_path: Path) -> None:
    """Also as another user, as with podman's --user."""
    container, repo = Container(made / IMAGE, tmp_path, user), fleet(tmp_path)
    assert container.run("--version").stdout.startswith("muster, version ")
    assert container.run("validate", fleet=repo).stdout.endswith(" objects, no findings\n"), "of a fleet of root's"
    subprocess.run(["chown", "--recursive", f"{user}:{user}", str(repo)], check=True)
    done = container.run(*RECONCILE, fleet=repo)
    assert "condition ManagedClusterConditionAvailable True -> Unknown" in done.stdout, done.stderr
    assert {path.stat().st_uid for path in repo.rglob("*")} == {user}
    assert container.run(*RECONCILE, fleet=repo).stdout.startswith("nothing to do")


def test_the_image_of_an_agent_reports_to_a_relay(made: Path, tmp_path: Path) -> None:
    hub, server = new_repository(tmp_path / "hub.git", bare=True), Server()
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS})
    person.git("push", "--quiet", "origin", "main")
    secret, tokens = tmp_path / "secret", tmp_path / "tokens"
    secret.mkdir()
    (secret / "token").write_text("secret\n")
    tokens.write_text(f"edge-h {hashlib.sha256(b'secret').hexdigest()}\n")
    repo = new_repository(tmp_path / "relay.git", bare=True)
    options = {"repo": repo.path, "remote": hub.path, "name": "edge", "every": "0.2", "listen": "127.0.0.1:0"}
    given = [f"--{name}={value}" for name, value in {**options, "tokens": tokens}.items()]
    container = Container(made / AGENT, tmp_path / "agent", network=True)
    assert (container.image["User"], container.image["Entrypoint"]) == (f"{USER}:{USER}", ["muster"])
    assert container.start(["git", "--version"], {}).returncode != 0, "it has no git"
    with running("relay", *given, environ={**hub.environ, "PYTHONUNBUFFERED": "1"}) as relay:
        relay.wait_for("listening on")
        url = next(address[0] for line in relay.lines if (address := re.search(r"http://\S+", line)))
        beat = ("heartbeat", "--cluster=edge-h", f"--relay={url}", "--token-file=/secret/token")
        done = container.start(["muster", *beat, f"--api-server={server.url}"], {"/secret": secret})
        assert (done.returncode, done.stdout) == (0, "edge-h: asked to join\n"), done.stderr
        wait_until(lambda: said(hub) == {"edge-h"}, lambda: str(relay.lines))


def test_the_image_says_what_it_is(made: Path, muster_repository: Repo, tmp_path: Path) -> None:
    config = Container(made / IMAGE, tmp_path).image
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config["Labels"].items()}
    assert labels["revision"] == muster_repository.tip()
    assert {"title", "description", "version", "licenses"} <= labels.keys()
    assert (config["User"], config["Entrypoint"], config["WorkingDir"]) == (f"{USER}:{USER}", ["muster"], "/fleet")
    bill = json.loads((made / "muster-image.cdx.json").read_text())
    names = {component["name"] for component in bill["components"]}
    assert {"git", "python3.11", "openssh-client", "PyYAML", "cryptography"} <= names


def test_a_release_comes_out_the_same_twice(made: Path, muster_repository: Repo, tmp_path: Path) -> None:
    release(muster_repository.path, tmp_path / "again", PARTS)
    assert (tmp_path / "again" / SUMS).read_text() == (made / SUMS).read_text()


@needs_helm
def test_the_pod_of_the_chart_runs_in_the_image(made: Path, tmp_path: Path) -> None:
    """What a kubelet would start, one after the other: on a volume that is empty, and then on what it left."""
    spec = template(objects(ROOT / "deploy/chart", "--set=mode=reconcile", home=tmp_path))["spec"]
    remote = clone(Repo(fleet(tmp_path), git_environ(tmp_path)), tmp_path / "remote.git", "--bare")
    volume = tmp_path / "volume"
    volume.mkdir()
    user, before = spec["securityContext"]["runAsUser"], remote.tip("main")
    subprocess.run(["chown", "--recursive", f"{user}:{user}", str(remote.path), str(volume)], check=True)
    container = Container(made / IMAGE, tmp_path, user)
    mounts = {"/var/lib/muster": volume, "/remote.git": remote.path}
    for _ in range(2):
        for described in (*spec["initContainers"], *spec["containers"]):
            environ = {variable["name"]: variable["value"] for variable in described["env"]}
            command = described.get("command", container.image["Entrypoint"]) + described.get("args", [])
            environ["MUSTER_REMOTE"] = "/remote.git"
            done = container.start(command, mounts, environ, described["workingDir"])
            assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("nothing to do")
    assert (remote.path / "refs/heads/main").read_text().strip() != before
