"""What commits and fetches leave loose does not pile up."""

import os
import threading
import time
from pathlib import Path

import pytest

from muster.git import upkeep
from muster.git.agents.fetch import fetch_agents
from muster.git.repository import open_repository
from muster.git.store.objects import object_id
from muster.git.upkeep import run_maintenance
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
    run_maintenance(repository)
    assert loose(here) == 0
    assert here.tip("refs/remotes/origin/agents/a") == origin.tip("refs/heads/agents/a")
    assert here.git("fsck", "--no-dangling") == ""


def test_no_log_holds_on_to_heartbeats(here: Repo, tmp_path: Path) -> None:
    beats(here, Repo(tmp_path / "origin", here.environ), 2)
    assert not list((here.path / ".git/logs").rglob("agents"))


@pytest.mark.parametrize(("bare", "remote", "stays"), [(True, True, False), (True, False, True), (False, True, True)])
def test_what_may_be_somebodys_stays_for_as_long_as_git_has_it(
    here: Repo, bare: bool, remote: bool, stays: bool
) -> None:
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
    run_maintenance(open_repository(here.path / ".git" if bare else here.path, here.environ))
    assert (loose(here) > 0) is stays, there


def test_it_is_not_asked_for_all_the_time(here: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = here.path.parent / "trace"
    repository = open_repository(here.path, {**here.environ, "GIT_TRACE2_EVENT": str(trace)})
    for _ in range(3):
        run_maintenance(repository)
    assert trace.read_text().count('"maintenance","run"') == 1
    run_maintenance(repository, every_seconds=0)
    assert trace.read_text().count('"maintenance","run"') == 2


def test_a_repository_that_cannot_be_written_is_no_error(here: Repo) -> None:
    here.write(".git/muster", "no folder")
    run_maintenance(open_repository(here.path, here.environ))


def packs(repo: Repo) -> list[Path]:
    return sorted((repo.path / ".git/objects/pack").glob("*.pack"))


def pack(repo: Repo, number: int) -> str:
    """A pack with one object, to which nothing refers."""
    oid = repo.git("hash-object", "-w", "--stdin", stdin=b"pack %d" % number).strip()
    repo.git("pack-objects", "--quiet", ".git/objects/pack/pack", stdin=f"{oid}\n".encode())
    (repo.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    return oid


@pytest.mark.parametrize("aside", [False, True])
def test_packs_are_put_together_as_they_come_and_nothing_is_lost(
    here: Repo, aside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice a second a relay pushes one. What nothing refers to stays, and so does a pack that somebody keeps."""
    here.git("config", "--unset", "gc.auto")
    monkeypatch.setattr(upkeep, "_MOST_PACKS", 3)
    repository = open_repository(here.path, here.environ)
    run_maintenance(repository)  # what is done once in an hour is done
    oids = [pack(here, 0)]
    packs(here)[-1].with_suffix(".keep").touch()
    kept = packs(here)[-1]
    for number in range(1, 12):
        oids.append(pack(here, number))
        run_maintenance(repository, in_thread=aside)
        for thread in threading.enumerate():
            if thread.name == "muster-upkeep":
                thread.join()
        assert len(packs(here)) <= 5
    assert kept in packs(here)
    assert [here.git("cat-file", "blob", oid) for oid in oids] == [f"pack {number}" for number in range(12)]
    assert here.git("fsck", "--no-dangling") == ""


@pytest.mark.parametrize("why", ["partial clone", "gc.auto is 0"])
def test_packs_stay_where_they_may_not_or_shall_not_be_touched(
    here: Repo, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_MOST_PACKS", 0)
    here.git("config", "gc.auto", "0" if why == "gc.auto is 0" else "1000")
    for number in range(3):
        pack(here, number)
    if why == "partial clone":
        packs(here)[0].with_suffix(".promisor").touch()
    there = packs(here)
    run_maintenance(open_repository(here.path, here.environ))
    assert packs(here) == there


def test_what_nothing_refers_to_goes_when_packs_have_grown(here: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs that are put together are never so many that git would look for it by itself."""
    here.git("config", "gc.auto", "1000")
    here.git("config", "gc.cruftPacks", "false")
    monkeypatch.setattr(upkeep, "_GROWTH_BYTES", 0)
    repository = open_repository(here.path, here.environ)
    here.git("repack", "-a", "-d", "--quiet")
    run_maintenance(repository)
    (there,) = packs(here)
    for number in range(2, 4):  # some bytes each
        pack(here, number)
    here.git("repack", "-d", "--geometric=2", "--quiet")
    run_maintenance(repository, every_seconds=0)
    assert packs(here) != [there], "there is less than twice as much"
    for number in range(4, 40):
        pack(here, number)
    run_maintenance(repository, every_seconds=0)
    assert packs(here) == [there]


@pytest.mark.parametrize("noted", ["", "many", "9" * 5000])
def test_a_note_of_something_else_is_none(here: Repo, noted: str) -> None:
    here.write(".git/muster/tidied", noted)
    run_maintenance(open_repository(here.path, here.environ), every_seconds=0)
    assert (here.path / ".git/muster/tidied").read_text().isdigit()
