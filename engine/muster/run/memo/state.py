"""The state: results of the last run that still hold, in one disposable file outside the repository.

It records from which commit and agents' refs a run decided, and for each neighbourhood its files, when time changes it,
its findings and its summary. A run with the state evaluates what changed and what is due; a run without it evaluates
everything and decides the same. So nothing depends on it: a state that is damaged, of another version or cannot be
written is silently dropped.

It contains data only, decoded as values of known types: tables and columns are exactly those of the schema, so that no
view, trigger or generated column runs, and reading ends after work in proportion to the size. Two processes at once do
no harm: each writes in one transaction, and the state names the commit that it belongs to.
"""

import contextlib
import os
import sqlite3
import stat
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from muster.data.codec import encode
from muster.data.decision import Failed, Published, PulseKey
from muster.data.finding import Finding
from muster.data.printable import is_ours
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.run.memo.program import this_program
from muster.run.memo.records import RunRecord, kept

_FORMAT: Final = 6
#: Where the time of a cluster's last report comes from.
REPORT_SOURCES: Final = ("lease", "report")
#: The schema.
_SCHEMA: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE neighbourhoods (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,           -- the first of the neighbourhood's names
  shared INTEGER NOT NULL,      -- whether wide stages read all of it, so that it has no summary
  troubled INTEGER NOT NULL,    -- whether anything in it is broken: then it has no summary either
  due INTEGER,                  -- the second at which time alone changes it, or a pulse; NULL: never
  settled INTEGER,              -- the same, pulses apart
  digest TEXT NOT NULL,         -- of the summary
  given TEXT NOT NULL,          -- what its clusters were given of the rest of the fleet
  summary BLOB NOT NULL,
  totals BLOB NOT NULL,         -- what it adds to the totals of the fleet
  findings BLOB                 -- NULL: none
);
CREATE INDEX neighbourhoods_due ON neighbourhoods (due) WHERE due IS NOT NULL;
CREATE INDEX neighbourhoods_settled ON neighbourhoods (settled) WHERE settled IS NOT NULL;
CREATE INDEX neighbourhoods_wrong ON neighbourhoods (id) WHERE findings IS NOT NULL;
CREATE INDEX neighbourhoods_whole ON neighbourhoods (id) WHERE shared OR troubled;
CREATE TABLE last_reports (            -- when each of its clusters last reported
  neighbourhood INTEGER NOT NULL, how TEXT NOT NULL, second INTEGER NOT NULL);
CREATE INDEX last_reports_neighbourhood ON last_reports (neighbourhood);
CREATE INDEX last_reports_second ON last_reports (how, second, neighbourhood);
CREATE TABLE failures (         -- expressions that failed for one of its objects
  neighbourhood INTEGER NOT NULL, stage TEXT NOT NULL, policy BLOB NOT NULL, place BLOB NOT NULL,
  object TEXT NOT NULL,         -- its place in the order of all objects for which the expression failed
  said BLOB NOT NULL);
CREATE INDEX failures_neighbourhood ON failures (neighbourhood);
CREATE TABLE steps (            -- what the next step of an object needs; its neighbourhood has this name
  name TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE names (name TEXT PRIMARY KEY, neighbourhood INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX names_neighbourhood ON names (neighbourhood);
CREATE TABLE files (path TEXT NOT NULL, ref TEXT NOT NULL, neighbourhood INTEGER NOT NULL, context INTEGER NOT NULL,
  PRIMARY KEY (path, ref, neighbourhood)) WITHOUT ROWID;
CREATE INDEX files_neighbourhood ON files (neighbourhood);
CREATE INDEX files_context ON files (path) WHERE context;
CREATE INDEX files_ref ON files (ref) WHERE ref <> '';
CREATE TABLE written (          -- the derived files that the run wrote or removed
  path TEXT NOT NULL,
  blob TEXT NOT NULL,           -- the object id of the content; empty: the neighbourhood is evaluated again
  neighbourhood INTEGER NOT NULL);
CREATE INDEX written_neighbourhood ON written (neighbourhood);
"""
#: The types of values, by the letter of a column in `RunState._rows`.
_TYPES: Final = {"i": int, "s": str, "b": bytes}
#: Reading takes some ten instructions of SQLite a row: more than so many have no end. A page that is a child of many
#: others is read as often as that.
_INSTRUCTIONS: Final = 1_000_000
_LEAST_TICKS, _BYTES_A_TICK = 50, 1 << 14
#: No value is larger, and no file: a state has some 5 kB for each cluster.
_MAX_VALUE_BYTES, _MAX_FILE_BYTES = 1 << 28, 1 << 35
#: Errors of the machine, not of the file: locked for long, a disk that is full.
_PASSING: Final = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
    )
)
#: How many values go into one statement.
_AT_ONCE: Final = 500
#: How many decoded summaries are cached at most, of some ten KiB each.
_MOST_MADE: Final = 10_000
T = TypeVar("T")


class File(NamedTuple):
    """A file of a neighbourhood. `ref` is the short name of an agent's ref, empty for the branch; `context`: it
    contains a policy or a setting, which every run needs."""

    path: str
    ref: str = ""
    context: bool = False


class WrittenFile(NamedTuple):
    """A derived file that a run writes, with the object id of its new content. Without an id, its neighbourhood is
    evaluated again once the file is there: the run removed it, or found something in the old one."""

    path: str
    blob: str


@dataclass(frozen=True, slots=True)
class NeighbourhoodRecord:
    """The record of a neighbourhood, which holds as soon as its `written` files are there. Instants are seconds since
    the epoch."""

    name: str
    names: frozenset[str]
    files: frozenset[File]
    shared: bool
    troubled: bool
    due: int | None
    settled: int | None
    digest: str
    given: str
    summary: bytes
    totals: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    last_reports: Mapping[str, Sequence[int]] = field(default_factory=dict)
    failures: Sequence[tuple[str, bytes, bytes, str, bytes]] = ()
    written: Sequence[WrittenFile] = ()


@dataclass(frozen=True, slots=True)
class KnownNeighbourhood:
    """What a run needs to know of a neighbourhood before it decides. `steps`: its object can be decided by its record
    alone."""

    name: str
    shared: bool
    troubled: bool
    digest: str
    totals: Mapping[str, int]
    steps: bool = False

    @property
    def wide(self) -> bool:
        """Do wide stages have to run for it?"""
        return self.shared and not self.steps


class RunState:
    """The open file. Every method raises sqlite3.Error if it is damaged: then there is no state. Threads may share it,
    one at a time."""

    def __init__(self, path: Path, version: str = "") -> None:
        """Open or create it. OSError or sqlite3.Error if that is not possible."""
        _refuse_others(path)
        _require_file(path)
        self._path, self._version = path, f"{_FORMAT}:{version}"
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._made: dict[str, tuple[str, Tree]] = {}
        self._ticks, self._most_ticks = 0, _LEAST_TICKS + path.stat().st_size // _BYTES_A_TICK
        try:
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            self._db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            self._db.set_progress_handler(self._tick, _INSTRUCTIONS)
            for line in ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON"):
                self._db.execute(line)
            _require_schema(self._db)
            for line in (
                "PRAGMA journal_mode = WAL",
                "PRAGMA synchronous = OFF",
                "PRAGMA temp_store = MEMORY",
                "CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)",
            ):
                self._db.execute(line)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def _tick(self) -> bool:
        """Is there no end of reading?"""
        self._ticks += 1
        return self._ticks > self._most_ticks

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    # -- reading

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """All reads of the block see one moment, even if others write."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    def facts(self) -> RunRecord | None:
        """The record of the last run; None if there is none of this version. A run asks for it first."""
        self._ticks, self._most_ticks = 0, _LEAST_TICKS + self._path.stat().st_size // _BYTES_A_TICK
        return self._fact(RunRecord, "record") if self._fact(str, "version") == self._version else None

    @property
    def missing(self) -> str:
        """Why there is no record of the last run."""
        return self._fact(str, "dropped") or "nothing is kept of an earlier run of this version"

    def tips(self) -> str:
        """The agents' refs as the last run read them (see `tips_of`)."""
        return self._fact(str, "tips") or ""

    def published(self) -> Mapping[PulseKey, Published]:
        """The published pulses that the last run knew."""
        return dict(self._fact(tuple[tuple[PulseKey, Published], ...], "published") or ())

    def _fact(self, type_: type[T], name: str) -> T | None:
        if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'facts'").fetchone():
            return None
        row = next(self._rows("b", "SELECT value FROM facts WHERE name = ?", name), None)
        return kept(type_, row[0]) if row else None

    def written(self) -> dict[str, str]:
        """The derived files that the last run wrote, with the object ids of their contents (see `WrittenFile`)."""
        return dict(self._rows("ss", "SELECT path, blob FROM written"))

    def of_files(self, paths: Iterable[str]) -> tuple[set[int], set[str]]:
        """The neighbourhoods in files of the branch, and the paths without any."""
        wanted = set(paths)
        rows = list(self._in("si", "SELECT path, neighbourhood FROM files WHERE ref = '' AND path IN ({})", wanted))
        return {neighbourhood for _, neighbourhood in rows}, wanted - {path for path, _ in rows}

    def of_refs(self, refs: Iterable[str]) -> set[int]:
        """The neighbourhoods that agents' refs report about."""
        return {
            neighbourhood
            for (neighbourhood,) in self._in(
                "i", "SELECT neighbourhood FROM files WHERE ref IN ({}) AND ref <> ''", set(refs)
            )
        }

    def of_names(self, names: Iterable[str]) -> set[int]:
        """The neighbourhoods with any of these names."""
        return {
            neighbourhood
            for (neighbourhood,) in self._in("i", "SELECT neighbourhood FROM names WHERE name IN ({})", set(names))
        }

    def neighbourhoods_of(self, names: Iterable[str]) -> dict[str, int]:
        """The neighbourhood with each of these names."""
        return dict(self._in("si", "SELECT name, neighbourhood FROM names WHERE name IN ({})", set(names)))

    def due(self, now: int) -> set[int]:
        """The neighbourhoods that time changes by this instant."""
        return self._column("i", "SELECT id FROM neighbourhoods WHERE due <= ?", now)

    def next_due(self, but: Iterable[int] = ()) -> tuple[int | None, int | None]:
        """When time next changes any neighbourhood except these; and when, apart from pulses."""
        self._choose(but)
        rest = "IS NOT NULL AND id NOT IN (SELECT id FROM chosen)"
        due = self._rows("i", f"SELECT due FROM neighbourhoods WHERE due {rest} ORDER BY due LIMIT 1")  # noqa: S608
        settled = self._rows("i", f"SELECT settled FROM neighbourhoods WHERE settled {rest} ORDER BY settled LIMIT 1")  # noqa: S608
        return next((second for (second,) in due), None), next((second for (second,) in settled), None)

    def overdue(self, now: int) -> int | None:
        """The second of the first change by time, apart from pulses, that no run has evaluated by this instant; None if
        there is none."""
        statement = "SELECT settled FROM neighbourhoods WHERE settled <= ? ORDER BY settled LIMIT 1"
        return next((second for (second,) in self._rows("i", statement, now)), None)

    def last_reports(self, but: Iterable[int] = ()) -> "dict[str, array[int]]":
        """When each cluster last reported, by `REPORT_SOURCES`, of every neighbourhood except these: sorted seconds."""
        self._choose(but)
        statement = (
            "SELECT second FROM last_reports WHERE how = ? "
            "AND neighbourhood NOT IN (SELECT id FROM chosen) ORDER BY second"
        )
        return {how: array("q", (second for (second,) in self._rows("i", statement, how))) for how in REPORT_SOURCES}

    def whole(self) -> set[int]:
        """The neighbourhoods that have no summary."""
        return self._column("i", "SELECT id FROM neighbourhoods WHERE shared OR troubled")

    def count(self) -> int:
        """The number of neighbourhoods."""
        (count,) = self._db.execute("SELECT count(*) FROM neighbourhoods").fetchone()
        return int(count)

    def names(self, neighbourhoods: Iterable[int]) -> set[str]:
        """The names of some neighbourhoods."""
        self._choose(neighbourhoods)
        return self._column("s", "SELECT name FROM names WHERE neighbourhood IN (SELECT id FROM chosen)")

    def names_of_shared(self) -> set[str]:
        """The names of the shared neighbourhoods."""
        return self._column(
            "s", "SELECT name FROM names WHERE neighbourhood IN (SELECT id FROM neighbourhoods WHERE shared)"
        )

    def files(self, neighbourhoods: Iterable[int]) -> set[File]:
        """The files of some neighbourhoods."""
        self._choose(neighbourhoods)
        rows = self._rows("ssi", "SELECT path, ref, context FROM files WHERE neighbourhood IN (SELECT id FROM chosen)")
        return {File(path, ref, bool(context)) for path, ref, context in rows}

    def context(self) -> set[File]:
        """The files that contain policies and settings."""
        rows = self._rows("ss", "SELECT path, ref FROM files WHERE context")
        return {File(path, ref, context=True) for path, ref in rows}

    def sharing(self, neighbourhoods: Iterable[int]) -> set[int]:
        """The neighbourhoods that share a file with any of these."""
        self._choose(neighbourhoods)
        return self._column(
            "i",
            "SELECT DISTINCT b.neighbourhood FROM files a JOIN files b ON a.path = b.path AND a.ref = b.ref "
            "WHERE a.neighbourhood IN (SELECT id FROM chosen)",
        )

    def summaries(
        self, but: Iterable[int], read: Callable[[Iterable[tuple[str, bytes]]], Iterable[tuple[str, T]]]
    ) -> dict[str, T]:
        """The summary of every neighbourhood except these, by name: what `read` makes of names and bytes.

        Decoded summaries are cached, for a process such as watch that asks one state again and again; of a large fleet,
        only the first ones.
        """
        self._choose(but)
        others = "FROM neighbourhoods WHERE id NOT IN (SELECT id FROM chosen)"
        digests: dict[str, str] = dict(self._rows("ss", f"SELECT name, digest {others}"))
        summaries = {name: made for name, (digest, made) in self._made.items() if digests.get(name) == digest}
        missing = self._in(
            "sb", "SELECT name, summary FROM neighbourhoods WHERE name IN ({})", digests.keys() - summaries.keys()
        )
        texts = missing if summaries else self._rows("sb", f"SELECT name, summary {others}")
        summaries.update(read((name, text) for name, text in texts))
        self._made = {name: (digests[name], summaries[name]) for name in islice(digests, _MOST_MADE)}
        return summaries

    def summaries_of(self, neighbourhoods: Iterable[int]) -> Iterator[tuple[str, bytes]]:
        """Yield name and summary of some neighbourhoods."""
        self._choose(neighbourhoods)
        yield from self._rows("sb", "SELECT name, summary FROM neighbourhoods WHERE id IN (SELECT id FROM chosen)")

    def kept(self, neighbourhoods: Iterable[int]) -> dict[int, "KnownNeighbourhood"]:
        """What is known of some neighbourhoods. While a fleet is in shards, several may have the same name."""
        self._choose(neighbourhoods)
        rows = self._rows(
            "isiisbi",
            "SELECT id, name, shared, troubled, digest, totals, name IN (SELECT name FROM steps) "
            "FROM neighbourhoods WHERE id IN (SELECT id FROM chosen)",
        )
        return {
            id_: KnownNeighbourhood(
                name, bool(shared), bool(troubled), digest, kept(dict[str, int], totals), bool(steps)
            )
            for id_, name, shared, troubled, digest, totals, steps in rows
        }

    def given(self, but: Iterable[int]) -> Iterator[tuple[int, str, str]]:
        """Yield id, name, and what its clusters were given, of every neighbourhood except these."""
        self._choose(but)
        yield from self._rows(
            "iss", "SELECT id, name, given FROM neighbourhoods WHERE id NOT IN (SELECT id FROM chosen)"
        )

    def steps(self, names: Iterable[str]) -> dict[str, bytes]:
        """The records of steps by the names of their neighbourhoods."""
        return dict(self._in("sb", "SELECT name, record FROM steps WHERE name IN ({})", names))

    def findings(self, but: Iterable[int]) -> Iterator[Finding]:
        """Yield the findings of every neighbourhood except these."""
        self._choose(but)
        rows = self._rows(
            "b", "SELECT findings FROM neighbourhoods WHERE findings IS NOT NULL AND id NOT IN (SELECT id FROM chosen)"
        )
        for (encoded,) in rows:
            yield from kept(tuple[Finding, ...], encoded)

    def failures(self, but: Iterable[int]) -> Iterator[Failed]:
        """Yield the expressions that failed in every neighbourhood except these, each for its first object, with the
        number of objects."""
        self._choose(but)
        rows = self._rows(
            "bis",
            "SELECT said, count(*), min(object) FROM failures "  # SQLite takes `said` from the row with the minimum
            "WHERE neighbourhood NOT IN (SELECT id FROM chosen) GROUP BY stage, policy, place",
        )
        yield from (kept(Failed, failure)._replace(number=count) for failure, count, _ in rows)

    def failing(self) -> set[int]:
        """The neighbourhoods in which any expression failed."""
        return self._column("i", "SELECT DISTINCT neighbourhood FROM failures")

    # -- writing

    def replace(
        self,
        facts: RunRecord,
        records: Iterable[NeighbourhoodRecord],
        gone: Iterable[int] | None,
        steps: Mapping[str, bytes] | None = None,
        *,
        all_steps: bool = False,
        landed: bool = True,
    ) -> None:
        """Replace the `gone` neighbourhoods (None: everything) by these `records`, and the records of these `steps`
        (or of all), in one transaction. `landed`: the files that the others wrote are there."""
        self._most_ticks = sys.maxsize  # writing takes as long as there is to write
        values: dict[str, object] = {"record": replace(facts, inputs=None), "version": self._version}
        if facts.inputs is not None:
            values |= {"tips": facts.inputs.tips, "published": facts.inputs.published}
        self._choose(gone or ())
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if gone is None:
                self._begin()
            else:
                self._db.execute("DELETE FROM neighbourhoods WHERE id IN (SELECT id FROM chosen)")
                for table in ("names", "files", "last_reports", "failures", "written"):
                    self._db.execute(f"DELETE FROM {table} WHERE neighbourhood IN (SELECT id FROM chosen)")  # noqa: S608
                if landed:
                    self._db.execute("DELETE FROM written")
            (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM neighbourhoods").fetchone()
            self._put(list(enumerate(records, last + 1)))
            if all_steps:
                self._db.execute("DELETE FROM steps")
            self._db.executemany("INSERT OR REPLACE INTO steps VALUES (?, ?)", sorted((steps or {}).items()))
            rows = [(name, encode(value)) for name, value in values.items()]
            self._db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    def drop(self, why: str = "") -> None:
        """Forget everything except the reason."""
        self._most_ticks = sys.maxsize
        self._db.execute("BEGIN IMMEDIATE")
        self._begin()
        self._db.execute("INSERT INTO facts VALUES ('dropped', ?)", (encode(why),))
        self._db.execute("COMMIT")

    def _begin(self) -> None:
        for (name,) in self._db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall():
            quoted = name.replace('"', '""')
            self._db.execute(f'DROP TABLE "{quoted}"')
        for statement in _statements():
            self._db.execute(statement)

    def _put(self, records: Sequence[tuple[int, NeighbourhoodRecord]]) -> None:
        """Add neighbourhoods by number, with rows in the order of their keys, which is fastest."""
        self._db.executemany(
            "INSERT INTO neighbourhoods VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    number,
                    record.name,
                    record.shared,
                    record.troubled,
                    record.due,
                    record.settled,
                    record.digest,
                    record.given,
                    record.summary,
                    encode(record.totals),
                    encode(record.findings) if record.findings else None,
                )
                for number, record in records
            ],
        )
        last_reports = (
            (number, how, second)
            for number, record in records
            for how in record.last_reports
            for second in record.last_reports[how]
        )
        self._db.executemany("INSERT INTO last_reports VALUES (?, ?, ?)", last_reports)
        failures = ((number, *failed) for number, record in records for failed in record.failures)
        self._db.executemany("INSERT INTO failures VALUES (?, ?, ?, ?, ?, ?)", failures)
        names = sorted((name, number) for number, record in records for name in record.names)
        self._db.executemany("INSERT OR REPLACE INTO names VALUES (?, ?)", names)
        files = sorted(
            (file.path, file.ref, number, file.context) for number, record in records for file in record.files
        )
        self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", files)
        written = ((*file, number) for number, record in records for file in record.written)
        self._db.executemany("INSERT INTO written VALUES (?, ?, ?)", written)

    def _choose(self, neighbourhoods: Iterable[int]) -> None:
        self._db.execute("DELETE FROM chosen")
        self._db.executemany(
            "INSERT OR IGNORE INTO chosen VALUES (?)", ((neighbourhood,) for neighbourhood in neighbourhoods)
        )

    def _column(self, types: str, statement: str, *values: object) -> set[Any]:
        """Return the only column of a query."""
        return {value for (value,) in self._rows(types, statement, *values)}

    def _in(self, types: str, statement: str, values: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        all_values = list(values)
        for start in range(0, len(all_values), _AT_ONCE):
            batch = all_values[start : start + _AT_ONCE]
            yield from self._rows(types, statement.format(",".join("?" * len(batch))), *batch)

    def _rows(self, types: str, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query. sqlite3.DatabaseError if a value is not of its column's type, by the letters of
        _TYPES: columns of SQLite take any."""
        allowed = [_TYPES[letter] for letter in types]
        for row in self._db.execute(statement, values):
            for value, column in zip(row, allowed, strict=True):
                if value.__class__ is not column:
                    raise sqlite3.DatabaseError(f"a {type(value).__name__} in a column of another type")
            yield row


def _statements() -> list[str]:
    return [statement for statement in _SCHEMA.split(";\n") if statement.strip()]


def _objects(db: sqlite3.Connection) -> dict[tuple[str, str, str], str | None]:
    """The text of everything in a schema, by type, name and table."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 100")
    return {(type_, name, table): text for type_, name, table, text in rows}


@cache
def _expected_objects() -> dict[tuple[str, str, str], str | None]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for statement in _statements():
            db.execute(statement)
        return _objects(db)


def _require_schema(db: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError if a file has other tables than a state, or the like of them: a view, a trigger, a
    virtual table, a generated column. A new file has none."""
    if (tables := _objects(db)) and tables != _expected_objects():
        raise sqlite3.DatabaseError("not the tables of a state")


def open_state(path: Path | None) -> RunState | None:
    """Open the state at a path; None if that is not possible. A file that is no state is replaced."""
    if path is None:
        return None
    version = this_program()
    for _ in range(2):
        try:
            state = RunState(path, version)
            state.facts()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _PASSING:  # ours have no code
                return None
            for name in companions(path):
                with contextlib.suppress(OSError):
                    name.unlink()
        except (OSError, ValueError):
            return None
        else:
            return state
    return None


def copy_of(path: Path, to: Path) -> RunState | None:
    """Return a copy of a state at another path; None if there is none."""
    try:
        _refuse_others(path)
        _refuse_others(to)
        if not path.is_file():
            return None
        _require_file(path)
        with (
            contextlib.closing(sqlite3.connect(path, timeout=30)) as source,
            contextlib.closing(sqlite3.connect(to)) as target,
        ):
            source.backup(target)
    except (OSError, sqlite3.Error):
        return None
    return open_state(to)


def _require_file(path: Path) -> None:
    """Create the file if it is missing. OSError if it, or one that SQLite keeps beside it, is not a regular file of
    ours: it may block, lead elsewhere, or be somebody else's to write. sqlite3.DatabaseError if it is too large."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    for name in companions(path):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(name, flags | (os.O_CREAT if name == path else 0), 0o600)
            try:
                status = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if not stat.S_ISREG(status.st_mode) or not is_ours(status):
                raise PermissionError(f"{name} is not a file of ours")
            if status.st_size > _MAX_FILE_BYTES:
                raise sqlite3.DatabaseError(f"{name} is larger than any state")


def companions(path: Path) -> tuple[Path, ...]:
    """Return the file of a state, and those that SQLite keeps beside it and reads when it opens the file."""
    return tuple(path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm", "-journal"))


def _refuse_others(path: Path) -> None:
    """Make the folder, writable only by us. OSError if it belongs to someone else, or others can write into it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not is_ours(path.parent.stat()):
        raise PermissionError(f"{path.parent} is not only its owner's to write")
