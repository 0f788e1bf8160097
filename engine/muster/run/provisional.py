"""A state in the making: the records of a full run's shards, before everything is decided.

It is in a nameless temporary file of this process: it takes little memory, and no other process sees an incomplete
state.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from muster.run.records import RunRecord
from muster.run.state import Home, RunState

_PAGES_AT_ONCE: Final = 1 << 30


class Provisional(RunState):
    """A state that is filled step by step, and then replaces another."""

    def __init__(self) -> None:
        """Make an empty one."""
        self._version = ""
        self._db = sqlite3.connect("", isolation_level=None)
        for line in ("PRAGMA trusted_schema = OFF", "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF",
                     "CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)"):  # fmt: skip
            self._db.execute(line)
        self._begin()
        self._last = 0

    def __del__(self) -> None:
        self.close()

    def add(self, homes: Iterable[Home]) -> range:
        """Add neighbourhoods; return their numbers."""
        numbered = list(enumerate(homes, self._last + 1))
        first, self._last = self._last + 1, self._last + len(numbered)
        self._db.execute("BEGIN")
        self._put(numbered)
        self._db.execute("COMMIT")
        return range(first, self._last + 1)

    def put_due(self, when: Iterable[tuple[int, int | None, int | None]]) -> None:
        """Store when time changes neighbourhoods: number, when, and when apart from pulses."""
        self._db.execute("BEGIN")
        self._db.executemany(
            "UPDATE homes SET due = ?, settled = ? WHERE id = ?", ((due, settled, home) for home, due, settled in when)
        )
        self._db.execute("COMMIT")

    def replaces(
        self, other: RunState, facts: RunRecord, homes: Iterable[Home], gone: Iterable[int], steps: Mapping[str, bytes]
    ) -> None:
        """Replace the `gone` neighbourhoods, and then the content of another state, in one transaction."""
        self._version = other._version
        self.replace(facts, homes, gone, steps)
        self._db.backup(other._db, pages=_PAGES_AT_ONCE)
