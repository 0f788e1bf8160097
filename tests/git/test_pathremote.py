"""A repository that somebody handed over, with another one that its configuration names: what a push there runs."""

from pathlib import Path

import pytest

from muster.git.errors import Pushed, RepositoryError
from muster.git.push import push
from muster.git.repository import open_repository
from muster.git.store.restricted import TRUST
from tests.support.git import Repo, new_repository


@pytest.fixture
def here(tmp_path: Path) -> Repo:
    """A work tree with a bare repository inside and one beside it; both note that their hook ran."""
    repo = new_repository(tmp_path / "given" / "fleet")
    repo.commit({"a.yaml": "a: 1\n"})
    for place in (repo.path / "evil.git", tmp_path / "given" / "evil.git"):
        bare = new_repository(place, bare=True)
        hook = bare.write("hooks/pre-receive", f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
        hook.chmod(0o755)
    return repo


def pushed(repo: Repo, remote: str, **more: str) -> object:
    repository = open_repository(repo.path, {**repo.environ, **more})
    return push(repository, remote=remote, branch="main", new=repo.tip(), expected=None)


CONFIGURED = {
    "a relative path": {"remote.origin.url": "./evil.git"},
    "a relative path without its ending": {"remote.origin.url": "evil"},
    "beside it": {"remote.origin.url": "../evil.git"},
    "as a URL": {"remote.origin.url": "file://{top}/evil.git"},
    "inside": {"remote.origin.url": "{top}/evil.git"},
    "to push to": {"remote.origin.url": "https://example.com/fleet.git", "remote.origin.pushUrl": "./evil.git"},
    "in the place of a URL": {
        "remote.origin.url": "https://example.com/",
        "url../evil.git.insteadOf": "https://example.com/",
    },
    "for pushes": {"remote.origin.url": "https://example.com/", "url../evil.git.pushInsteadOf": "https://example.com/"},
}


@pytest.mark.parametrize("settings", CONFIGURED.values(), ids=CONFIGURED.keys())
def test_a_push_runs_no_program_to_which_the_configuration_alone_leads(
    here: Repo, tmp_path: Path, settings: dict[str, str]
) -> None:
    for key, value in settings.items():
        here.git("config", key, value.replace("{top}", str(here.path)))
    with pytest.raises(RepositoryError, match="hooks/pre-receive") as error:
        pushed(here, "origin")
    assert TRUST in error.value.hint
    assert not (tmp_path / "ran").exists()
    assert isinstance(pushed(here, "origin", **{TRUST: "1"}), Pushed)
    assert (tmp_path / "ran").exists()


def test_a_url_that_the_configuration_turns_into_a_path_is_no_word_of_the_users(here: Repo, tmp_path: Path) -> None:
    here.git("config", "url../evil.git.insteadOf", "https://example.com/fleet.git")
    with pytest.raises(RepositoryError, match="hooks/pre-receive"):
        pushed(here, "https://example.com/fleet.git")
    assert not (tmp_path / "ran").exists()


def test_a_path_that_the_user_names_is_believed(here: Repo, tmp_path: Path) -> None:
    assert isinstance(pushed(here, str(here.path / "evil.git")), Pushed)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("key", ["core.hooksPath", "core.alternateRefsCommand", "hook.x.command"])
def test_configuration_that_names_programs_counts_like_a_hook(here: Repo, tmp_path: Path, key: str) -> None:
    (here.path / "evil.git/hooks/pre-receive").unlink()
    here.git("config", "remote.origin.url", "./evil.git")
    here.git("config", "--file", str(here.path / "evil.git/config"), key, f"touch {tmp_path / 'ran'}")
    with pytest.raises(RepositoryError, match=key.lower().replace(".x.", r"\.x\.")):
        pushed(here, "origin")
    here.git("config", "--file", str(here.path / "evil.git/config"), "--unset", key)
    assert isinstance(pushed(here, "origin"), Pushed)


def test_a_path_elsewhere_is_believed_as_a_clone_has_it(here: Repo, tmp_path: Path) -> None:
    here.git("config", "remote.origin.url", str(tmp_path / "given" / "evil.git"))
    assert isinstance(pushed(here, "origin"), Pushed)
    assert (tmp_path / "ran").exists()
