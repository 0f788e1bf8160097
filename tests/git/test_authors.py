"""Who wrote a file: the author of the last commit that changed it, whoever merged it and whatever they are called."""

from pathlib import Path

import pytest

from muster.data.snapshot import Author
from muster.git.authors import CommitAuthors, authors_on_head
from muster.git.repository import open_repository
from tests.support.git import Repo, new_repository


def as_author(repo: Repo, name: str, mail: str) -> Repo:
    return repo.with_environ(GIT_AUTHOR_NAME=name, GIT_AUTHOR_EMAIL=mail)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = new_repository(tmp_path / "fleet")
    as_author(found, "Alice", "alice@example.com").commit({"a.yaml": "1", "ä b/c.yaml": "1", "gone.yaml": "1"})
    return found


def author(repo: Repo, *paths: str) -> Author | None:
    return CommitAuthors(open_repository(repo.path, repo.environ), repo.tip()).of(dict.fromkeys(paths, "?"))


def test_the_last_change_counts_of_whichever_file(repo: Repo) -> None:
    as_author(repo, "Bob", "bob@example.com").commit({"a.yaml": "2", "derived/x.yaml": "1"})
    assert author(repo, "a.yaml") == Author("Bob", "bob@example.com")
    assert author(repo, "ä b/c.yaml") == Author("Alice", "alice@example.com")
    assert author(repo, "a.yaml", "ä b/c.yaml") == Author("Bob", "bob@example.com")
    assert author(repo, "nothing.yaml") is None
    assert author(repo, "derived/x.yaml") is None  # nobody's but muster's


def test_a_removal_and_a_merge(repo: Repo) -> None:
    main = repo.git("symbolic-ref", "--short", "HEAD")
    repo.git("checkout", "-q", "-b", "side")
    as_author(repo, "Bob", "bob@example.com").commit({"a.yaml": "2"})
    repo.git("checkout", "-q", main)
    repo.git("rm", "-q", "gone.yaml")
    as_author(repo, "Dan", "dan@example.com").git("commit", "-q", "-m", "Remove")
    as_author(repo, "Carol", "carol@example.com").git("merge", "-q", "--no-edit", "side")
    assert author(repo, "a.yaml") == Author("Bob", "bob@example.com")
    assert author(repo, "gone.yaml") == Author("Dan", "dan@example.com")


@pytest.mark.parametrize("name", ["//", "a\x02b\x03c", "alice@example.com", "Ada // L"])
def test_no_name_makes_one_commit_look_like_another(repo: Repo, name: str) -> None:
    as_author(repo, name, "eve@example.com").commit({"a.yaml": "2"})
    found = author(repo, "a.yaml")
    assert found is not None
    assert found.mail == "eve@example.com"
    assert author(repo, "ä b/c.yaml") == Author("Alice", "alice@example.com")


def test_before_the_first_commit_and_without_an_identity(tmp_path: Path) -> None:
    empty = new_repository(tmp_path / "empty")
    known = authors_on_head(open_repository(empty.path, empty.environ))
    assert known.of({"a.yaml": "?"}) == known.at_work
    assert known.at_work is not None
    unnamed = {
        name: value for name, value in empty.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))
    }
    assert authors_on_head(open_repository(empty.path, unnamed)).of({"a.yaml": "?"}) is None
