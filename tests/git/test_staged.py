"""The snapshot of the index: exactly what the next commit would hold."""

import sys
from pathlib import Path

import pytest

from muster.data.snapshot import Skipped, Snapshot
from muster.git.repository import open_repository
from muster.git.snapshot import IndexSnapshot
from muster.git.store.paths import MAX_BLOB_BYTES
from tests.support.git import Repo, clone, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "README.md": ""})
    return made


def read(repo: Repo, directory: Path | None = None) -> tuple[dict[str, bytes], tuple[Skipped, ...]]:
    snapshot = IndexSnapshot(open_repository(directory or repo.path, repo.environ))
    files = {file.path: file.read() for file in snapshot.files()}
    return files, snapshot.skipped


def test_reads_what_is_staged_and_nothing_else(repo: Repo) -> None:
    repo.write("a.yaml", "staged: 1\n")
    repo.write("new.yaml", "new: 1\n")
    repo.git("add", "a.yaml", "new.yaml")
    repo.git("rm", "--quiet", "--cached", "b/c.yaml")
    repo.write("a.yaml", "edited after: 1\n")
    repo.write("untracked.yaml", "")
    assert read(repo) == ({"a.yaml": b"staged: 1\n", "new.yaml": b"new: 1\n"}, ())


def test_satisfies_the_protocol(repo: Repo) -> None:
    snapshot: Snapshot = IndexSnapshot(open_repository(repo.path, repo.environ))
    assert snapshot.commit is None
    assert [file.oid for file in snapshot.files()] == [repo.tip("HEAD:a.yaml"), repo.tip("HEAD:b/c.yaml")]


def test_paths_are_from_the_root_also_below_it(repo: Repo) -> None:
    assert list(read(repo, repo.path / "b")[0]) == ["a.yaml", "b/c.yaml"]


def test_the_ignore_file_counts_as_staged(repo: Repo) -> None:
    repo.write(".musterignore", "b/\n")
    assert list(read(repo)[0]) == ["a.yaml", "b/c.yaml"]
    repo.git("add", ".musterignore")
    assert list(read(repo)[0]) == ["a.yaml"]


def test_conflicts_are_skipped_once_each(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit({"a.yaml": "a: 2\n", "README.md": "2"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"a.yaml": "a: 3\n", "README.md": "3"})
    repo.git("merge", "other", check=False)
    assert read(repo) == ({"b/c.yaml": b"c: 1\n"}, (Skipped("a.yaml", "conflict", "unmerged in the index"),))


def test_the_same_things_are_left_out_as_in_a_commit(repo: Repo) -> None:
    (repo.path / "link.yaml").symlink_to("../out.yaml")
    repo.write("big.yaml", b"x" * (MAX_BLOB_BYTES + 1))
    repo.write("new\nline.yaml", "")
    repo.git("add", ".")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.tip()},sub")
    files, skipped = read(repo)
    assert list(files) == ["a.yaml", "b/c.yaml"]
    assert [(one.path, one.reason) for one in skipped] == [
        ("big.yaml", "too-large"),
        ("link.yaml", "symlink"),
        ("new\\nline.yaml", "control-characters"),
        ("sub", "submodule"),
    ]


def test_without_commits_and_in_a_bare_repository(repo: Repo, tmp_path: Path) -> None:
    empty = new_repository(tmp_path / "empty")
    assert read(empty) == ({}, ())
    empty.write("a.yaml", "a: 1\n")
    empty.git("add", ".")
    assert read(empty) == ({"a.yaml": b"a: 1\n"}, ())
    assert read(clone(repo, tmp_path / "bare.git", "--bare")) == ({}, ())


_HOOK = """#!{python}
import os, sys
from pathlib import Path
from muster.git.snapshot import IndexSnapshot
from muster.git.repository import open_repository
snapshot = IndexSnapshot(open_repository(Path("."), os.environ))
seen = {{file.path: file.read().decode() for file in snapshot.files()}}
Path({out!r}).write_text(repr(sorted(seen.items())))
"""


@pytest.mark.parametrize(
    ("commit", "seen"),
    [
        ((), [("a.yaml", "staged\n"), ("b/c.yaml", "c: 1\n")]),
        (("--all",), [("a.yaml", "staged\n"), ("b/c.yaml", "edited\n")]),
        (("--", "b/c.yaml"), [("a.yaml", "a: 1\n"), ("b/c.yaml", "edited\n")]),
    ],
)
@pytest.mark.parametrize("linked", [False, True])
def test_a_real_pre_commit_hook_sees_the_commit_in_the_making(
    repo: Repo, tmp_path: Path, commit: tuple[str, ...], seen: list[tuple[str, str]], linked: bool
) -> None:
    where = repo
    if linked:
        repo.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
        where = Repo(tmp_path / "linked", repo.environ)
    out = tmp_path / "seen"
    hook = repo.write(".git/hooks/pre-commit", _HOOK.format(python=sys.executable, out=str(out)))
    hook.chmod(0o755)
    where.write("a.yaml", "staged\n")
    where.git("add", "a.yaml")
    where.write("b/c.yaml", "edited\n")
    where.git("commit", "--quiet", "--message", "x", *commit)
    assert out.read_text() == repr(seen)
