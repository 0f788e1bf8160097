"""What a full run's shards answered, before everything is decided: the records of a state, and the derived files.

Both are in nameless temporary files of this process: they take little memory, and no other process sees an incomplete
state.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

from muster.dataclass import dataclass
from muster.run.memo.records import RunRecord
from muster.run.memo.state import NeighbourhoodRecord, RunState

_PAGES_AT_ONCE: Final = 1 << 30


class Provisional(RunState):
    """A state that is filled step by step, and then replaces another."""

    def __init__(self) -> None:
        """Make an empty one."""
        self._version = ""
        self._db = sqlite3.connect("", isolation_level=None)
        for line in (
            "PRAGMA trusted_schema = OFF",
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)",
        ):
            self._db.execute(line)
        self._begin()
        self._last = 0

    def __del__(self) -> None:
        self.close()

    def add(self, neighbourhoods: Iterable[NeighbourhoodRecord]) -> range:
        """Add neighbourhoods; return their numbers."""
        numbered = list(enumerate(neighbourhoods, self._last + 1))
        first, self._last = self._last + 1, self._last + len(numbered)
        self._db.execute("BEGIN")
        self._put(numbered)
        self._db.execute("COMMIT")
        return range(first, self._last + 1)

    def put_due(self, when: Iterable[tuple[int, int | None]]) -> None:
        """Store when time changes neighbourhoods, by their numbers."""
        self._db.execute("BEGIN")
        self._db.executemany(
            "UPDATE neighbourhoods SET due = ? WHERE id = ?", ((due, neighbourhood) for neighbourhood, due in when)
        )
        self._db.execute("COMMIT")

    def replaces(
        self,
        other: RunState,
        facts: RunRecord,
        neighbourhoods: Iterable[NeighbourhoodRecord],
        gone: Iterable[int],
        steps: Mapping[str, bytes],
    ) -> None:
        """Replace the `gone` neighbourhoods, and then the content of another state, in one transaction."""
        self._version = other._version
        self.replace(facts, neighbourhoods, gone, steps, landed=False)
        self._db.backup(other._db, pages=_PAGES_AT_ONCE)


class StoredText(NamedTuple):
    """Where the text of a derived file is in `Texts`; without `size` the file is removed."""

    path: str
    start: int
    size: int | None


class Texts:
    """Texts of derived files on disk. A fleet that is derived for the first time has one of some 3 kB per cluster."""

    _file: IO[bytes] | None = None

    def __init__(self) -> None:
        """OSError if no temporary file can be made."""
        self._file = TemporaryFile()  # noqa: SIM115 - it lives as long as this object
        self._end = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def put(self, files: Mapping[str, str | None]) -> tuple[StoredText, ...]:
        """Add files. OSError if the disk is full."""
        assert self._file is not None
        stored = []
        for path, text in files.items():
            data = b"" if text is None else text.encode()
            stored.append(StoredText(path, self._end, None if text is None else len(data)))
            self._file.write(data)
            self._end += len(data)
        self._file.flush()
        return tuple(stored)

    def get(self, stored: StoredText) -> str | None:
        """Return the content of a file; None if it is removed."""
        if stored.size is None:
            return None
        assert self._file is not None
        return os.pread(self._file.fileno(), stored.size, stored.start).decode()


@dataclass(frozen=True, slots=True, eq=False)
class StoredFiles(Mapping[str, str | None]):
    """Derived files by path (see `muster.run.run.Files`), whose texts are read when they are needed."""

    texts: Texts
    stored: Mapping[str, StoredText]

    def __getitem__(self, path: str) -> str | None:
        return self.texts.get(self.stored[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)
