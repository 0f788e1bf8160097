"""What commits and fetches leave loose does not pile up."""

import os
import time
from pathlib import Path

import pytest

from muster.gitio.agentfetch import fetch_agents
from muster.gitio.ids import object_id
from muster.gitio.repository import open_repository
from muster.gitio.upkeep import tidy
from tests.support.git import Repo, clone, new_repository


def loose(repo: Repo) -> int:
    return int(repo.git("count-objects").split()[0])


@pytest.fixture
def here(tmp_path: Path) -> Repo:
    """A clone of an engine's, in which git's limits are those of a small fleet."""
    origin = new_repository(tmp_path / "origin")
    origin.commit({"a.yaml": "a\n"})
    repo = clone(origin, tmp_path / "here")
    for key, value in {"gc.auto": "1", "gc.autoDetach": "false", "gc.pruneExpire": "now"}.items():
        repo.git("config", key, value)
    return repo


def beats(here: Repo, origin: Repo, count: int) -> None:
    for number in range(count):
        origin.commit_to("refs/heads/agents/a", {"lease.yaml": f"{origin.path} {number}\n"})
        fetch_agents(open_repository(here.path, here.environ), remote="origin")


def test_heartbeats_leave_nothing_behind(here: Repo, tmp_path: Path) -> None:
    """Those that were replaced are gone, and the last one is here."""
    origin = Repo(tmp_path / "origin", here.environ)
    beats(here, origin, 4)
    assert loose(here) >= 12
    repository = open_repository(here.path, here.environ)
    # git guesses how many there are from one of 256 folders.
    there = [content for number in range(2000) if object_id("blob", content := b"%d" % number).startswith("17")]
    for content in there[:2]:
        here.git("hash-object", "-w", "--stdin", stdin=content)
    tidy(repository)
    assert loose(here) == 0
    assert here.tip("refs/remotes/origin/agents/a") == origin.tip("refs/heads/agents/a")
    assert here.git("fsck", "--no-dangling") == ""


def test_no_log_holds_on_to_heartbeats(here: Repo, tmp_path: Path) -> None:
    beats(here, Repo(tmp_path / "origin", here.environ), 2)
    assert not list((here.path / ".git/logs").rglob("agents"))


@pytest.mark.parametrize(("bare", "remote", "stays"), [(True, True, False), (True, False, True), (False, True, True)])
def test_what_may_be_somebodys_stays_for_as_long_as_git_has_it(
    here: Repo, bare: bool, remote: bool, stays: bool
) -> None:  # fmt: skip
    """Such as a stash that was dropped two days ago."""
    here.git("config", "--unset", "gc.pruneExpire")
    if bare:
        here.git("config", "core.bare", "true")
    if not remote:
        here.git("config", "--remove-section", "remote.origin")
    for number in range(2000):
        content = b"%d" % number
        if (oid := object_id("blob", content)).startswith("17"):
            here.git("hash-object", "-w", "--stdin", stdin=content)
            os.utime(here.path / ".git/objects" / oid[:2] / oid[2:], (time.time() - 2 * 86400,) * 2)
    there = loose(here)
    tidy(open_repository(here.path / ".git" if bare else here.path, here.environ))
    assert (loose(here) > 0) is stays, there


def test_it_is_not_asked_for_all_the_time(here: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = here.path.parent / "trace"
    repository = open_repository(here.path, {**here.environ, "GIT_TRACE2_EVENT": str(trace)})
    for _ in range(3):
        tidy(repository)
    assert trace.read_text().count('"maintenance","run"') == 1
    tidy(repository, every_seconds=0)
    assert trace.read_text().count('"maintenance","run"') == 2


def test_a_repository_that_cannot_be_written_is_no_error(here: Repo) -> None:
    here.write(".git/muster", "no folder")
    tidy(open_repository(here.path, here.environ))
