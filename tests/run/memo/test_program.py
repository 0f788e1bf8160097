"""Which program this is: a digest of its files that is kept as long as none has changed."""

import os
from pathlib import Path

import pytest

import muster
from muster.run.memo import program
from muster.run.memo.program import digest_of


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "inner" / "__pycache__").mkdir(parents=True)
    (folder / "a.py").write_text("a = 1\n")
    (folder / "inner" / "b.yaml").write_text("b: 1\n")
    return folder


def _kept_later(kept: Path) -> None:
    """As if it had been kept long after the files were written."""
    later = kept.stat().st_mtime + 60
    os.utime(kept, (later, later))


def test_the_digest_is_that_of_the_files(source: Path, tmp_path: Path) -> None:
    digest = digest_of((source,), None)
    for other in ("inner/__pycache__/b.py", "inner/notes.txt"):
        (source / other).write_text("x")
    assert digest_of((source,), tmp_path / "kept") == digest
    (source / "inner/b.yaml").write_text("b: 2\n")
    assert digest_of((source,), tmp_path / "kept") != digest


def test_the_whole_program_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "digest_of", lambda roots, _kept: str(roots[0]))
    assert program.this_program.__wrapped__() == str(Path(muster.__file__).resolve().parent)


def test_files_are_not_read_again_while_size_and_times_are_the_same(source: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    digest = digest_of((source,), kept)
    kept.write_text(kept.read_text().replace(digest, "0:known"))
    assert digest_of((source,), kept) == digest, "it may have been changed in the moment in which it was read"
    kept.write_text(kept.read_text().replace(digest, "0:known"))
    _kept_later(kept)
    assert digest_of((source,), kept) == "0:known"
    (source / "a.py").write_text("a = 2\n")
    changed = digest_of((source,), kept)
    assert changed not in ("0:known", digest)
    assert changed == digest_of((source,), None)


@pytest.mark.parametrize("content", ["", "one", "one two three", "\xff"])
def test_a_damaged_file_is_replaced(content: str, source: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text(content)
    digest = digest_of((source,), kept)
    assert kept.read_text().split()[1] == digest


def test_it_need_not_be_kept(source: Path, tmp_path: Path) -> None:
    assert digest_of((source,), tmp_path / "missing" / "kept") == digest_of((source,), None)
