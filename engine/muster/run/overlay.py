"""A snapshot with derived files over it: how later passes at one instant see the results of earlier ones."""

from collections.abc import Iterator, Mapping

from muster.data.snapshot import Author, Authors, Over, Snapshot
from muster.data.source import SourceFile
from muster.dataclass import dataclass
from muster.fleet.derived import content_id


@dataclass(frozen=True, slots=True)
class Overlay(Over):
    """`below` with the `written` files over it; None removes a path."""

    below: Snapshot
    written: Mapping[str, str | None]

    @property
    def authors(self) -> Authors | None:
        """Who wrote the files; the written ones, the present user."""
        below = self.below.authors
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
    """The authors of a snapshot with files over it. Satisfies `Authors`."""

    below: Authors
    written: Mapping[str, str | None]

    @property
    def at_work(self) -> Author | None:
        """Who would commit a change now."""
        return self.below.at_work

    def of(self, files: Mapping[str, str]) -> Author | None:
        """Return who changed any of these files last."""
        return self.at_work if any(path in self.written for path in files) else self.below.of(files)

    def is_signed(self, files: Mapping[str, str], key: str) -> bool:
        """Is the last change signed with a key? What is written here has no signature yet: True."""
        return any(path in self.written for path in files) or self.below.is_signed(files, key)
