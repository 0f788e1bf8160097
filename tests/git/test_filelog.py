"""Who wrote a line: told from real repositories."""

from dataclasses import replace
from pathlib import Path

from muster.git.filelog import written
from muster.git.repository import open_repository
from tests.support.git import new_repository


def test_a_line_has_its_own_author(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": "one: 1\ntwo: 2\n"})
    bob = replace(repo, environ={**repo.environ, "GIT_AUTHOR_NAME": "Bob", "GIT_AUTHOR_DATE": "2026-01-02T00:00:00Z"})
    bob.write("a.yaml", "one: 1\ntwo: 3\n")
    bob.git("commit", "-qam", "the second")
    head, repository = repo.tip(), open_repository(repo.path, repo.environ)
    first, second = written(repository, head, "a.yaml", 1), written(repository, head, "a.yaml", 2)
    assert first is not None
    assert second is not None
    assert (first.author, second.author) == ("Ada", "Bob")
    assert head.startswith(second.commit)
    assert (second.time - first.time).days == 1
    assert written(repository, head, "b.yaml", 1) is None
    assert written(repository, head, "a.yaml", 30) is None


def test_a_shallow_clone_does_not_guess(tmp_path: Path) -> None:
    """Its first commit looks as if it had written everything."""
    repo = new_repository(tmp_path / "fleet")
    for number in range(2):
        repo.commit({f"{number}.yaml": "one: 1\n"})
    repo.git("clone", "--quiet", "--depth", "1", repo.path.as_uri(), str(tmp_path / "clone"))
    repository = open_repository(tmp_path / "clone", repo.environ)
    assert written(repository, repo.tip(), "0.yaml", 1) is None
