"""A snapshot with some derived files written over it: how several passes at one instant see each other's work."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muster.fleet.derived import content_id
from muster.model.snapshot import (
    Agents,
    Author,
    Authors,
    Past,
    Skipped,
    Snapshot,
    agents_of,
    authors_of,
    ignored_of,
    past_of,
)
from muster.model.source import SourceFile


@dataclass(frozen=True, slots=True)
class Overlay:
    """`below` with `files` laid over it; None removes a path."""

    below: Snapshot
    written: Mapping[str, str | None]

    @property
    def commit(self) -> str | None:
        """The commit of the snapshot below."""
        return self.below.commit

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What the snapshot below left out."""
        return self.below.skipped

    @property
    def agents(self) -> Agents:
        """Which agents the snapshot below could hear."""
        return agents_of(self.below)

    @property
    def ignored(self) -> tuple[SourceFile, ...]:
        """What `.musterignore` names below."""
        return ignored_of(self.below)

    @property
    def past(self) -> Past | None:
        """What history says of the last run before the passes began."""
        return past_of(self.below)

    @property
    def authors(self) -> Authors | None:
        """Who wrote the files: what lies over the snapshot below, whoever writes it here and now."""
        below = authors_of(self.below)
        return None if below is None else _Authors(below, self.written)

    def files(self) -> Iterator[SourceFile]:
        """Yield the files of both, the written ones in place of those below."""
        yield from (f for f in self.below.files() if f.ref or f.path not in self.written)
        for path, text in sorted(self.written.items()):
            if text is not None:
                data = text.encode()
                yield SourceFile(path, content_id(data), lambda data=data: data)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class _Authors:
    """The authors of a snapshot with files laid over it. Satisfies `Authors`."""

    below: Authors
    written: Mapping[str, str | None]

    @property
    def at_work(self) -> Author | None:
        """Who would commit a change here and now."""
        return self.below.at_work

    def of(self, files: Mapping[str, str]) -> Author | None:
        """Return who changed any of these files last."""
        return self.at_work if any(path in self.written for path in files) else self.below.of(files)
