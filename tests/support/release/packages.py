"""What muster.pyz and the images have inside: muster and what it needs, as wheels of a package index for one platform.

The platform is that of `deploy/pyz`, whatever this one has: pip is told its tags. What was taken is in pip's report,
for the provenance.
"""

import json
import sys
from pathlib import Path
from typing import Final

from tests.support.release.making import Making, UnavailableError, call

#: The same extras as in deploy/Containerfile.
EXTRAS: Final = ("amqp", "detect", "identity", "metrics")
PYTHON: Final = (3, 11)
TAGS: Final = (
    "--only-binary=:all:",
    "--implementation=cp",
    "--python-version={}.{}".format(*PYTHON),
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux2014_x86_64",
)
NAME: Final = "muster-fleet"
#: What builds muster's wheel, which the images do anew.
_BACKEND: Final = "hatchling"


def download(making: Making) -> Path:
    """Return the folder with the wheels of all that muster needs, from a package index: once for a release."""
    wheels = making.work / "wheels"
    if not wheels.exists():
        arriving = making.work / "arriving"
        pip("download", *TAGS, f"--dest={arriving}", f"{making.wheel}[{','.join(EXTRAS)}]", _BACKEND)
        arriving.rename(wheels)
    return wheels


def install(making: Making) -> Path:
    """Return a folder with muster and what it needs, installed and compiled, once for a release. Raises
    UnavailableError if there is no package index, or this is another Python than theirs."""
    if sys.version_info[:2] != PYTHON:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise UnavailableError("it is compiled by CPython {}.{}, and this is {}".format(*PYTHON, here))
    wheels, folder, report = download(making), making.work / "packages", making.work / "packages.json"
    if folder.exists():
        return folder
    options = ["--no-compile", "--no-index", f"--find-links={wheels}", "--no-warn-conflicts", *TAGS]
    pip(
        "install", *options, f"--report={report}", f"--target={folder}", f"{NAME}[{','.join(EXTRAS)}]=={making.version}"
    )
    compile_all(folder)
    making.dependencies += _descriptors(report)
    return folder


def compile_all(folder: Path) -> None:
    """Compile installed packages, in a process of its own: the bytes depend on which strings a process already has.

    Nothing compares them with their sources later: no one writes to those, and archives keep no times.
    """
    options = ["-q", "--invalidation-mode=unchecked-hash", "-s", str(folder)]
    call([sys.executable, "-I", "-S", "-m", "compileall", *options, str(folder)])


def pip(*arguments: str) -> None:
    """Run pip. Raises UnavailableError if it needs a package index and reaches none, as it says when it retries."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries=2", *arguments]
    call(command, "pip reaches no package index")


def _descriptors(report: Path) -> list[dict[str, object]]:
    items = json.loads(report.read_text(encoding="utf-8"))["install"]
    return [
        {
            "name": item["metadata"]["name"],
            "uri": f"pkg:pypi/{item['metadata']['name'].lower().replace('_', '-')}@{item['metadata']['version']}",
            "digest": {"sha256": item["download_info"]["archive_info"]["hashes"]["sha256"]},
        }
        for item in sorted(items, key=lambda item: item["metadata"]["name"].lower())
        if item["metadata"]["name"] != NAME
    ]
