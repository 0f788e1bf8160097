"""Whose a file is."""

import os
from pathlib import Path

import pytest

from muster.data.printable import is_ours


@pytest.mark.parametrize(("mode", "ours"), [(0o700, True), (0o755, True), (0o775, False), (0o757, False)])
def test_nobody_else_can_write_what_is_ours(tmp_path: Path, mode: int, *, ours: bool) -> None:
    tmp_path.chmod(mode)
    assert is_ours(tmp_path.stat()) is ours
    tmp_path.chmod(0o700)


def test_what_belongs_to_somebody_else_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    somebody = tmp_path.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    assert not is_ours(tmp_path.stat())
