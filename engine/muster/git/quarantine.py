"""A place of its own for what a remote sends: no more of it than is bearable, and nothing of it until all is there.

As servers have it for pushes (`tmp_objdir`): objects come into a folder beside the repository's, and are moved over
when the fetch has succeeded. In there no file may grow beyond a limit, and git writes what it receives into one file,
or, where it is fewer than a hundred objects, into one for each. What a killed run leaves git's maintenance removes: it
knows such folders by their name.

What was not fetched of agents' refs, because it is too much: remembered, so that it is asked for once.

A file beside the notes of what is under way. It is a memory and no more: without it the same is refused once more.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from muster.data.tree import read_json
from muster.git.errors import RepositoryError
from muster.git.process import BLOCK, Git
from muster.git.repository import Repository, common_directory

_FILE: Final = "muster/refused.json"


class Refusal(NamedTuple):
    """At which commit a ref was refused, and why."""

    commit: str
    why: str


def refusals(repository: Repository) -> dict[str, Refusal]:
    """Return what was refused, by the full name of the ref under which it would be kept here."""
    try:
        known = read_json(_path(repository).read_text(encoding="utf-8"))
        return {str(ref): Refusal(str(commit), str(why)) for ref, (commit, why) in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def remember_refusals(repository: Repository, prefix: str, refused: Mapping[str, Refusal]) -> None:
    """Keep what was refused of the refs below `prefix`, in place of what was known of them."""
    known = refusals(repository)
    present = {ref: found for ref, found in known.items() if not ref.startswith(prefix)} | dict(refused)
    if present == known:
        return
    path = _path(repository)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="refused-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(present, file)
        Path(name).replace(path)


def _path(repository: Repository) -> Path:
    return common_directory(repository) / _FILE


@dataclass(frozen=True, slots=True)
class Quarantine:
    """`git` puts objects into `path`, and sees those in `objects` as well. No file grows beyond `max_bytes`."""

    path: Path
    objects: Path
    git: Git
    max_bytes: int

    def is_full(self) -> bool:
        """Whether a file has met the limit: that, and nothing else, is then why git failed."""
        sizes = ((Path(where) / name).lstat().st_size for where, _, names in os.walk(self.path) for name in names)
        return any(size >= self.max_bytes for size in sizes)

    def release(self) -> None:
        """Move what came over to the repository's objects. RepositoryError where that cannot be written."""
        try:
            for folder in sorted(self.path.iterdir()):
                if folder.name == "pack" or len(folder.name) == 2:
                    _move(folder, self.objects / folder.name)
        except OSError as error:
            raise RepositoryError(
                f"{error.filename} cannot be written: {error.strerror or error}",
                "free some space, or see who may write there",
            ) from error


@contextmanager
def quarantine(git: Git, max_bytes: int) -> Iterator[Quarantine]:
    """Provide an empty one for the repository in which `git` runs; what is not released is gone afterwards."""
    found = os.fsdecode(git.output("rev-parse", "--git-path", "objects")).removesuffix("\n")
    objects = git.directory / found
    blocks = -(-max_bytes // BLOCK)
    try:
        path = Path(tempfile.mkdtemp(prefix="tmp_objdir-muster-", dir=objects))
    except OSError as error:
        raise RepositoryError(
            f"{objects} cannot be written: {error.strerror or error}", "free some space, or see who may write there"
        ) from error
    try:
        known = git.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
        environ = {
            **git.environ,
            "GIT_OBJECT_DIRECTORY": str(path),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects) + (f"{os.pathsep}{known}" if known else ""),
        }
        yield Quarantine(path, objects, replace(git, environ=environ, file_bytes=blocks * BLOCK), blocks * BLOCK)
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
    """A path in a list of paths, whatever it holds."""
    escaped = str(path.absolute()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
