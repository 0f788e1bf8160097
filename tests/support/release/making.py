"""A release while it is made: what its parts are made of, and what has been made."""

import gzip
import io
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from muster.dataclass import dataclass

#: Of programs: what they say if no server answers them.
_OFFLINE: Final = (
    "connection broken by",
    "apt-get update --error-on=any",
    "Could not resolve",
    "Could not connect",
    "Unable to connect",
    "Temporary failure",
    "Network is unreachable",
)


class UnavailableError(Exception):
    """A part cannot be made here: what is missing, in words. Anything else that is raised is a failure."""


@dataclass(slots=True)
class Making:
    """`source` has the commit's files, `work` is for scratch files, `epoch` is the commit's time in seconds."""

    source: Path
    out: Path
    work: Path
    epoch: int
    commit: str
    version: str
    wheel: Path
    #: What was made, in `out`.
    files: list[Path] = field(default_factory=list)
    #: What went in besides the commit, as SLSA's resource descriptors.
    dependencies: list[Mapping[str, object]] = field(default_factory=list)

    def add(self, name: str) -> Path:
        """Return where to write a file of the release."""
        self.files.append(self.out / name)
        return self.files[-1]


def call(command: list[str], missing: str = "", environ: Mapping[str, str] | None = None) -> str:
    """Run a program and return what it prints. Raises UnavailableError with the text `missing` if it reaches no server,
    and AssertionError if it fails otherwise."""
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if done.returncode and missing and any(phrase in output for phrase in _OFFLINE):
        raise UnavailableError(missing)
    assert done.returncode == 0, f"{command[0]}: {output[-3000:]}"
    return done.stdout


def require(*programs: str) -> None:
    """Raise UnavailableError unless these programs are installed, and this process may mount file systems, as whoever
    builds and starts images does."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise UnavailableError(f"{' and '.join(missing)} not installed (Debian has packages of these names)")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        raise UnavailableError("it takes the right to mount, as root has outside of an unprivileged container")


def archive(folder: Path, out: Path, epoch: int, prefix: str = "") -> None:
    """Write a folder as a tar, or as a .tgz, whose bytes depend on its files and the time alone."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, f"{prefix}{path.relative_to(folder)}", recursive=False, filter=plain)
    data = content.getvalue()
    out.write_bytes(gzip.compress(data, mtime=epoch) if out.suffix == ".tgz" else data)
