"""The files of a dump: those that are named, those of folders, and standard input."""

import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from muster.data.finding import Finding
from muster.data.locations import SUFFIXES
from muster.data.snapshot import Skipped
from muster.data.source import SourceFile
from muster.features.importing.dump import DUMP_BYTES
from muster.fleet.messages import skipped

STDIN: Final = "-"


def dump_files(names: Iterable[str], stdin: BinaryIO, findings: list[Finding]) -> Iterator[SourceFile]:
    """Yield the files of a dump, each once; what cannot be read goes to `findings`.

    A file that is named is read whatever it is called, a pipe too; in a folder those are read whose names say that
    they may hold objects, and no link is followed.
    """
    seen: set[str] = set()
    for name in names:
        if name == STDIN:
            data = stdin.read(DUMP_BYTES + 1)
            yield _file("stdin.json" if data.lstrip()[:1] == b"{" else "stdin", data)
            continue
        for path in _below(Path(name), findings):
            if (real := os.path.realpath(path)) in seen:
                continue
            seen.add(real)
            try:
                with path.open("rb") as file:
                    data = file.read(DUMP_BYTES + 1)
            except OSError as error:
                findings.append(skipped(Skipped(str(path), "unreadable", error.strerror or str(error))))
                continue
            yield _file(str(path), data)


def _file(label: str, data: bytes) -> SourceFile:
    return SourceFile(label, sha256(data).hexdigest(), lambda: data)


def _below(path: Path, findings: list[Finding]) -> Iterator[Path]:
    """The path itself, or the data files in the folder that it is, sorted."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            found = Path(folder, name)
            if name.startswith(".") or not name.endswith(SUFFIXES):
                continue
            mode = found.lstat().st_mode
            if stat.S_ISLNK(mode):
                findings.append(skipped(Skipped(str(found), "symlink", str(found.readlink()))))
            elif stat.S_ISREG(mode):
                yield found


def paths_below(root: Path, sources: Iterable[SourceFile]) -> frozenset[str]:
    """Return the files of a dump that lie below a folder, as paths from there."""
    top = root.resolve()
    resolved = (Path(source.path).resolve() for source in sources)
    return frozenset(path.relative_to(top).as_posix() for path in resolved if path.is_relative_to(top))
