"""Where a merge request is opened: told from the remote's URL, and never with what that knows of users."""

from pathlib import Path

import pytest

from muster.git.forges import forge_of, request_page, url_of
from muster.git.repository import open_repository
from tests.support.git import new_repository

BRANCH = "muster/proposals/x"
GITHUB = f"https://github.com/acme/fleet/compare/main...{BRANCH}?expand=1"
GITLAB = (
    "https://gitlab.com/acme/infra/fleet/-/merge_requests/new?merge_request%5Bsource_branch%5D=muster%2Fproposals%2Fx"
    "&merge_request%5Btarget_branch%5D=main"
)


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://github.com/acme/fleet.git", GITHUB),
        ("https://x-access-token:secret@github.com/acme/fleet", GITHUB),
        ("git@github.com:acme/fleet.git", GITHUB),
        ("github.com:acme/fleet", GITHUB),
        ("ssh://git@github.com:22/acme/fleet.git/", GITHUB),
        ("git://github.com/acme/fleet", GITHUB),
        ("git@gitlab.com:acme/infra/fleet.git", GITLAB),
        ("https://oauth2:secret@gitlab.com/acme/infra/fleet.git", GITLAB),
        (
            "https://git.gitea.example:3000/acme/fleet",
            f"https://git.gitea.example:3000/acme/fleet/compare/main...{BRANCH}",
        ),
        ("http://codeberg.org/acme/fleet", f"http://codeberg.org/acme/fleet/compare/main...{BRANCH}"),
        (
            "git@bitbucket.org:acme/fleet.git",
            "https://bitbucket.org/acme/fleet/pull-requests/new?source=muster%2Fproposals%2Fx&dest=main",
        ),
        ("https://git.example.com/acme/fleet.git", ""),
        ("https://github.com", ""),
        ("https://github.com:port/acme/fleet", ""),
        ("/srv/git/github/fleet.git", ""),
        ("../github:fleet", ""),
        ("file:///srv/github.com/fleet.git", ""),
        ("https://notgithub.com/acme/fleet", ""),
        ("", ""),
    ],
)
def test_the_page(url: str, page: str) -> None:
    found = request_page(url, forge_of(url), "main", BRANCH)
    assert found == page
    assert "secret" not in found


def test_a_fleet_may_say_what_serves_a_host_that_tells_nothing() -> None:
    url = "https://me:secret@git.example.com/acme/a fleet\x1b[31m.git"
    assert request_page(url, "gitea", "release/1#", BRANCH) == (
        f"https://git.example.com/acme/a%20fleet%1B%5B31m/compare/release/1%23...{BRANCH}"
    )
    assert request_page(url, "none", "main", BRANCH) == ""


def test_the_url_of_a_remote_is_the_one_that_is_pushed_to(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.git("remote", "add", "hub", "https://github.com/acme/fleet")
    repo.git("remote", "set-url", "--push", "hub", "git@github.com:acme/fleet")
    repository = open_repository(repo.path, repo.environ)
    assert url_of(repository, "hub") == "git@github.com:acme/fleet"
    assert url_of(repository, "https://gitlab.com/a/b") == "https://gitlab.com/a/b"
