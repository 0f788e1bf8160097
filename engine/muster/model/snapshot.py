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
    """A path that could hold an object but was not read: `reason` is one of `symlink`, `too-large`,
    `not-utf8-path`, `submodule`, `not-a-file`, `unreadable`, `other-ref`; `detail` says more (a link's target,
    a size in bytes, an error)."""

    path: str
    reason: str
    detail: str = ""
    ref: str = ""


class Snapshot(Protocol):
    """The YAML and JSON files of one revision, sorted by path, and of the agent refs beside it."""

    @property
    def commit(self) -> str | None:
        """The commit's id; None for a directory or the index."""

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out and why. Complete once `files` has been exhausted."""

    def files(self) -> Iterator[SourceFile]:
        """Yield every `*.yaml`, `*.yml` and `*.json` file that `.musterignore` does not name."""
