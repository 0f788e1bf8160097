"""Opening repositories of every form, and saying clearly what is wrong with one that cannot be opened."""

from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from muster.git.errors import LostObjectError, RepositoryError
from muster.git.repository import blob_at, current_branch, grep_lines, has_derived, is_empty, open_repository, resolve
from muster.git.trees import list_tree
from tests.support.git import Repo, add_worktree, clone, git_environ, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"clusters/a/cluster.yaml": "a: 1\n"})
    return made


def _lose_objects(repo: Repo) -> None:
    objects = repo.path / ".git" / "objects"
    objects.rename(repo.path / ".git" / "lost")
    objects.mkdir()


def test_opens_the_work_tree_from_any_directory_inside(repo: Repo) -> None:
    opened = open_repository(repo.path / "clusters" / "a", repo.environ)
    assert opened.worktree == repo.path
    assert opened.git_dir == repo.path / ".git"
    assert resolve(opened, "HEAD") == repo.tip()


def test_opens_a_bare_repository(repo: Repo, tmp_path: Path) -> None:
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    opened = open_repository(bare.path, bare.environ)
    assert opened.worktree is None
    assert resolve(opened, "main") == repo.tip()
    assert current_branch(opened) == "main"


def test_opens_a_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    linked = add_worktree(repo, tmp_path / "linked", "feature")
    opened = open_repository(linked.path, linked.environ)
    assert opened.worktree == linked.path
    assert opened.git_dir == repo.path / ".git" / "worktrees" / "linked"
    assert current_branch(opened) == "feature"


def test_opens_from_within_the_git_directory_as_a_server_hook_does(repo: Repo) -> None:
    opened = open_repository(repo.path / ".git", repo.environ)
    assert opened.worktree is None
    assert resolve(opened, "main") == repo.tip()


def test_opens_a_shallow_clone(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"b.yaml": "b: 1\n"})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    assert resolve(open_repository(tmp_path / "shallow", repo.environ), "HEAD") == repo.tip()


def test_opens_a_sha256_repository(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "sha256", object_format="sha256")
    commit = repo.commit({"a.yaml": "a: 1\n"})
    opened = open_repository(repo.path, repo.environ)
    assert opened.object_format == "sha256"
    assert len(commit) == 64
    assert resolve(opened, "main") == commit


def test_a_path_with_a_newline_opens(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "new\nline")
    commit = repo.commit({"a.yaml": "a: 1\n"})
    opened = open_repository(repo.path, repo.environ)
    assert opened.worktree == repo.path
    assert resolve(opened, "HEAD") == commit


def test_a_bare_repository_whose_path_has_a_newline_opens(repo: Repo, tmp_path: Path) -> None:
    bare = clone(repo, tmp_path / "new\nline.git", "--bare")
    opened = open_repository(bare.path, bare.environ)
    assert (opened.git_dir, opened.worktree) == (bare.path, None)


def test_a_commit_that_was_read_is_not_read_again(repo: Repo) -> None:
    opened, commit = open_repository(repo.path, repo.environ), repo.tip()
    path = "clusters/a/cluster.yaml"
    assert blob_at(opened, commit, path) == b"a: 1\n"
    first = list(list_tree(opened, commit))
    _lose_objects(repo)
    assert list(list_tree(opened, commit)) == first
    for repository in (opened, open_repository(repo.path, repo.environ)):
        with pytest.raises(LostObjectError, match=f"git cannot read {path}"):
            blob_at(repository, commit, path)


def test_a_branch_is_read_again_and_so_is_what_was_not_there(repo: Repo) -> None:
    opened = open_repository(repo.path, repo.environ)
    assert (blob_at(opened, "main", "b.yaml"), len(list(list_tree(opened, "main")))) == (None, 1)
    repo.commit({"b.yaml": "b: 1\n"})
    assert (blob_at(opened, "main", "b.yaml"), len(list(list_tree(opened, "main")))) == (b"b: 1\n", 2)


def test_a_lost_file_that_comes_back_is_seen(repo: Repo) -> None:
    opened, commit = open_repository(repo.path, repo.environ), repo.tip()
    blob = repo.git("rev-parse", "HEAD:clusters/a/cluster.yaml")
    file = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    file.rename(repo.path / "away")
    assert [entry.size for entry in list_tree(opened, commit)] == [None]
    (repo.path / "away").rename(file)
    assert [entry.size for entry in list_tree(opened, commit)] == [5]


def test_few_answers_are_kept(repo: Repo) -> None:
    opened = open_repository(repo.path, repo.environ)
    commits = [repo.commit({"a.yaml": f"a: {number}\n"}) for number in range(6)]
    listed = [list(list_tree(opened, commit)) for commit in commits]
    _lose_objects(repo)
    assert [list(list_tree(opened, commit)) for commit in commits[2:]] == listed[2:]
    for commit in commits[:2]:
        with pytest.raises(RepositoryError):
            list(list_tree(opened, commit))


def test_what_is_lost_is_told_from_what_is_not_there(repo: Repo) -> None:
    commit = repo.commit({"derived/fleets/fleet.yaml": "certificate: x\n", "folder/x.yaml": "x\n"})
    repo.git("update-ref", "refs/heads/keep", commit)

    def asked(path: str) -> list[object]:
        opened = open_repository(repo.path, repo.environ)
        return [
            blob_at(opened, commit, path),
            has_derived(opened, commit),
            grep_lines(opened, "cert", commit, "derived"),
        ]

    assert asked("derived/fleets/fleet.yaml")[0] == b"certificate: x\n"
    assert [asked(path)[0] for path in ("folder", "folder/y.yaml", "no/x.yaml", "derived/fleets")] == [None] * 4
    assert blob_at(open_repository(repo.path, repo.environ), "nowhere", "a") is None
    for lost in ("derived/fleets/fleet.yaml", "derived/fleets", ""):
        oid = repo.tip(f"{commit}:{lost}")
        (repo.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
        with pytest.raises(LostObjectError):
            asked("derived/fleets/fleet.yaml")
        with pytest.raises(LostObjectError):
            grep_lines(open_repository(repo.path, repo.environ), "cert", commit, "derived")
    with pytest.raises(LostObjectError):
        has_derived(open_repository(repo.path, repo.environ), commit)


def test_refuses_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError) as caught:
        open_repository(tmp_path, git_environ(tmp_path))
    assert caught.value.message == f"{tmp_path} is not in a git repository"
    assert caught.value.hint


@pytest.mark.parametrize("name", ["absent", "file"])
def test_refuses_what_is_no_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RepositoryError, match="is not a directory"):
        open_repository(tmp_path / name, git_environ(tmp_path))


def test_an_empty_repository_opens_but_has_no_commit(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "empty")
    opened = open_repository(repo.path, repo.environ)
    assert is_empty(opened)
    assert current_branch(opened) == "main"
    with pytest.raises(RepositoryError, match="has no commits yet"):
        resolve(opened, "HEAD")


def test_an_unknown_revision_names_the_nearest(repo: Repo) -> None:
    repo.git("branch", "production")
    repo.git("tag", "v1.0")
    opened = open_repository(repo.path, repo.environ)
    with pytest.raises(RepositoryError) as caught:
        resolve(opened, "prodution")
    assert "'prodution'" in caught.value.message
    assert caught.value.hint == "did you mean production?"


@pytest.mark.parametrize("revision", ["", "--all", "a\0b", "no such", "HEAD~99", "HEAD:clusters", "0" * 40])
def test_refuses_what_names_no_commit(repo: Repo, revision: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        resolve(open_repository(repo.path, repo.environ), revision)
    assert caught.value.hint


@pytest.mark.parametrize("revision", ["main", "HEAD", "v1", "refs/heads/main", "main~0", "HEAD@{0}"])
def test_resolves_every_way_to_name_a_commit(repo: Repo, revision: str) -> None:
    repo.git("tag", "--annotate", "v1", "--message", "one")
    assert resolve(open_repository(repo.path, repo.environ), revision) == repo.tip()


def test_a_detached_head_has_a_commit_and_no_branch(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--detach")
    opened = open_repository(repo.path, repo.environ)
    assert current_branch(opened) is None
    assert resolve(opened, "HEAD") == repo.tip("main")


def test_a_repository_of_another_user_is_explained(repo: Repo) -> None:
    with pytest.raises(RepositoryError) as caught:
        open_repository(repo.path, {**repo.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert "belongs to another user" in caught.value.message
    assert f"safe.directory {repo.path}" in caught.value.hint


def _linked(inner: Repo) -> None:
    (inner.path / ".git").rename(inner.path / "elsewhere")
    (inner.path / ".git").symlink_to("elsewhere")


ODD: dict[str, Callable[[Repo], object]] = {
    "usual": lambda inner: inner.commit({"a.yaml": "a: 1"}),
    "detached": lambda inner: inner.git("checkout", "--quiet", "--detach", inner.commit()),
    "no HEAD": lambda inner: (inner.path / ".git/HEAD").unlink(),
    "a HEAD that names nothing": lambda inner: (inner.path / ".git/HEAD").write_text("ref: none\n"),
    "no refs": lambda inner: rmtree(inner.path / ".git/refs"),
    "no objects": lambda inner: rmtree(inner.path / ".git/objects"),
    "no configuration": lambda inner: (inner.path / ".git/config").unlink(),
    "an unknown format": lambda inner: inner.git("config", "core.repositoryformatversion", "7"),
    "bare": lambda inner: inner.git("config", "core.bare", "true"),
    "another work tree": lambda inner: inner.git("config", "core.worktree", "../.."),
    "a link": _linked,
    "a file": lambda inner: inner.git("init", "--quiet", "--separate-git-dir", "../../git"),
    "settings from a file": lambda inner: inner.git("config", "include.path", "more"),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_repository_within_another_is_where_git_says(repo: Repo, odd: str) -> None:
    inner = new_repository(repo.path / "inner")
    ODD[odd](inner)
    asked = ("rev-parse", "--show-object-format", "--absolute-git-dir", "--show-toplevel")
    expected = inner.git(*asked, check=False).split("\n")
    try:
        opened = open_repository(inner.path, inner.environ)
    except RepositoryError:
        assert len(expected) < 2, "git opens it"
    else:
        top = [str(opened.worktree)] if opened.worktree else []
        assert [opened.object_format, str(opened.git_dir), *top] == expected
