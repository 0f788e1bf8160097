"""muster.pyz: `deploy/pyz/__main__.py`, and the packages as an archive in the archive.

Python reads the list of what is in the outer one at each start: three entries instead of thousands. Bytes depend on the
files alone: their order is sorted, their time is the commit's.
"""

import io
import stat
import time
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from tests.support.release.bill import write_bill
from tests.support.release.making import Making
from tests.support.release.packages import install

NAME: Final = "muster.pyz"
_SHEBANG: Final = b"#!/usr/bin/env python3\n"


def make_pyz(making: Making) -> None:
    """Make muster.pyz, and the bill of what is inside."""
    packages = install(making)
    pack(making.source / "deploy/pyz/__main__.py", packages, making.add(NAME), making.epoch)
    write_bill(making, packages, making.add(f"{NAME}.cdx.json"))


def pack(start: Path, packages: Path, out: Path, epoch: int) -> None:
    """Write a program that starts with the file `start` and runs muster from a folder of installed packages."""
    paths = sorted(path for path in packages.rglob("*") if path.is_file())
    inside = _archive(((str(path.relative_to(packages)), path.read_bytes()) for path in paths), epoch, compressed=True)
    files = (
        ("__main__.py", start.read_bytes()),
        ("packages.sha256", sha256(inside).hexdigest().encode()),
        ("packages.zip", inside),
    )
    out.write_bytes(_SHEBANG + _archive(files, epoch, compressed=False))
    out.chmod(out.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _archive(files: Iterable[tuple[str, bytes]], epoch: int, *, compressed: bool) -> bytes:
    archive, when = io.BytesIO(), time.gmtime(epoch)[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as writing:
        for name, content in files:
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = writing.compression
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            writing.writestr(entry, content)
    return archive.getvalue()
