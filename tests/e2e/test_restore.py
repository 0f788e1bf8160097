"""Everything is lost but a mirror clone: restored as the page says, muster goes on with the same decisions."""

from datetime import timedelta
from pathlib import Path
from shlex import split

import pytest

from muster.features.reconcile.reconcile import reconcile
from muster.git.errors import RepositoryError
from muster.git.record.reading import heard_at
from muster.git.repository import open_repository
from tests.support.example import NOON
from tests.support.git import Repo
from tests.support.living import Living

PAGE = Path(__file__).parents[2] / "docs" / "on-a-machine.md"


def commands() -> list[list[str]]:
    """The git commands of the page's section about backups."""
    section = PAGE.read_text(encoding="utf-8").partition("## Back up and restore")[2]
    return [split(line)[1:] for line in section.splitlines() if line.startswith("git ")]


def decided(repo: Repo, minutes: int) -> str:
    """Let muster decide and push, in a clone; return its commit."""
    repository = open_repository(repo.path, repo.environ)
    now = NOON + timedelta(minutes=minutes)
    done = reconcile(repository, lambda: now, branch="main", remote="origin", attempts=(1,))
    assert done.commit
    return done.commit


def test_a_fleet_goes_on_from_a_mirror_clone(tmp_path: Path) -> None:
    living = Living.small(tmp_path / "seed", 1, 6)
    living.repo.git("clone", "--quiet", "--mirror", str(living.repo.path), str(tmp_path / "hub.git"))
    hub = Repo(tmp_path / "hub.git", living.repo.environ)
    hub.git("clone", "--quiet", str(hub.path), str(tmp_path / "engine"))
    commits = [decided(Repo(tmp_path / "engine", hub.environ), 0)]

    hub.git("init", "--quiet", "--bare", str(tmp_path / "restored.git"))
    where = {
        "https://git.example.com/you/fleet.git": str(hub.path),
        "backup.git": str(tmp_path / "backup.git"),
        "https://git.example.com/you/restored.git": str(tmp_path / "restored.git"),
        "fleet": str(tmp_path / "fleet"),
    }
    steps = commands()
    assert [step[0] for step in steps] == ["clone", "-C", "-C", "clone"]
    for step in steps:
        hub.git(*(where.get(word, word) for word in step))
    restored = Repo(tmp_path / "restored.git", hub.environ)
    restored.git("symbolic-ref", "HEAD", "refs/heads/main")
    assert restored.refs() == hub.refs()

    # Six minutes later every lease has run out. Both decide the same, commit and record included.
    expected = decided(Repo(tmp_path / "engine", hub.environ), 6)
    assert decided(Repo(tmp_path / "fleet", hub.environ), 6) == expected
    assert restored.refs() == hub.refs()
    repository = open_repository(restored.path, restored.environ)
    for commit in (*commits, expected):
        assert heard_at(repository, commit).heard


@pytest.mark.parametrize("lost", ("refs/muster/", "refs/heads/agents/"))
def test_without_some_refs_runs_go_on(tmp_path: Path, lost: str) -> None:
    living = Living.small(tmp_path / "fleet", 1, 6)
    assert living.reconcile().commit
    for ref in living.repo.refs():
        if ref.startswith(lost):
            living.repo.git("update-ref", "-d", ref)
    living.now += timedelta(minutes=2)
    if "agents" in lost:
        with pytest.raises(RepositoryError, match="missing here"):
            living.reconcile()
    living.speaks("c003")
    done = living.reconcile()
    # What agents said stands until their leases run out.
    assert not [change for change in done.settled.changes if change.object.name == "c001"]
