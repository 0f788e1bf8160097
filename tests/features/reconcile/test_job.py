"""One reconcile as a scheduled job: what it prints, and its exit code."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.features.reconcile.job import reconcile_once
from tests.features.pulses.test_walkthrough import fleet
from tests.support import in_process
from tests.support.git import Repo, clone

FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: small}\n"
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


@pytest.mark.parametrize("files", [{"fleet.yaml": FLEET}, {}], ids=["fleet.yaml", "no fleet.yaml"])
def test_git_is_started_a_few_times(files: dict[str, str], tmp_path: Path) -> None:
    seed = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    if files:
        seed.commit(dict(files))
    bare = clone(seed, tmp_path / "bare.git", "--bare")
    for arguments in (("remote", "remove", "origin"), ("config", "user.name", "A"), ("config", "user.email", "a@b")):
        bare.git(*arguments)
    trace = tmp_path / "trace"
    environ = {name: value for name, value in bare.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))}
    environ |= {"GIT_TRACE2_EVENT": str(trace), "MUSTER_CACHE_DIR": str(tmp_path / "cache")}
    started = []
    for instant in ("00:00:30", "00:00:40", "00:00:41", "00:10:00"):
        trace.write_text("")
        before = bare.tip()
        arguments = ("reconcile", "--now", f"2026-01-01T{instant}Z")
        code, _, errors = in_process.muster(*arguments, environ=environ, cwd=bare.path)
        assert (code, errors) == (0, "")
        started.append((bare.tip() != before, trace.read_text().count('"event":"start"')))
    # The first run keeps what the others need, the second reads what the first has written.
    assert started[2:] == [(False, 4), (True, 9)]


def test_a_run_without_news_loads_no_stages(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    environ = {**repo.environ, "MUSTER_CACHE_DIR": str(tmp_path / "cache")}
    arguments = ["reconcile", "--now", "2026-01-01T00:00:30Z"]
    for _ in range(2):
        assert in_process.muster(*arguments, environ=environ, cwd=repo.path)[0] == 0
    code = f"import sys; from muster.commandline import run; run({arguments}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd=repo.path, capture_output=True, text=True, check=True
    )
    said, loaded = done.stdout.splitlines()
    assert said == "nothing to do"
    assert {"muster.rules.pipeline", "muster.rules.placements.stage", "jsonschema"}.isdisjoint(loaded.split())
