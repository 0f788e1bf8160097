"""One reconcile as a scheduled job: what it prints, and its exit code."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.features.reconcile.job import reconcile_once
from tests.features.pulses.test_walkthrough import fleet
from tests.support.git import Repo

NOW = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)


def job(repo: Repo, *, remote: str | None = None, verbose: bool = False) -> int:
    return reconcile_once(repo.path, lambda: NOW, None, remote, verbose=verbose)


def test_it_commits_once_pushes_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = fleet(tmp_path / "seed", a="2026-01-01T00:00:00Z", b="2025-01-01T00:00:00Z")
    seed.git("clone", "--quiet", "--bare", str(seed.path), str(tmp_path / "origin.git"))
    seed.git("clone", "--quiet", str(tmp_path / "origin.git"), str(tmp_path / "clone"))
    repo = Repo(tmp_path / "clone", seed.environ)
    assert job(repo, remote="origin") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{repo.tip()[:12]} ")
    assert out.endswith("pushed to origin\n")
    assert job(repo, verbose=True) == 0
    said = capsys.readouterr()
    assert said.out == "nothing to do\n"
    assert "looked at" in said.err
