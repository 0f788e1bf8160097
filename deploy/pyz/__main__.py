"""The start of muster.pyz: unpacks the packages inside once, to a folder named by their digest, and runs muster there.

Python loads compiled extensions from files only, hence the folder: `$XDG_CACHE_HOME/muster/pyz/DIGEST`, else below
`~/.cache`. Its content is run, so it is used only if this user made it and no one else can write there. It is written
beside its place and renamed: no process sees half of it, and processes that unpack at once do not disturb each other.

The Pythons that it refuses must be able to read this file, back to 3.6.
"""

import os
import stat
import sys
from pathlib import Path
from typing import Callable, Sequence  # noqa: UP035 - as Pythons before 3.9 have them

PYTHON = (3, 11)
GLIBC = (2, 28)
#: A checkout with the umask 077 makes folders of mode 0700, too. The sticky bit changes nothing for the owner, and git
#: never sets it: no commit brings such a folder.
MODE = stat.S_ISVTX | stat.S_IRWXU


def refusal(version: Sequence[int], implementation: str, system: str, machine: str, libc: str) -> str:
    """Return why the packages inside cannot run on a Python; empty if they can. `libc`: as `confstr` says it."""
    name, _, number = libc.partition(" ")
    glibc = tuple(int(part) for part in number.split(".")[:2] if part.isdigit()) if name == "glibc" else ()
    here = (tuple(version[:2]), implementation, system, machine)
    if here == (PYTHON, "cpython", "linux", "x86_64") and glibc >= GLIBC:
        return ""
    needed = "CPython {}.{} on linux-x86_64 with glibc {}.{} or later".format(*PYTHON, *GLIBC)
    python = "{} {}.{} on {}-{}".format(implementation, *version[:2], system, machine)
    return f"muster.pyz needs {needed}, and this is {python} with {libc or 'another C library'}"


def distrust(folder: Path) -> str:
    """Return why another user, or a commit, may have written to an unpacked folder; empty if none can have."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != MODE:
        return f"{folder} was not made by muster.pyz for this user"
    for parent in folder.parents:
        status = parent.lstat()
        # a group that has the number of the user's own is theirs alone (umask 002)
        shared = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid())
        if status.st_uid not in (0, os.geteuid()) or (shared and not status.st_mode & stat.S_ISVTX):
            return f"another user can write to {parent}"
    return ""


def unpacked(cache: Path, digest: str, read: Callable[[], bytes]) -> Path:
    """Return the folder of the packages with a digest, unpacked if it is missing. OSError and ValueError if it cannot
    be written, or cannot be trusted. `read`: returns the archive of the packages."""
    folder = cache.resolve() / digest
    if not os.path.lexists(folder):
        unpack(folder, digest, read())
    reason = distrust(folder)
    if reason:
        raise ValueError(reason)
    return folder


def unpack(folder: Path, digest: str, archive: bytes) -> None:
    """Write the packages to a folder that does not exist; if another process is faster, its folder stays."""
    import hashlib
    import io
    import shutil
    import tempfile
    import zipfile

    if hashlib.sha256(archive).hexdigest() != digest:
        raise ValueError("the file is damaged")
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=str(folder.parent)))
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as packages:
            packages.extractall(str(making))
        making.chmod(MODE)
        making.rename(folder)
    except OSError:
        if not os.path.lexists(folder):
            raise
    finally:
        shutil.rmtree(str(making), ignore_errors=True)


def main() -> None:
    """Run muster, or exit with one sentence that says why it cannot run here."""
    try:
        libc, machine = os.confstr("CS_GNU_LIBC_VERSION") or "", os.uname().machine
    except (AttributeError, ValueError):  # not on this system
        libc, machine = "", "another machine"
    reason = refusal(sys.version_info, sys.implementation.name, sys.platform, machine, libc)
    if reason:
        sys.exit(reason)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "muster/pyz"
    inside = __loader__.get_data
    try:
        folder = unpacked(cache, inside("packages.sha256").decode(), lambda: inside("packages.zip"))
    except (OSError, ValueError) as error:
        sys.exit(f"muster.pyz cannot use {cache}: {error}; set XDG_CACHE_HOME to a folder of yours")
    sys.path[0] = str(folder)
    from muster.__main__ import main as run

    run()


if __name__ == "__main__":
    main()
