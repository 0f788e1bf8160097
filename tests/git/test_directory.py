"""The snapshot of a directory: with git and without, and with everything that a directory can hold."""

import os
import socket
from pathlib import Path

import pytest

from muster.data.snapshot import Skipped, Snapshot
from muster.git.directory import DirectorySnapshot
from muster.git.errors import RepositoryError
from muster.git.store.objects import object_id
from muster.git.store.paths import MAX_BLOB_BYTES
from tests.support.git import add_worktree, git_environ, new_repository


def read(path: Path, **more: str) -> tuple[dict[str, bytes], tuple[Skipped, ...]]:
    """Return the content of every file by its path, and what was skipped."""
    snapshot = DirectorySnapshot(path, git_environ(path, **more))
    files = {file.path: file.read() for file in snapshot.files()}
    return files, snapshot.skipped


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("a: 1\n")


def test_reads_a_plain_directory_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b.yml", "a/c.json", "a-b.yaml", "a.yaml", "README.md", "a/d/e.yaml")
    files, skipped = read(tmp_path)
    assert list(files) == ["a-b.yaml", "a.yaml", "a/c.json", "a/d/e.yaml", "b.yml"]
    assert skipped == ()


def test_satisfies_the_protocol(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml")
    snapshot: Snapshot = DirectorySnapshot(tmp_path, git_environ(tmp_path))
    assert snapshot.commit is None
    [file] = snapshot.files()
    assert file.oid == object_id("blob", b"a: 1\n")
    assert file.ref == ""


def test_in_a_work_tree_reads_what_git_does_not_ignore(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"tracked.yaml": "old\n", "deleted.yaml": "", ".gitignore": "ignored/\n*.tmp.yaml\n"})
    repo.commit({"forced.tmp.yaml": "a: 1\n"})
    repo.write("tracked.yaml", "a: 2\n")
    write(repo.path, "untracked.yaml", "ignored/x.yaml", "x.tmp.yaml", "dir/untracked.yaml")
    (repo.path / "deleted.yaml").unlink()
    files, skipped = read(repo.path)
    assert list(files) == ["dir/untracked.yaml", "forced.tmp.yaml", "tracked.yaml", "untracked.yaml"]
    assert files["tracked.yaml"] == b"a: 2\n"
    assert skipped == ()


def test_below_a_work_tree_paths_are_relative_to_the_directory(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"example/a.yaml": "a: 1\n", "b.yaml": ""})
    assert read(repo.path / "example") == ({"a.yaml": b"a: 1\n"}, ())


def test_an_ignored_directory_that_is_asked_for_is_read(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({".gitignore": "scratch/\n"})
    write(repo.path, "scratch/a.yaml")
    assert list(read(repo.path / "scratch")[0]) == ["a.yaml"]


def test_reads_a_linked_worktree_and_one_without_commits(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    write(repo.path, "a.yaml")
    assert list(read(repo.path)[0]) == ["a.yaml"]
    repo.commit()
    linked = add_worktree(repo, tmp_path / "linked", "feature")
    write(linked.path, "b.yaml")
    assert list(read(linked.path)[0]) == ["a.yaml", "b.yaml"]


def test_works_without_git(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", ".git/config.yaml")
    assert list(read(tmp_path, PATH=str(tmp_path / "nowhere"))[0]) == ["a.yaml"]


def test_a_repository_inside_is_reported_and_not_entered(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": "a: 1\n", "b": "a file\n"})
    new_repository(repo.path / "vendor").commit({"x.yaml": ""})
    (repo.path / "b").unlink()
    write(repo.path, "b/c.yaml")
    files, skipped = read(repo.path)
    assert list(files) == ["a.yaml", "b/c.yaml"]
    assert skipped == (Skipped("vendor", "submodule", "a repository of its own"),)


def test_unmerged_files_appear_once(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": "a: 1\n"})
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit({"a.yaml": "a: 2\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"a.yaml": "a: 3\n"})
    repo.git("merge", "other", check=False)
    files, _ = read(repo.path)
    assert list(files) == ["a.yaml"]
    assert b"<<<<<<<" in files["a.yaml"]


def test_opens_regular_files_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket.yaml"))
    (tmp_path / "directory.yaml").mkdir()
    write(tmp_path, "directory.yaml/inner.yaml")
    files, skipped = read(tmp_path)
    assert list(files) == ["directory.yaml/inner.yaml"]
    assert skipped == (Skipped("fifo.yaml", "not-a-file", "FIFO"), Skipped("socket.yaml", "not-a-file", "socket"))


def test_a_fifo_named_like_the_ignore_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".musterignore")
    write(tmp_path, "a.yaml")
    files, [skipped] = read(tmp_path)
    assert list(files) == ["a.yaml"]
    assert skipped == Skipped(".musterignore", "unreadable", "it is a FIFO, not a file")


def test_follows_no_links(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, "secret.yaml", "outside/x.yaml")
    write(root, "real/a.yaml", "README.md")
    (root / "link.yaml").symlink_to("real/a.yaml")
    (root / "secret.yaml").symlink_to("../secret.yaml")
    (root / "directory").symlink_to("real")
    (root / "away").symlink_to("../outside")
    (root / "loop").symlink_to("loop")
    (root / "README").symlink_to("README.md")
    (root / "up").symlink_to(".")
    assert read(root) == (
        {"real/a.yaml": b"a: 1\n"},
        (
            Skipped("away", "symlink", "../outside (outside the repository)"),
            Skipped("directory", "symlink", "real"),
            Skipped("link.yaml", "symlink", "real/a.yaml"),
            Skipped("secret.yaml", "symlink", "../secret.yaml (outside the repository)"),
            Skipped("up", "symlink", "."),
        ),
    )


def test_never_reads_a_file_beyond_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "sparse.yaml").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "fits.yaml").write_bytes(b"x" * MAX_BLOB_BYTES)
    files, [skipped] = read(tmp_path)
    assert list(files) == ["fits.yaml"]
    assert skipped == Skipped("sparse.yaml", "too-large", f"{1 << 40} bytes, more than {MAX_BLOB_BYTES}")


@pytest.mark.parametrize("with_git", [False, True])
def test_unprintable_paths_are_reported(tmp_path: Path, with_git: bool) -> None:
    root = new_repository(tmp_path / "root").path if with_git else tmp_path / "root"
    write(root, "good.yaml", "new\nline.yaml", os.fsdecode(b"latin\xe9.yaml"), 'quo"te\\.yaml')
    files, skipped = read(root)
    assert list(files) == ["good.yaml", 'quo"te\\.yaml']
    assert skipped == (
        Skipped("latin\\xe9.yaml", "not-utf8-path"),
        Skipped("new\\nline.yaml", "control-characters"),
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "closed.yaml", "closed/b.yaml")
    (tmp_path / "closed.yaml").chmod(0)
    (tmp_path / "closed").chmod(0)
    files, skipped = read(tmp_path)
    (tmp_path / "closed").chmod(0o700)
    assert list(files) == ["a.yaml"]
    assert skipped == (
        Skipped("closed/", "unreadable", "Permission denied"),
        Skipped("closed.yaml", "unreadable", "Permission denied"),
    )


def test_musterignore_counts_here_too(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "b/a.yaml", "b/c.yaml")
    (tmp_path / ".musterignore").write_text("a.yaml\n!\n")
    files, skipped = read(tmp_path)
    assert list(files) == ["b/c.yaml"]
    assert skipped == (Skipped(".musterignore", "unreadable", "line 2 is not a pattern"),)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="is not a directory"):
        DirectorySnapshot(tmp_path / "absent", git_environ(tmp_path))
