"""Runs what was released: each says its version, lays down a fleet, and validates it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from muster.data.tree import Tree
from tests.support.release.layout import config, index
from tests.support.release.making import call, require
from tests.support.release.packages import pip

#: Where a system has the second hierarchy of control groups beside the first, which crun refuses.
_HYBRID: Final = Path("/sys/fs/cgroup/unified")
#: Of the image, which deploy/Containerfile makes.
USER: Final = 65532


def try_out(artifact: Path, folder: Path, environ: Mapping[str, str]) -> str:
    """Install an artifact into an empty environment with what it needs, and run it; return what the commands print.
    Raises UnavailableError if there is no package index, and CalledProcessError where a command fails."""
    venv = folder / "venv"
    call([sys.executable, "-m", "venv", "--without-pip", str(venv)])
    pip(f"--python={venv}", "install", "--no-compile", str(artifact))
    return try_program([str(venv / "bin/muster")], folder, environ)


def try_program(program: Sequence[str], folder: Path, environ: Mapping[str, str]) -> str:
    """Run muster in a folder; return what the commands print. CalledProcessError where one fails."""
    fleet, printed = str(folder / "fleet"), ""
    for arguments in (["--version"], ["init", fleet], ["validate", "--repo", fleet]):
        command = [*program, *arguments]
        done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=True)
        printed += done.stdout
    return printed


def try_image(image: Path, folder: Path) -> str:
    """Start an image, on a fleet that is its user's; return what the commands print. Raises UnavailableError where no
    container can be started, CalledProcessError where a command fails."""
    container, fleet, printed = Container(image, folder), folder / "fleet", ""
    fleet.mkdir()
    os.chown(fleet, USER, USER)
    for arguments in (["--version"], ["init", "."], ["validate"]):
        done = container.run(*arguments, fleet=fleet)
        done.check_returncode()
        printed += done.stdout
    return printed


class Container:
    """An image that was unpacked to a folder, to be started with crun: as its own user, on a root that is read-only,
    and without a network, unless it may use this machine's."""

    def __init__(self, image: Path, folder: Path, user: int = USER, *, network: bool = False) -> None:
        """Unpack it below a folder, to run as a user. Raises UnavailableError where it cannot be started."""
        require("umoci", "crun")
        self._folder, self._bundle = folder, folder / "bundle"
        layout = folder / "layout"
        layout.mkdir(parents=True)
        call(["tar", "--extract", "--file", str(image), "--directory", str(layout)])
        #: What the image says of how it runs.
        self.image = config(layout)
        tag = index(layout)["annotations"]["org.opencontainers.image.ref.name"]
        call(["umoci", "unpack", "--image", f"{layout}:{tag}", str(self._bundle)])
        self._config: Tree = json.loads((self._bundle / "config.json").read_text(encoding="utf-8"))
        self._config["process"] |= {"user": {"uid": user, "gid": user}, "capabilities": {}}
        if network:
            spaces = self._config["linux"]["namespaces"]
            self._config["linux"]["namespaces"] = [space for space in spaces if space["type"] != "network"]

    def run(self, *arguments: str, fleet: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run the image's command with arguments; a fleet is mounted where the image expects it."""
        command = [*self.image["Entrypoint"], *arguments]
        return self.start(command, {} if fleet is None else {"/fleet": fleet})

    def start(
        self, command: Sequence[str], mounts: Mapping[str, Path], environ: Mapping[str, str] = {}, cwd: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command, with folders mounted at paths, further variables, and in another folder than the image's."""
        process = {**self._config["process"], "args": [*command], "terminal": False}
        process["env"] = [*process["env"], *(f"{name}={value}" for name, value in environ.items())]
        process["cwd"] = cwd or process["cwd"]
        folders = [
            {"destination": path, "type": "bind", "source": str(folder), "options": ["rbind", "rw"]}
            for path, folder in mounts.items()
        ]
        scratch = {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]}
        root = {**self._config["root"], "readonly": True}
        changed = {"process": process, "root": root, "mounts": [*self._config["mounts"], scratch, *folders]}
        (self._bundle / "config.json").write_text(json.dumps(self._config | changed), encoding="utf-8")
        run = ["crun", "--root", str(self._folder / "crun"), "run", "--bundle", str(self._bundle), "muster"]
        if _HYBRID.is_mount():
            run = ["unshare", "--mount", "sh", "-c", f'umount {_HYBRID} && exec "$@"', "sh", *run]
        return subprocess.run(run, capture_output=True, text=True, check=False)
