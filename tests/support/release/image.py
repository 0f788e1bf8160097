"""The images: `deploy/Containerfile` built on a base of Debian's packages, each as an OCI layout in a tar.

No registry is asked. mmdebstrap makes the base, buildah runs the file without a daemon, pip takes the wheels that
muster.pyz has. All times are the commit's: a digest depends on the commit, and on the packages of the day.
"""

import os
from pathlib import Path
from typing import Final

from tests.support.release.bill import debian_package, write_bill
from tests.support.release.layout import debian_packages
from tests.support.release.making import Making, archive, call, require
from tests.support.release.packages import download, install

NAME: Final = "muster-image.tar"
AGENT: Final = "muster-agent-image.tar"
#: The target of `deploy/Containerfile` that makes each image; its last one is muster itself.
_TARGETS: Final = {NAME: "", AGENT: "agent"}
_SUITE: Final = "bookworm"
#: As in Debian's own slim images: licences stay.
_PATHS: Final = (
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
)
#: Every image has it; here pip finds its wheels while one is built.
_WHEELS: Final = "/mnt"


def make_images(making: Making) -> None:
    """Make the images, and the bills of what is inside. Raises UnavailableError if a program, a mirror of Debian or a
    package index is missing."""
    require("mmdebstrap", "buildah")
    packages, wheels = install(making), download(making)
    buildah = _Buildah(making)
    buildah.make_base(_base(making))
    for name, target in _TARGETS.items():
        stem = name.removesuffix(".tar")
        layout = making.work / stem
        buildah.build(wheels, target)
        buildah.write(layout)
        archive(layout, making.add(name), making.epoch)
        write_bill(making, packages, making.add(f"{stem}.cdx.json"), map(debian_package, debian_packages(layout)))


def _base(making: Making) -> Path:
    """Return a root of Debian's packages that has apt, as a tar."""
    root = making.work / "base.tar"
    call(
        ["mmdebstrap", "--quiet", "--variant=apt", *_PATHS, _SUITE, str(root)],
        "apt reads no mirror of Debian's packages",
        {**os.environ, "SOURCE_DATE_EPOCH": str(making.epoch)},
    )
    return root


class _Buildah:
    """buildah with a storage of its own, which goes with the release's scratch files."""

    _BASE, _IMAGE = "localhost/base", "localhost/muster"

    def __init__(self, making: Making) -> None:
        self._making = making
        storage = making.work / "storage"
        self._command = ["buildah", "--storage-driver=vfs", f"--root={storage}", f"--runroot={storage}-run"]

    def make_base(self, root: Path) -> None:
        container = self._call("from", "scratch").strip()
        self._call("add", container, str(root), "/")
        self._call("commit", "--rm", f"--timestamp={self._making.epoch}", container, self._BASE)

    def build(self, wheels: Path, target: str) -> None:
        making = self._making
        arguments = {
            "BASE": self._BASE,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": _WHEELS,
            "SOURCE_DATE_EPOCH": str(making.epoch),
        }
        labels = {"version": making.version, "revision": making.commit}
        self._call(
            "build",
            # RUN in a chroot: needs no cgroups, which builders inside of containers do not have
            *("--isolation=chroot", "--pull-never", "--layers=false", f"--timestamp={making.epoch}"),
            *(f"--build-arg={name}={value}" for name, value in arguments.items()),
            *([f"--target={target}"] if target else []),
            *(f"--label=org.opencontainers.image.{name}={value}" for name, value in labels.items()),
            *(f"--volume={wheels}:{_WHEELS}:ro", f"--file={making.source / 'deploy/Containerfile'}"),
            *(f"--tag={self._IMAGE}", str(making.source)),
        )

    def write(self, layout: Path) -> None:
        self._call("push", "--quiet", self._IMAGE, f"oci:{layout}:muster:{self._making.version}")

    def _call(self, *arguments: str) -> str:
        return call([*self._command, *arguments], "apt reads no mirror of Debian's packages")
