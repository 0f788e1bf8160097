"""Which muster this is: its version and a digest of its files. What another one kept, or sends, is not used.

Reading all files takes 23 ms. With `keep_in` the digest is kept for the next process, with sizes and times of the
files: as in the index of git, a file whose size and times are the same was not changed.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from muster.fleet.bundle import bundle_path
from muster.version import __version__

#: Within so many nanoseconds a file may be changed twice and have the same times.
_RECENT = 2_000_000_000


class _Kept:
    path: Path | None = None


def keep_in(directory: Path | None) -> None:
    """Keep the digest in this directory from now on; None stops that."""
    _Kept.path = None if directory is None else directory / "program"


@cache
def this_program() -> str:
    """Return what identifies this version of muster: its version and a digest of its files.

    Computed once, because files that are replaced later are not what runs here.
    """
    roots = (Path(__file__).resolve().parents[2], bundle_path("policies"), bundle_path("schemas"))
    return digest_of(roots, _Kept.path)


def digest_of(roots: tuple[Path, ...], kept: Path | None) -> str:
    """Return the digest of the source, policies and schemas below some folders; `kept` is the file to keep it in."""
    files = [file for root in roots for file in _files(str(root))]
    seen = hashlib.blake2b(__version__.encode())
    newest = 0
    for file in files:
        stat = os.stat(file)  # noqa: PTH116 - a Path for each file takes as long as its status
        newest = max(newest, stat.st_mtime_ns, stat.st_ctime_ns)
        seen.update(f"{file}\0{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}\0".encode(errors="surrogateescape"))
    stamp = seen.hexdigest()
    if kept is not None:
        with contextlib.suppress(OSError, ValueError):
            digested, digest = kept.read_text("ascii").split()
            if digested == stamp and newest + _RECENT < kept.stat().st_mtime_ns:
                return digest
    content = hashlib.blake2b(digest_size=12)
    for file in files:
        content.update(Path(file).read_bytes())
    digest = f"{__version__}:{content.hexdigest()}"
    if kept is not None:
        with contextlib.suppress(OSError):
            temporary = kept.with_name(f"program.{os.getpid()}")
            temporary.write_text(f"{stamp} {digest}\n", "ascii")
            temporary.replace(kept)
    return digest


def _files(folder: str) -> Iterator[str]:
    """The files below a folder in their order, by an order of names that no locale changes."""
    inside = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith((".py", ".yaml", ".json")):
                yield entry.path
            elif entry.name != "__pycache__" and entry.is_dir():
                inside.append(entry.path)
    for below in inside:
        yield from _files(below)
