"""`make release`: makes a release in dist/, runs it, and says what was not made or not run, and why.

Exits with 0 unless something failed for which everything is at hand. `$MUSTER_RELEASE_KEY`: the file of an ssh key,
which signs the digests.
"""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.support.release import ROOT, Parts, release
from tests.support.release import image as images
from tests.support.release.chart import make_chart
from tests.support.release.making import UnavailableError
from tests.support.release.pyz import NAME, make_pyz
from tests.support.release.running import Container, try_image, try_out, try_program

PARTS: Final[Parts] = {"muster.pyz": make_pyz, "The images": images.make_images, "The chart": make_chart}


def main() -> None:
    """Make the release."""
    out = ROOT / "dist"
    if out.exists():
        shutil.rmtree(out)
    files, missing = release(ROOT, out, PARTS, os.environ.get("MUSTER_RELEASE_KEY", ""))
    for path in files:
        with TemporaryDirectory() as folder:
            try:
                printed = _run(path, Path(folder)).partition("\n")[0]
            except UnavailableError as error:
                printed = f"was not run here: {error}"
        print(path, printed, sep=": " if printed else "")
    for part, reason in missing.items():
        print(f"{part} was not made: {reason}.")


def _run(path: Path, folder: Path) -> str:
    """Run a file of a release in an empty folder, and return what it prints; nothing if it is not one that runs."""
    if path.suffix == ".whl" or path.name.endswith(".tar.gz"):
        return try_out(path, folder, os.environ)
    if path.name == NAME:
        return try_program([sys.executable, str(path)], folder, {**os.environ, "XDG_CACHE_HOME": str(folder)})
    if path.name == images.AGENT:
        return Container(path, folder).run("--version").stdout
    return try_image(path, folder) if path.name == images.NAME else ""


if __name__ == "__main__":
    main()
