"""The wall clock."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from muster.git.clock import seconds_since, wall_clock


def test_a_file_that_was_just_written_is_young(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert -60 < seconds_since(file.stat().st_mtime) < 60
    assert abs(wall_clock() - datetime.now(UTC)) < timedelta(minutes=1)


def test_nothing_else_reads_the_clock() -> None:
    source = Path(__file__).parents[2] / "engine/muster"
    reads = ("datetime.now(UTC)", "time.time()", "datetime.utcnow(")
    found = [path for path in source.rglob("*.py") if any(text in path.read_text(encoding="utf-8") for text in reads)]
    assert found == [source / "git/clock.py"]
