"""The versions that files had since a commit."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from muster.git.errors import LostObjectError
from muster.git.history import Versions
from muster.git.repository import open_repository
from tests.support.git import Repo, new_repository

A, B = "clusters/a.yaml", "clusters/b.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({A: "a: 1\n", B: "b: 1\n", "derived/a.yaml": "x\n"})
    return made


def versions(repo: Repo, since: str, paths: Iterable[str]) -> dict[str, list[bytes]]:
    repository = open_repository(repo.path, repo.environ)
    objects = repository.objects
    found = Versions(repository, objects, since, repo.tip()).of(paths)
    return {path: [objects.blob(oid) for oid in ids] for path, ids in found.items()}


def test_newest_first_at_and_below_the_paths_but_not_what_was_derived(repo: Repo) -> None:
    since = repo.tip()
    repo.commit({A: "a: 2\n", B: "b: 2\n", "derived/a.yaml": "y\n", "README.md": "More.\n"})
    repo.commit({A: None})
    repo.commit({A: "a: 3\n"})
    changed = {A: [b"a: 3\n", b"a: 2\n"], B: [b"b: 2\n"]}
    assert versions(repo, since, (A,)) == {A: changed[A]}
    assert versions(repo, since, ("clusters",)) == versions(repo, since, ("",)) == changed
    assert versions(repo, repo.tip(), ("",)) == {}


def test_without_a_commit_all_that_history_has_counts(repo: Repo) -> None:
    assert versions(repo, "", ("",)) == {A: [b"a: 1\n"], B: [b"b: 1\n"]}


def test_what_was_ignored_when_it_was_committed_was_not_read(repo: Repo) -> None:
    since = repo.tip()
    repo.commit({".musterignore": "clusters/\n", A: "a: 2\n"})
    middle = repo.commit({A: "a: 3\n"})
    repo.commit({A: "a: 4\n"})
    repo.commit({".musterignore": None, A: "a: 5\n"})
    assert versions(repo, since, (A,)) == versions(repo, middle, (A,)) == {A: [b"a: 5\n"]}


def test_a_merge_brings_what_it_merged_and_not_what_was_on_the_way(repo: Repo) -> None:
    since = repo.tip()
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({A: "a: 2\n"})
    repo.commit({A: "a: 3\n"})
    repo.git("checkout", "--quiet", "-")
    repo.commit({B: "b: 2\n"})
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    assert versions(repo, since, (A,)) == {A: [b"a: 3\n"]}


def test_names_are_no_patterns_and_links_no_versions(repo: Repo) -> None:
    since = repo.tip()
    repo.commit({A: "a: 2\n", "clusters/[a].yaml": "odd: 1\n"})
    (repo.path / "link.yaml").symlink_to(A)
    repo.git("add", "--all")
    repo.commit({})
    assert versions(repo, since, ("clusters/[a].yaml", "clusters/*", "link.yaml")) == {
        "clusters/[a].yaml": [b"odd: 1\n"]
    }


def test_what_is_too_large_was_not_read_and_what_is_lost_is_an_error(repo: Repo) -> None:
    since = repo.tip()
    repo.commit({A: "a: 2\n"})
    repo.commit({A: "# too large\n" * 100_000, B: "b: lost\n"})
    assert versions(repo, since, (A,)) == {A: [b"a: 2\n"]}
    lost = repo.git("rev-parse", f"HEAD:{B}")
    (repo.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    with pytest.raises(LostObjectError, match="clusters/b.yaml"):
        versions(repo, since, ("",))
