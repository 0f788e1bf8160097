"""A quarantine for what a remote sends: limited in size, and merged into the repository only when complete.

Servers have the same for pushes (`tmp_objdir`): objects arrive in a folder next to the repository's, and are moved over
when the fetch has succeeded. No file there may grow beyond a limit; git writes what it receives into one file, or into
one file per object if there are fewer than a hundred. If a run is killed, git's maintenance removes the folder, which
it recognises by name.

Refs that were refused because they are too large are remembered in a file next to the journal, so that they are
requested once. Losing the file only costs another refusal.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from muster.data.codec import from_tree
from muster.data.tree import read_json
from muster.dataclass import dataclass
from muster.git.errors import RepositoryError
from muster.git.repository import Repository, common_directory
from muster.git.store.process import BLOCK, Git

_FILE: Final = "muster/refused.json"


class Refusal(NamedTuple):
    """The commit at which a ref was refused, and why."""

    commit: str
    why: str


def refusals(repository: Repository) -> dict[str, Refusal]:
    """Return the refused refs, by the full name under which each would be kept here."""
    try:
        return from_tree(dict[str, Refusal], read_json(_refusals_file(repository).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def remember_refusals(repository: Repository, prefix: str, refused: Mapping[str, Refusal]) -> None:
    """Replace what is remembered of the refs below `prefix`."""
    before = refusals(repository)
    present = {ref: refusal for ref, refusal in before.items() if not ref.startswith(prefix)} | dict(refused)
    if present == before:
        return
    path = _refusals_file(repository)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="refused-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(present, file)
        Path(name).replace(path)


def _refusals_file(repository: Repository) -> Path:
    return common_directory(repository) / _FILE


@dataclass(frozen=True, slots=True)
class Quarantine:
    """`git` writes objects into `path`, and also sees those in `objects`. No file grows beyond `max_bytes`."""

    path: Path
    objects: Path
    git: Git
    max_bytes: int

    def is_full(self) -> bool:
        """Has a file reached the limit? That is then the reason why git failed."""
        sizes = ((Path(where) / name).lstat().st_size for where, _, names in os.walk(self.path) for name in names)
        return any(size >= self.max_bytes for size in sizes)

    def release(self) -> None:
        """Move the objects into the repository. RepositoryError if they cannot be written there."""
        try:
            for folder in sorted(self.path.iterdir()):
                if folder.name == "pack" or len(folder.name) == 2:
                    _move(folder, self.objects / folder.name)
        except OSError as error:
            raise RepositoryError(
                f"{error.filename} cannot be written: {error.strerror or error}",
                "free some space, or see who may write there",
            ) from error


def objects_directory(git: Git) -> Path:
    """Return the directory with the objects of the repository in which `git` runs."""
    return git.directory / os.fsdecode(git.output("rev-parse", "--git-path", "objects")).removesuffix("\n")


def storing_in(git: Git, path: Path) -> Git:
    """Return `git` writing objects into another directory, and still reading the repository's own."""
    alternates = git.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    others = _quoted(objects_directory(git)) + (f"{os.pathsep}{alternates}" if alternates else "")
    environ = {"GIT_OBJECT_DIRECTORY": str(path), "GIT_ALTERNATE_OBJECT_DIRECTORIES": others}
    return replace(git, environ={**git.environ, **environ})


@contextmanager
def quarantine(git: Git, max_bytes: int) -> Iterator[Quarantine]:
    """Provide an empty quarantine for the repository in which `git` runs; objects that are not released are deleted."""
    objects = objects_directory(git)
    blocks = -(-max_bytes // BLOCK)
    try:
        path = Path(tempfile.mkdtemp(prefix="tmp_objdir-muster-", dir=objects))
    except OSError as error:
        raise RepositoryError(
            f"{objects} cannot be written: {error.strerror or error}", "free some space, or see who may write there"
        ) from error
    try:
        limited = replace(storing_in(git, path), file_bytes=blocks * BLOCK)
        yield Quarantine(path, objects, limited, blocks * BLOCK)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _move(source: Path, target: Path) -> None:
    if not target.is_dir():
        target.mkdir(exist_ok=True)
        shutil.copymode(source, target)
    # An index makes its pack visible, so it comes last.
    for file in sorted(source.iterdir(), key=lambda file: (file.suffix == ".idx", file.name)):
        if not file.name.startswith("tmp_") and file.suffix != ".keep":
            file.replace(target / file.name)


def _quoted(path: Path) -> str:
    escaped = str(path.absolute()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
