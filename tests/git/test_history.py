"""What history says of the last run: the files as it read them, and what was allowed since."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from muster.data.source import SourceFile
from muster.git.history import History
from muster.git.repository import open_repository
from muster.git.snapshot import staged_snapshot
from tests.support.git import Repo, new_repository

A, B = "clusters/a.yaml", "clusters/b.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Two files, which a run then derived from."""
    made = new_repository(tmp_path / "fleet")
    made.commit({A: "a: 1\n", B: "b: 1\n"})
    made.commit_run({"derived/a.yaml": "x\n"})
    return made


def past(repo: Repo, *, uncommitted: bool = False) -> History:
    return History(open_repository(repo.path, repo.environ), repo.tip(), uncommitted=uncommitted)


def texts(files: Mapping[str, Sequence[SourceFile]]) -> dict[str, list[bytes]]:
    return {path: [file.read() for file in versions] for path, versions in files.items()}


def blob(repo: Repo, path: str) -> str:
    return repo.tip(f"HEAD:{path}")


def test_files_as_the_last_run_read_them(repo: Repo) -> None:
    first = blob(repo, A)
    repo.commit({A: "a: 2\n", B: None, "clusters/c.yaml": "c: 1\n"})
    history = past(repo)
    assert history.commit == repo.tip("HEAD~2")
    assert texts(history.before((A, B, "clusters/c.yaml", "clusters/d.yaml"))) == {
        A: [b"a: 2\n", b"a: 1\n"],
        B: [b"b: 1\n"],
        "clusters/c.yaml": [b"c: 1\n"],
    }
    assert history.had(A, first)
    assert not history.had(A, blob(repo, A))
    everything = texts(history.before((A, B, "clusters/c.yaml")))
    assert texts(history.below("clusters")) == texts(history.below("")) == everything
    assert texts(history.below("derived")) == texts(history.below("cluster")) == {}


def test_every_version_since_the_last_run_counts_newest_first(repo: Repo) -> None:
    for text in ("a: 2\n", None, "a: 3\n", "a: 1\n"):
        repo.commit({A: text})
    assert texts(past(repo).before((A,))) == {A: [b"a: 1\n", b"a: 3\n", b"a: 2\n", b"a: 1\n"]}


def test_what_lies_on_top_of_the_head_is_compared_with_the_head_too(repo: Repo) -> None:
    repo.commit({"clusters/c.yaml": "c: 1\n"})
    assert texts(past(repo, uncommitted=True).before(("clusters/c.yaml",))) == {"clusters/c.yaml": [b"c: 1\n"]}


def test_before_the_first_run_there_was_none(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    assert staged_snapshot(open_repository(repo.path, repo.environ)).past is None
    repo.commit({A: "a: 1\n"}, "Quote\n\nMuster-Source: " + "0" * 40)
    history = past(repo)
    assert (history.commit, history.lingers, history.allowances) == ("", False, ())
    assert history.below("") == {}


def test_a_slip_is_compared_with_the_run_before_it_however_many_follow(repo: Repo) -> None:
    whole = repo.tip()
    for number in range(2):
        repo.commit({A: f"broken {number}\n"})
        repo.commit_run({"derived/a.yaml": f"{number}\n"}, more=f"\nMuster-Whole: {whole}")
    history = past(repo)
    assert (history.commit, history.lingers) == (whole, True)
    assert texts(history.before((A,))) == {A: [b"broken 1\n", b"broken 0\n", b"a: 1\n"]}


@pytest.mark.parametrize("whole", ["nonsense", "0" * 40, ""])
def test_a_whole_commit_that_is_not_in_the_past_is_none(repo: Repo, whole: str) -> None:
    source = repo.tip()
    repo.commit_run({"derived/a.yaml": "y\n"}, more=f"\nMuster-Whole: {whole}")
    assert past(repo).commit == source
    assert not past(repo).lingers


def test_what_commits_since_the_last_run_allow_oldest_first(repo: Repo) -> None:
    one = repo.commit({A: "a: 2\n"}, "One\n\nMuster-Allow-Removal: c")
    repo.commit({A: "a: 3\n"}, "Two")
    three = repo.commit({B: None, "notes.md": "x"}, "Three\n\nMuster-Allow-Removal: a,\n  b\nMuster-Allow-Removal: 1")
    first, second = past(repo).allowances
    assert [(said.text, said.commit) for said in (first, second)] == [("c", one), ("a, b,1", three)]
    held = [[(file.path, file.read()) for file in files] for files in (first.was, first.became, first.later)]
    assert held == [[(A, b"a: 1\n")], [(A, b"a: 2\n")], [(A, b"a: 3\n")]]
    assert ([file.path for file in second.was], second.became, second.later) == ([B], (), ())
    repo.commit_run({"derived/a.yaml": "y\n"})
    assert past(repo).allowances == ()


def test_a_merge_allows_what_it_changes_of_the_branch(repo: Repo) -> None:
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit({B: None})
    repo.git("switch", "--quiet", "main")
    repo.commit({A: "a: 2\n"})
    repo.git("merge", "--quiet", "--no-ff", "topic", "--message", "Merge\n\nMuster-Allow-Removal: b")
    (said,) = past(repo).allowances
    assert ([file.path for file in said.was], said.became, said.later) == ([B], (), ())


def test_what_a_commit_at_the_edge_of_a_shallow_clone_changed_is_not_known(repo: Repo, tmp_path: Path) -> None:
    repo.commit({B: None}, "Remove\n\nMuster-Allow-Removal: b")
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(tmp_path / "shallow"))
    (said,) = past(Repo(tmp_path / "shallow", repo.environ)).allowances
    assert (said.text, said.was) == ("b", ())
