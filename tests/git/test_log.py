"""One reader of `git log`: what users configure and what commits contain changes nothing."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.data.snapshot import Author
from muster.git.errors import RepositoryError
from muster.git.log import count_commits, read_log
from muster.git.repository import Repository, open_repository
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    for key, value in (
        ("log.showSignature", "true"),
        ("i18n.logOutputEncoding", "latin1"),
        ("log.follow", "true"),
        ("log.diffMerges", "off"),
        ("trailer.separators", "#"),
    ):
        made.git("config", key, value)
    made.commit({"a.yaml": "1", "b/c.yaml": "1"})
    return made


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def test_a_commit_has_its_fields(repo: Repo) -> None:
    first = repo.tip()
    bob = repo.with_environ(GIT_AUTHOR_NAME="Bób \x02 B", GIT_AUTHOR_DATE="2026-01-02T00:00:00Z")
    commit = bob.commit({"a.yaml": "2"}, "Über \x01\x02 it\n\nbody\n\nKey: one\nOther: x\nKey: two\n  folded\n")
    (one,) = read_log(opened(repo), f"{first}..{commit}", trailer="Key")
    assert (one.commit, one.parents, one.subject) == (commit, (first,), "Über \x01\x02 it")
    assert one.author == Author("Bób \x02 B", "ada@example.com")
    assert (one.authored, one.committed) == (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    assert (one.trailers, one.changes) == ("one,two folded", ())


@pytest.mark.parametrize("streamed", [False, True])
def test_paths_that_commits_touch(repo: Repo, streamed: bool) -> None:
    repo.commit({"odd\nname": "1"})
    last = repo.commit({"a.yaml": None, "b/c.yaml": "2", "derived/x.yaml": "1"})
    log = list(read_log(opened(repo), last, changes=True, exclude=("derived",), streamed=streamed))
    assert [[change.raw for change in one.changes] for one in log] == [
        [b"a.yaml", b"b/c.yaml"],
        [b"odd\nname"],
        [b"a.yaml", b"b/c.yaml"],
    ]
    gone, changed = log[0].changes
    assert gone.new is None
    assert changed.new is not None
    assert changed.new.oid == repo.tip(f"{last}:b/c.yaml")
    assert [one.commit for one in read_log(opened(repo), last, paths=("b",), most=1)] == [last]
    oldest_first = read_log(opened(repo), last, oldest_first=True, skip=1)
    assert [one.commit for one in oldest_first] == [log[2].commit, log[1].commit]


def test_what_a_merge_touches(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    side = repo.commit({"a.yaml": "side"}, "Say\n\nKey: value")
    repo.git("checkout", "-q", "-")
    repo.commit({"a.yaml": "main", "b/c.yaml": "main"})
    repo.git("merge", "-q", "side", check=False)
    merge = repo.commit({"a.yaml": "both"})
    brought = next(read_log(opened(repo), merge, first_parent=True, changes=True))
    assert [change.path for change in brought.changes] == ["a.yaml"]
    combined = next(read_log(opened(repo), merge, changes=True))
    assert combined.parents[1] == side
    assert combined.changes == brought.changes
    assert merge not in [one.commit for one in read_log(opened(repo), merge, no_merges=True)]
    assert [one.commit for one in read_log(opened(repo), merge, grep="^Key: ")] == [side]
    assert [one.parents for one in read_log(opened(repo), merge, roots=True)] == [()]
    assert count_commits(opened(repo), merge) == 4


def test_a_commit_that_is_missing_and_a_time_that_is_impossible(repo: Repo) -> None:
    for streamed in (False, True):
        with pytest.raises(RepositoryError):
            list(read_log(opened(repo), "1" * 40, streamed=streamed))
    one = next(read_log(opened(repo), "HEAD"))._replace(committer_seconds="9" * 20)
    with pytest.raises(RepositoryError, match="impossible time"):
        _ = one.committed
