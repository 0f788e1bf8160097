"""A snapshot of which some files are not read, because whoever read them died of it.

What they hold counts as not read, and keeps what was derived of it; a finding names each file.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.data.source import SourceFile
from muster.run.overlay import Overlay


class WorkerLost(Exception):  # noqa: N818 - what a finding says of it
    """Whoever decided what is in a file died of it."""


@dataclass(frozen=True, slots=True)
class Unread(Overlay):
    """A snapshot without the contents of some files, which are given by their `labels`."""

    labels: frozenset[str] = frozenset()

    def files(self) -> Iterator[SourceFile]:
        """Yield all files; those cannot be read."""
        for file in self.below.files():
            yield file._replace(read=_refuse) if file.label in self.labels else file


def _refuse() -> bytes:
    raise WorkerLost
