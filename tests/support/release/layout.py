"""Reads an image in a folder, in the form of OCI.

https://github.com/opencontainers/image-spec/blob/main/image-layout.md
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.data.tree import Tree

_STATUS: Final = "var/lib/dpkg/status"


def index(layout: Path) -> Tree:
    """The descriptor of the one image in a layout."""
    (descriptor,) = json.loads((layout / "index.json").read_text(encoding="utf-8"))["manifests"]
    return descriptor


def config(layout: Path) -> Tree:
    """What the image says of how it runs: its user, command, labels."""
    manifest = json.loads(_blob(layout, index(layout)).read_text(encoding="utf-8"))
    return json.loads(_blob(layout, manifest["config"]).read_text(encoding="utf-8"))["config"]


def debian_packages(layout: Path) -> Iterator[Tree]:
    """The fields of each package that dpkg has installed, from the last layer that has dpkg's status."""
    manifest = json.loads(_blob(layout, index(layout)).read_text(encoding="utf-8"))
    for layer in reversed(manifest["layers"]):
        with tarfile.open(_blob(layout, layer)) as tar:
            if _STATUS in tar.getnames():
                status = tar.extractfile(_STATUS)
                assert status is not None
                for paragraph in status.read().decode().strip().split("\n\n"):
                    pairs = (line.partition(": ") for line in paragraph.splitlines() if not line.startswith(" "))
                    yield {name: value for name, _, value in pairs}
                return


def _blob(layout: Path, descriptor: Tree) -> Path:
    return layout / "blobs" / str(descriptor["digest"]).replace(":", "/")
