"""Where a branch left another, in whole clones and in those that have one commit and no history."""

from pathlib import Path

import pytest

from muster.git.errors import RepositoryError
from muster.git.mergebase import merge_base
from muster.git.repository import open_repository
from tests.support.git import Repo, clone, copy, new_repository


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`main` has gone on for 60 commits since `topic` left it, which has two of its own."""
    folder = tmp_path_factory.mktemp("history")
    work = new_repository(folder / "work")
    for number in range(5):
        work.commit({"a.txt": str(number)}, f"before {number}")
    work.git("branch", "left")
    work.git("switch", "--quiet", "--create", "topic")
    for number in range(2):
        work.commit({"t.txt": str(number)}, f"topic {number}")
    work.git("switch", "--quiet", "main")
    for number in range(60):
        work.commit({"b.txt": str(number)}, f"since {number}")
    return clone(work, folder / "server.git", "--mirror").path


@pytest.fixture
def server(history: Path, tmp_path: Path) -> Repo:
    """A server with that history."""
    return copy(history, tmp_path / "server.git")


def checkout(server: Repo, branch: str, *options: str) -> Repo:
    """A clone of one branch, as CI makes it: through git's protocol, with HEAD detached."""
    made = server.path.parent / f"checkout-{len(list(server.path.parent.iterdir()))}"
    server.git("clone", "--quiet", "--branch", branch, "--single-branch", *options, f"file://{server.path}", str(made))
    repo = Repo(made, server.environ)
    repo.git("switch", "--quiet", "--detach", "HEAD")
    repo.git("branch", "--quiet", "--delete", "--force", branch)
    return repo


def left(repo: Repo, against: str, *, ask: bool = True) -> str:
    return merge_base(open_repository(repo.path, repo.environ), repo.tip(), against, ask=ask)


@pytest.mark.parametrize("against", ["main", "origin/main", "refs/remotes/origin/main", "the id"])
@pytest.mark.parametrize("depth", [(), ("--depth=1",), ("--depth=2",)])
def test_what_is_missing_is_fetched(server: Repo, depth: tuple[str, ...], against: str) -> None:
    repo = checkout(server, "topic", *depth)
    refs = repo.refs()
    config = repo.git("config", "--list", "--local")
    revision = server.tip("main") if against == "the id" else against
    assert left(repo, revision) == server.tip("left")
    assert (repo.refs(), repo.git("config", "--list", "--local")) == (refs, config)
    assert repo.status() == []


def test_what_is_here_is_not_cut_off(server: Repo) -> None:
    repo = checkout(server, "main", "--depth=20")
    before = len(repo.git("rev-list", "HEAD").splitlines())
    assert left(repo, "origin/topic") == server.tip("left")
    assert len(repo.git("rev-list", "HEAD").splitlines()) > before


def test_commits_that_no_remote_has_are_in_nobodys_way(server: Repo) -> None:
    repo = checkout(server, "topic", "--depth=1")
    repo.commit({"local.txt": "mine"})
    assert left(repo, "origin/main") == server.tip("left")


def test_another_remote_may_have_it(server: Repo, tmp_path: Path) -> None:
    """A fork has the branch, and where it came from has `main`."""
    fork = clone(server, tmp_path / "fork.git", "--bare")
    fork.git("update-ref", "-d", "refs/heads/main")
    repo = checkout(fork, "topic", "--depth=1")
    repo.git("remote", "add", "upstream", f"file://{server.path}")
    assert left(repo, "upstream/main") == server.tip("left")
    other = checkout(fork, "topic", "--depth=1")
    other.git("remote", "add", "upstream", f"file://{server.path}")
    assert left(other, server.tip("main")) == server.tip("left"), "asked by its id, the fork does not have it"


def test_a_merge_of_both_left_where_the_other_was_merged(server: Repo) -> None:
    """What GitHub checks out for a pull request: a merge, whose base is the tip of `main` at that time."""
    work = clone(server, server.path.parent / "merging")
    work.git("switch", "--quiet", "topic")
    work.git("merge", "--quiet", "--no-edit", "origin/main")
    work.git("push", "--quiet", "origin", "topic:refs/heads/pull")
    was = server.tip("main")
    work.git("switch", "--quiet", "main")
    work.commit({"c.txt": "later"})
    work.git("push", "--quiet", "origin", "main")
    assert left(checkout(server, "pull", "--depth=1"), "origin/main") == was


def test_without_asking_it_says_what_to_do(server: Repo) -> None:
    repo = checkout(server, "topic", "--depth=1")
    repo.git("fetch", "--quiet", "--depth=1", "origin", "main:refs/remotes/origin/main")
    with pytest.raises(RepositoryError, match="cut off before the commit at which this branch left") as caught:
        left(repo, "origin/main", ask=False)
    assert "git fetch --unshallow" in caught.value.hint
    with pytest.raises(RepositoryError, match="there is no commit 'left'") as caught:
        left(repo, "left", ask=False)
    assert caught.value.hint.startswith("without --offline it is fetched")


def test_a_remote_that_is_away(server: Repo) -> None:
    repo = checkout(server, "topic", "--depth=1")
    repo.git("fetch", "--quiet", "--depth=1", "origin", "main:refs/remotes/origin/main")
    repo.git("remote", "set-url", "origin", f"file://{server.path}-away")
    with pytest.raises(RepositoryError, match="cut off before .*, and git fetch: ") as caught:
        left(repo, "origin/main")
    assert "fetch-depth: 0" in caught.value.hint


@pytest.mark.parametrize("against", ["mian", "origin/mian", "0" * 40, "-x", ""])
def test_what_nobody_has(server: Repo, against: str) -> None:
    with pytest.raises(RepositoryError):
        left(checkout(server, "topic", "--depth=1"), against)


def test_histories_that_have_nothing_in_common(server: Repo) -> None:
    repo = checkout(server, "topic")
    repo.git("checkout", "--quiet", "--orphan", "new")
    repo.commit({"new.txt": "new"})
    with pytest.raises(RepositoryError, match="no commit in common"):
        left(repo, "origin/main")
