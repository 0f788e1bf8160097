"""`--workers`: who decides a whole fleet."""

from pathlib import Path

import pytest

from muster.data.times import format_time
from tests.support import subjects
from tests.support.commandline import Run
from tests.support.episodes import Episode, Line, begun
from tests.support.living import Living


@pytest.fixture
def living(tmp_path: Path) -> Living:
    return Living.small(tmp_path / "fleet", 3, 6)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Line:
    """A fleet in which every object matters, before something breaks."""
    return begun(tmp_path_factory.mktemp("broken") / "fleet")


def test_two_processes_decide_what_one_does(muster: Run, living: Living) -> None:
    where = ("--repo", str(living.repo.path), "--now", "2026-01-01T12:00:00Z")
    alone = muster("plan", *where, "--workers", "1", "-o", "json")
    assert muster("plan", *where, "--workers", "2", "-o", "json") == alone
    _, _, errors = muster("reconcile", *where, "--workers", "2", "-v")
    assert "looked at the whole fleet, in " in errors


@pytest.mark.parametrize(
    ("path", "way"),
    [
        ("subjects/managedcluster.yaml", "a misspelt section"),
        ("subjects/remedy.yaml", "broken YAML"),
        ("subjects/disruptionbudget.yaml", "an unknown field"),
        ("subjects/rollout.yaml", "UTF-16"),
        (f"{subjects.REF}:sent/managedcluster.yaml", "conflict markers"),
    ],
)
def test_two_processes_decide_a_broken_fleet_as_one_does(broken: Line, muster: Run, path: str, way: str) -> None:
    episode = Episode.of(path, way)
    assert episode is not None
    line = broken.commit(episode.edit)
    line.people.name("refs/heads/main")
    line.agent.name(f"refs/heads/{subjects.REF}")
    where = ("--repo", str(line.people.repo.path), "--rev", line.people.id, "--now", format_time(subjects.EDITED))
    alone = muster("plan", *where, "--workers", "1", "-o", "json")
    assert path.rpartition(":")[2] in alone[1] + alone[2]
    assert muster("plan", *where, "--workers", "2", "-o", "json") == alone


@pytest.mark.parametrize("text", ("0", "many", "/nowhere/scheduler.json"))
def test_anybody_else_is_a_mistake(muster: Run, living: Living, text: str) -> None:
    code, _, errors = muster("reconcile", "--repo", str(living.repo.path), "--workers", text)
    assert code == 2
    assert "neither a number" in errors
