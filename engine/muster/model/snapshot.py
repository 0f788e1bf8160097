"""What the kernel reads: the files of one revision, wherever they come from.

A commit, the index (what is staged), a work tree or a plain directory all look alike from here. The git-backed
implementations live in `muster.gitio`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from muster.model.source import SourceFile


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that could hold an object but was not read.

    `reason` is one of `symlink`, `too-large`, `not-utf8-path`, `control-characters`, `submodule`, `not-a-file`,
    `conflict` (unmerged in the index), `unreadable`, and of a whole agent ref `no-cluster`, `misplaced` and
    `dated-ahead`; `detail` says more (a link's target, a size, an error).
    `path` is escaped for display where its bytes are not printable. It is empty where a whole ref was
    left out.
    """

    path: str
    reason: str
    detail: str = ""
    ref: str = ""


class Snapshot(Protocol):
    """The YAML and JSON files of one revision sorted by path, then those of the agent refs, sorted by ref and path.

    Paths compare by code points, which is the byte order of their UTF-8.
    """

    @property
    def commit(self) -> str | None:
        """The commit's id; None for a directory or the index."""

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out and why. Complete once `files` has been exhausted."""

    def files(self) -> Iterator[SourceFile]:
        """Yield every `*.yaml`, `*.yml` and `*.json` file that `.musterignore` does not name."""
