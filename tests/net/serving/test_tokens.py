"""Files of secrets: read again when they change, and nobody gets in by one that is gone."""

from pathlib import Path

import pytest

from muster.net.serving.tokens import ReloadedFile, matches_digest, token_digest


def test_it_is_read_again_when_it_changes_and_says_nothing_once_it_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    said = ReloadedFile(path, str.upper)
    assert said() == "ONE"
    path.write_text("another")
    assert said() == "ANOTHER"
    path.write_bytes(b"\xff\xfe")
    assert said() is None
    path.unlink()
    assert said() is None
    with pytest.raises(OSError, match="No such file"):
        ReloadedFile(path, str)


def test_a_digest_is_that_of_one_token() -> None:
    assert matches_digest(token_digest("a"), "a")
    assert not matches_digest(token_digest("a"), "b")
    assert not matches_digest("", "")
