"""A fleet repository in memory: a snapshot whose files are texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.fleet.derived import content_id
from muster.model.snapshot import Skipped
from muster.model.source import SourceFile


@dataclass(frozen=True)
class MemorySnapshot:
    """The files of one revision, by path."""

    texts: Mapping[str, str]
    commit: str | None = None
    skipped: tuple[Skipped, ...] = field(default=())

    def files(self) -> Iterator[SourceFile]:
        """Yield the files sorted by path."""
        for path, text in sorted(self.texts.items()):
            data = text.encode()
            yield SourceFile(path, content_id(data), lambda data=data: data)  # type: ignore[misc]
