"""Versions also where git is missing."""

import pytest

from muster.features.about.versions import versions


def test_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    assert versions("1.0")["git"].startswith("git version 2.")
    monkeypatch.setenv("PATH", "")
    assert versions("1.0")["git"] == ""
