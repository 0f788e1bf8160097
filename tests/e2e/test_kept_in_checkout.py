"""What a run keeps may lie in the checkout; what a commit put there does not count."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from muster.cli import exits
from muster.run.memo.state import companions
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

BEAT, NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T04:00:00Z"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    for name in ("a", "b"):
        files = {"cluster": cluster(name), "lease": lease(name, BEAT), "observed": observed(name)}
        made.commit({f"clusters/{name}/{file}.yaml": text for file, text in files.items()})
    return made


def _forge(state: Path) -> None:
    """Say that nothing is ever due."""
    forged = state.with_name("forged")
    with closing(sqlite3.connect(state)) as db, closing(sqlite3.connect(forged)) as copy:
        db.backup(copy)
        copy.execute("UPDATE neighbourhoods SET due = NULL, settled = NULL")
        copy.commit()
        copy.execute("PRAGMA journal_mode = DELETE")
    for file in companions(state):
        file.unlink(missing_ok=True)
    forged.replace(state)


@pytest.mark.parametrize("way", ["option", "variable", "cache"])
@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "not tracked"])
def test_a_state_that_git_tracks_does_not_count(
    repo: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch, way: str, *, tracked: bool
) -> None:
    folder = repo.path / ".kept"
    if way == "variable":
        monkeypatch.setenv("MUSTER_STATE", str(folder / "state.sqlite"))
    elif way == "cache":
        monkeypatch.setenv("MUSTER_CACHE_DIR", str(folder))
    options = ("--state", str(folder / "state.sqlite")) if way == "option" else ()
    assert muster("reconcile", "--repo", repo.path, "--now", NOW, *options)[0] == exits.FINE
    assert muster("reconcile", "--repo", repo.path, "--now", NOW, *options)[0] == exits.FINE
    (state,) = folder.rglob("*.sqlite")
    _forge(state)
    if tracked:
        repo.git("add", "--force", str(state))
        repo.git("commit", "--quiet", "--message", "A file of that name")
    content = state.read_bytes()
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", LATER, *options)
    assert code == exits.FINE
    assert ("MUS515" in err) == tracked
    if tracked:
        assert "git tracks" in err
        assert err.count("MUS515") == 1
        assert "Unknown" in repo.git("log", "-1", "--format=%B")
        assert state.read_bytes() == content  # nor is it written
    else:  # one of its own is taken at its word
        assert "nothing" in (out + err).lower()


def test_nor_does_an_endless_one(repo: Repo, muster: Run) -> None:
    state = repo.path / "state.sqlite"
    options = ("--repo", str(repo.path), "--now", NOW, "--state", str(state))
    assert muster("reconcile", *options)[0] == exits.FINE
    with closing(sqlite3.connect(state)) as db:
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS name, i AS value FROM n"
        db.executescript(f"DROP TABLE facts; CREATE VIEW facts AS {endless}")
    assert muster("reconcile", *options)[0] == exits.FINE
    assert muster("plan", *options)[0] == exits.FINE
