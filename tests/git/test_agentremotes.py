"""Asking further repositories: all at once, none of them for long, and a process that lasts waits for none twice."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.data.agentref import Mandate
from muster.git.agents import fetch as agentfetch
from muster.git.agents.fetch import fetching_remotes
from muster.git.agents.settings import AgentRemote, AgentSettings
from muster.git.repository import Repository, open_repository
from tests.support.git import Repo, new_repository
from tests.support.patience import wait_until

ANSWER_SECONDS = 0.6


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that takes the call and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"git://127.0.0.1:{server.getsockname()[1]}/x.git"


@pytest.fixture
def sound(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "sound.git", bare=True)
    made.commit_to("refs/heads/agents/a", {"lease.yaml": "a\n"})
    return made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setattr(agentfetch, "_ANSWER_SECONDS", ANSWER_SECONDS)
    repo = new_repository(tmp_path / "here")
    repo.commit({"a.yaml": "a\n"})
    return open_repository(repo.path, repo.environ)


def settings(**urls: str) -> AgentSettings:
    return AgentSettings(remotes=tuple(AgentRemote(name, url, Mandate(["*"])) for name, url in urls.items()))


def asked(here: Repository, told: AgentSettings, *, lasting: bool) -> tuple[dict[str, str], float]:
    """Who did not answer and why, and for how long was waited."""
    began = time.monotonic()
    with fetching_remotes(here, told, lasting=lasting) as answers:
        found = answers()
    return found, time.monotonic() - began


def is_here(here: Repository) -> bool:
    return here.git.line("rev-parse", "--verify", "--quiet", "refs/muster/from/sound/agents/a") is not None


def test_all_are_asked_at_once_and_one_that_is_silent_is_given_up(here: Repository, sound: Repo, silent: str) -> None:
    told = settings(first=silent, second=silent, sound=str(sound.path), third="/nowhere/at/all.git")
    found, took = asked(here, told, lasting=False)
    assert sorted(found) == ["first", "second", "third"]
    assert "no answer within" in found["first"]
    assert "/nowhere/at/all.git" in found["third"]
    assert took < 20 * ANSWER_SECONDS
    assert is_here(here)


def test_a_process_that_lasts_does_not_wait_for_it_again(here: Repository, sound: Repo, silent: str) -> None:
    told = settings(quiet=silent, sound=str(sound.path))
    first, _ = asked(here, told, lasting=True)
    second, took = asked(here, told, lasting=True)
    assert sorted(first) == sorted(second) == ["quiet"]
    assert took < ANSWER_SECONDS
    # Once its time has come it is asked again, beside everything else, and is heard as soon as it answers.
    line = agentfetch._fetches[Path(here.git_dir), "quiet"]
    line.again = 0.0
    _, took = asked(here, settings(quiet=str(sound.path)), lasting=True)
    assert took < ANSWER_SECONDS
    wait_until(lambda: not line.trouble, lambda: line.trouble)
    wait_until(lambda: asked(here, settings(quiet=str(sound.path)), lasting=True)[0] == {})  # a busy machine is late


def test_what_interrupts_us_ends_what_is_asked(here: Repository, silent: str) -> None:
    with pytest.raises(KeyboardInterrupt), fetching_remotes(here, settings(quiet=silent), lasting=True):
        raise KeyboardInterrupt
    thread = agentfetch._fetches[Path(here.git_dir), "quiet"].thread
    assert thread is not None
    thread.join(5)
    assert not thread.is_alive()
