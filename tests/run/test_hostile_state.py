"""A state is data from a disk: whatever the file holds, a run ends, and decides what one without it does."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest

from muster.run.incremental import answer
from muster.run.memo import state as states
from muster.run.memo.state import companions, open_state
from tests.support.living import Living, told

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS name, i AS value FROM n"
TABLES = ("facts", "neighbourhoods", "last_reports", "failures", "steps", "names", "files")
#: What a column may hold that its readers do not expect: SQLite keeps any value in any column.
VALUES = {
    "neighbourhoods.name": ("x''",),
    "neighbourhoods.digest": ("x'00'",),
    "neighbourhoods.summary": ("'text'", "7", "x''"),
    "neighbourhoods.totals": ("7",),
    "neighbourhoods.findings": ("7", "'text'"),
    "facts.value": ("'text'", "7", "1.5"),
    "names.name": ("x'ff'",),
    "neighbourhoods.shared": ("'text'", "x'00'"),
    "last_reports.second": ("'text'", "1.5", "9e99"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Living, Path]:
    """A fleet, and the state after runs that found nothing more to do."""
    folder = tmp_path_factory.mktemp("original")
    living, path = Living.small(folder / "fleet", 5, 6), folder / "kept" / "s"
    for _ in range(3):
        run(living, path)
    assert run(living, path).startswith("nothing")
    return living, path


@pytest.fixture
def living(original: tuple[Living, Path], tmp_path: Path) -> Living:
    return original[0].copy(tmp_path / "fleet")


@pytest.fixture
def path(original: tuple[Living, Path], tmp_path: Path) -> Path:
    """The state of the fleet."""
    copytree(original[1].parent, tmp_path / "kept")
    return tmp_path / "kept" / "s"


def run(living: Living, path: Path) -> str:
    """Run with the state, compare the result with a full run, and return what was looked at."""
    state = open_state(path)
    found = answer(living.question(), state)
    assert told(found.settled) == living.whole(), found.looked_at
    living.land(found.settled)
    if state is not None:
        found.remember(state)
        state.close()
    return found.looked_at


def statements() -> Iterator[str]:
    """Changes of the tables."""
    for table in TABLES:
        yield f"DROP TABLE {table}; CREATE VIEW {table} AS {ENDLESS}"
        yield f"DROP TABLE {table}"
        yield f"DROP TABLE {table}; CREATE TABLE {table} (name, value)"
        yield f"ALTER TABLE {table} ADD COLUMN more GENERATED ALWAYS AS (1) VIRTUAL"
        yield f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM neighbourhoods; END"
    yield "DROP INDEX neighbourhoods_due; CREATE INDEX neighbourhoods_due ON neighbourhoods (due) WHERE due IS NULL"
    yield "CREATE VIEW more AS SELECT 1"
    yield "CREATE VIRTUAL TABLE more USING fts5(a)"
    yield "".join(f"CREATE TABLE more{number} (a);" for number in range(300))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", [*statements()])
def test_other_tables_are_no_state(living: Living, path: Path, change: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(change)
    living.a_label()
    assert run(living, path).startswith("the whole fleet")
    run(living, path)
    living.a_label()
    assert not run(living, path).startswith("the whole fleet")  # it was replaced


@pytest.mark.parametrize(("column", "value"), [(column, value) for column in VALUES for value in VALUES[column]])
def test_a_value_of_another_type_is_no_state(living: Living, path: Path, column: str, value: str) -> None:
    table, _, name = column.partition(".")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE OR REPLACE {table} SET {name} = {value}")
    living.a_label()
    run(living, path)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_bytes_are_a_run_ends(living: Living, path: Path, seed: int) -> None:
    chance, content = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 8, 64, 4096))):
        content[chance.randrange(100 if chance.random() < 0.1 else len(content))] = chance.randrange(256)
    path.write_bytes(content[: chance.choice((len(content), len(content) // 2 + seed))])
    living.a_label()
    state = open_state(path)
    found = answer(living.question(), state)
    assert found.settled.last.fleet.objects is not None


def test_reading_has_an_end(living: Living, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_INSTRUCTIONS", 10)
    monkeypatch.setattr(states, "_LEAST_TICKS", 3)
    monkeypatch.setattr(states, "_BYTES_A_TICK", 1 << 40)
    state = open_state(path)
    found = answer(living.question(), state)
    assert told(found.settled) == living.whole()
    assert found.looked_at.startswith("the whole fleet")


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.mkdir(),
        lambda path: __import__("os").mkfifo(path),
        lambda path: (path.write_bytes(b""), path.chmod(0o666)),
    ],
    ids=["link", "folder", "fifo", "everybody's"],
)
def test_a_file_that_is_not_one_of_ours_is_no_state(path: Path, suffix: str, make: Callable[[Path], object]) -> None:
    for file in companions(path):
        file.unlink(missing_ok=True)
    make(path.with_name(path.name + suffix))
    assert open_state(path) is None


def test_a_file_that_is_larger_than_any_state_is_none(
    living: Living, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "_MAX_FILE_BYTES", 4096)
    assert run(living, path).startswith("the whole fleet")
