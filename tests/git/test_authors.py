"""Who wrote a file: the author of the last commit that changed it, whoever merged it and whatever they are called."""

from dataclasses import replace
from pathlib import Path

import pytest

from muster.data.snapshot import Author
from muster.git.authors import CommitAuthors, line_author
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
    known = CommitAuthors(open_repository(empty.path, empty.environ), None, uncommitted=True)
    assert known.of({"a.yaml": "?"}) == known.at_work
    assert known.at_work is not None
    unnamed = {
        name: value for name, value in empty.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))
    }
    assert CommitAuthors(open_repository(empty.path, unnamed), None, uncommitted=True).of({"a.yaml": "?"}) is None


def test_a_line_has_its_own_author(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": "one: 1\ntwo: 2\n"})
    bob = replace(repo, environ={**repo.environ, "GIT_AUTHOR_NAME": "Bob", "GIT_AUTHOR_DATE": "2026-01-02T00:00:00Z"})
    bob.write("a.yaml", "one: 1\ntwo: 3\n")
    bob.git("commit", "-qam", "the second")
    head, repository = repo.tip(), open_repository(repo.path, repo.environ)
    first, second = line_author(repository, head, "a.yaml", 1), line_author(repository, head, "a.yaml", 2)
    assert first is not None
    assert second is not None
    assert (first.author, second.author) == ("Ada", "Bob")
    assert head.startswith(second.commit)
    assert (second.time - first.time).days == 1
    assert line_author(repository, head, "b.yaml", 1) is None
    assert line_author(repository, head, "a.yaml", 30) is None


def test_a_shallow_clone_does_not_guess(tmp_path: Path) -> None:
    """Its first commit looks as if it had written everything."""
    repo = new_repository(tmp_path / "fleet")
    for number in range(2):
        repo.commit({f"{number}.yaml": "one: 1\n"})
    repo.git("clone", "--quiet", "--depth", "1", repo.path.as_uri(), str(tmp_path / "clone"))
    repository = open_repository(tmp_path / "clone", repo.environ)
    assert line_author(repository, repo.tip(), "0.yaml", 1) is None
