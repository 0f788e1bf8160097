"""Commits: all or nothing, first come first served, and never over a person's work."""

import os
import stat
from pathlib import Path

import pytest

from muster.git.errors import Committed, Moved, Refused, RepositoryError
from tests.git.committing import AFTER, BASE, check_sound, commit
from tests.support.git import Repo, add_worktree, clone, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit(BASE)
    return made


@pytest.fixture
def bare(repo: Repo, tmp_path: Path) -> Repo:
    return clone(repo, tmp_path / "bare.git", "--bare")


def test_commits_to_a_bare_repository(bare: Repo) -> None:
    before = bare.tip("main")
    outcome = commit(bare, message="2 clusters Unknown\n\nMuster-Now: 2026-01-01T00:00:00Z")
    assert outcome == Committed(bare.tip("main"))
    assert bare.paths("main") == AFTER
    assert bare.show("derived/a.yaml", "main") == "new: 1"
    assert bare.git("log", "-1", "--format=%P|%an|%ae|%ct|%B", "main").splitlines() == [
        f"{before}|Ada|ada@example.com|1767225600|2 clusters Unknown",
        "",
        "Muster-Now: 2026-01-01T00:00:00Z",
    ]
    assert not (bare.path / "index").exists()
    check_sound(bare)


def test_the_same_commit_has_the_same_id(repo: Repo, bare: Repo, tmp_path: Path) -> None:
    other = clone(repo, tmp_path / "other.git", "--bare")
    assert commit(bare) == commit(other)


def test_moves_a_branch_that_nobody_has_checked_out(repo: Repo) -> None:
    repo.git("branch", "derived")
    main = repo.tip()
    repo.write("clusters/a/cluster.yaml", "edited\n")
    assert commit(repo, branch="derived") == Committed(repo.tip("derived"))
    assert repo.tip("main") == main
    assert repo.paths("derived") == AFTER
    assert repo.status() == [" M clusters/a/cluster.yaml"]
    check_sound(repo)


def test_moves_the_work_tree_along(repo: Repo) -> None:
    assert commit(repo) == Committed(repo.tip())
    assert repo.status() == []
    assert (repo.path / "derived/a.yaml").read_text() == "new: 1\n"
    assert not (repo.path / "derived/gone.yaml").exists()
    check_sound(repo)


def test_moves_a_linked_worktree_along(repo: Repo, tmp_path: Path) -> None:
    linked = add_worktree(repo, tmp_path / "linked\nworktree", "feature")
    assert commit(repo, branch="feature") == Committed(linked.tip())
    assert linked.status() == []
    assert (linked.path / "derived/b/c.yaml").read_text() == "c: 1\n"
    assert repo.status() == []
    assert (repo.path / "derived/a.yaml").read_text() == "old: 1\n"
    check_sound(repo)


def test_commits_from_a_linked_worktree_to_the_main_one(repo: Repo, tmp_path: Path) -> None:
    linked = add_worktree(repo, tmp_path / "linked", "feature")
    assert commit(linked, branch="main") == Committed(repo.tip("main"))
    assert repo.status() == []
    assert linked.status() == []


def test_a_worktree_whose_directory_is_gone_does_not_count(repo: Repo, tmp_path: Path) -> None:
    linked = add_worktree(repo, tmp_path / "linked", "feature")
    linked.path.rename(tmp_path / "elsewhere")
    assert commit(repo, branch="feature") == Committed(repo.tip("feature"))


def test_a_locked_worktree_that_is_away_is_left_alone(repo: Repo, tmp_path: Path) -> None:
    linked = add_worktree(repo, tmp_path / "linked", "feature")
    repo.git("worktree", "lock", str(linked.path))
    linked.path.rename(tmp_path / "elsewhere")
    outcome = commit(repo, branch="feature")
    assert isinstance(outcome, Refused)
    assert "which is missing" in outcome.message
    assert repo.tip("feature") == repo.tip("main")


def test_a_branch_in_two_work_trees_is_left_alone(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "--quiet", "--force", str(tmp_path / "linked"), "main")
    before = repo.tip()
    outcome = commit(repo)
    assert isinstance(outcome, Refused)
    assert "several work trees" in outcome.message
    assert repo.tip() == before


def _stage(repo: Repo, path: str, content: str) -> None:
    repo.write(path, content)
    repo.git("add", path)


def test_a_persons_unrelated_work_stays_as_it_is(repo: Repo) -> None:
    repo.commit({"edited.yaml": "1\n", "staged.yaml": "1\n", "both.yaml": "1\n", "removed.yaml": "1\n"})
    repo.write("edited.yaml", "2\n")
    _stage(repo, "staged.yaml", "2\n")
    _stage(repo, "both.yaml", "2\n")
    repo.write("both.yaml", "3\n")
    _stage(repo, "added.yaml", "1\n")
    repo.write("untracked.yaml", "1\n")
    repo.git("rm", "--quiet", "--cached", "removed.yaml")
    before = repo.status()
    diffs = repo.git("diff"), repo.git("diff", "--cached")
    assert commit(repo) == Committed(repo.tip())
    assert repo.status() == before
    assert (repo.git("diff"), repo.git("diff", "--cached")) == diffs
    assert (repo.path / "both.yaml").read_text() == "3\n"


def _edit(repo: Repo) -> None:
    repo.write("derived/a.yaml", "mine\n")


def _stage_edit(repo: Repo) -> None:
    _stage(repo, "derived/a.yaml", "mine\n")


def _stage_then_edit(repo: Repo) -> None:
    _stage(repo, "derived/a.yaml", "mine\n")
    repo.write("derived/a.yaml", "old: 1\n")


def _untracked(repo: Repo) -> None:
    repo.write("derived/b/c.yaml", "mine\n")


def _untracked_and_ignored(repo: Repo) -> None:
    repo.write(".git/info/exclude", "c.yaml\n")
    repo.write("derived/b/c.yaml", "mine\n")


def _edit_of_removed(repo: Repo) -> None:
    repo.write("derived/gone.yaml", "mine\n")


def _file_for_directory(repo: Repo) -> None:
    repo.write("derived/b", "mine\n")


@pytest.mark.parametrize(
    ("disturb", "paths"),
    [
        (_edit, ("derived/a.yaml",)),
        (_stage_edit, ("derived/a.yaml",)),
        (_stage_then_edit, ("derived/a.yaml",)),
        (_untracked, ("derived/b/c.yaml",)),
        (_untracked_and_ignored, ("derived/b/c.yaml",)),
        (_edit_of_removed, ("derived/gone.yaml",)),
        (_file_for_directory, ("derived/b",)),
    ],
)
def test_an_edit_in_the_way_is_named_and_nothing_changes(repo: Repo, disturb: object, paths: tuple[str, ...]) -> None:
    assert callable(disturb)
    disturb(repo)
    before = repo.tip(), repo.status(), repo.git("diff"), repo.git("diff", "--cached")
    content = {file: file.read_bytes() for file in repo.path.glob("derived/**/*") if file.is_file()}
    outcome = commit(repo)
    assert isinstance(outcome, Refused)
    assert outcome.paths == paths
    assert all(path in outcome.message for path in paths)
    assert outcome.hint
    assert (repo.tip(), repo.status(), repo.git("diff"), repo.git("diff", "--cached")) == before
    assert {file: file.read_bytes() for file in repo.path.glob("derived/**/*") if file.is_file()} == content
    check_sound(repo)


def test_an_edit_in_the_way_is_not_stashed_away_either(repo: Repo) -> None:
    repo.git("config", "merge.autoStash", "true")
    repo.write("derived/a.yaml", "mine\n")
    before = repo.tip()
    assert isinstance(commit(repo), Refused)
    assert repo.tip() == before
    assert (repo.path / "derived/a.yaml").read_text() == "mine\n"


def test_a_derived_file_that_a_person_deleted_comes_back(repo: Repo) -> None:
    (repo.path / "derived/a.yaml").unlink()
    assert commit(repo) == Committed(repo.tip())
    assert (repo.path / "derived/a.yaml").read_text() == "new: 1\n"
    assert repo.status() == []


def test_a_locked_index_is_explained(repo: Repo) -> None:
    before = repo.tip()
    lock = repo.write(".git/index.lock", "")
    outcome = commit(repo)
    assert isinstance(outcome, Refused)
    assert "index.lock" in outcome.message
    assert "delete that file" in outcome.hint
    assert repo.tip() == before
    lock.unlink()
    assert commit(repo) == Committed(repo.tip())


def test_an_unfinished_merge_is_explained(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit({"clusters/a/cluster.yaml": "a: 2\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"clusters/a/cluster.yaml": "a: 3\n"})
    repo.git("merge", "other", check=False)
    before = repo.tip(), repo.status()
    outcome = commit(repo)
    assert isinstance(outcome, Refused)
    assert outcome.message
    assert outcome.hint
    assert (repo.tip(), repo.status()) == before


def test_of_two_commits_from_one_base_exactly_one_wins(repo: Repo, bare: Repo) -> None:
    for where in (repo, bare):
        base = where.tip("main")
        assert commit(where, {"derived/one.yaml": "1\n"}, expected=base) == Committed(where.tip("main"))
        winner = where.tip("main")
        assert commit(where, {"derived/two.yaml": "2\n"}, expected=base) == Moved(winner)
        assert where.tip("main") == winner
        check_sound(where)


def _git_that(repo: Repo, directory: Path, verb: str, script: str) -> Repo:
    """Return `repo` with a git on its PATH that runs `script` when asked for `verb`, else just git."""
    directory.mkdir()
    wrapper = directory / "git"
    real = "PATH=${PATH#*:}; export PATH"
    wrapper.write_text(f'#!/bin/sh\n{real}\ncase " $* " in\n*" {verb} "*)\n{script}\n;;\nesac\nexec git "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return repo.with_environ(PATH=f"{directory}{os.pathsep}{repo.environ['PATH']}")


@pytest.mark.parametrize("verb", ["fast-import", "update-ref"])
def test_a_race_lost_at_the_last_moment_is_noticed(bare: Repo, tmp_path: Path, verb: str) -> None:
    rival = bare.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Rival")
    slow = _git_that(bare, tmp_path / "bin", verb, f"git -C '{bare.path}' update-ref refs/heads/main {rival}")
    assert commit(slow) == Moved(rival)
    assert bare.tip("main") == rival
    check_sound(bare)


@pytest.mark.parametrize("verb", ["fast-import", "update-ref"])
def test_a_race_lost_where_the_branch_is_checked_out_is_noticed(repo: Repo, tmp_path: Path, verb: str) -> None:
    """The work tree, which may have been brought along by then, is what the rival's commit has."""
    rival = repo.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Rival")
    slow = _git_that(repo, tmp_path / "bin", verb, f"git -C '{repo.path}' update-ref refs/heads/main {rival} || exit 9")
    base = repo.tip()
    assert commit(slow) == Moved(repo.tip())
    assert repo.tip("HEAD~1") == base
    assert repo.status() == []


def test_a_branch_set_back_meanwhile_is_not_moved(repo: Repo, tmp_path: Path) -> None:
    first = repo.tip()
    repo.commit({"clusters/a/cluster.yaml": "a: 2\n"})
    slow = _git_that(repo, tmp_path / "bin", "fast-import", f"git -C '{repo.path}' reset --quiet --hard {first}")
    assert commit(slow) == Moved(first)
    assert repo.tip() == first


def test_a_branch_that_is_not_there_has_moved(bare: Repo) -> None:
    assert commit(bare, branch="absent", expected=bare.tip("main")) == Moved(None)


def test_a_locked_ref_is_an_error_that_names_the_lock(bare: Repo) -> None:
    bare.write("refs/heads/main.lock", "")
    with pytest.raises(RepositoryError) as caught:
        commit(bare)
    assert "main.lock" in caught.value.message
    assert "delete that file" in caught.value.hint


def test_no_configuration_makes_it_anything_but_a_fast_forward(repo: Repo) -> None:
    for name, value in {
        "merge.ff": "false",
        "branch.main.mergeOptions": "--no-ff --squash -s ours",
        "merge.autoStash": "true",
        "merge.verifySignatures": "true",
        "core.hooksPath": ".git/myhooks",
        "core.quotePath": "true",
        "submodule.recurse": "true",
        "fetch.prune": "true",
    }.items():
        repo.git("config", name, value)
    repo.write("clusters/a/cluster.yaml", "edited\n")
    base = repo.tip()
    assert commit(repo) == Committed(repo.tip())
    assert repo.tip("HEAD~1") == base
    assert repo.status() == [" M clusters/a/cluster.yaml"]
    assert repo.git("stash", "list") == ""


@pytest.mark.parametrize("bare_repository", [False, True])
def test_runs_no_hooks(repo: Repo, bare: Repo, bare_repository: bool) -> None:
    where = bare if bare_repository else repo
    hooks = Path(where.git("rev-parse", "--absolute-git-dir")) / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "pre-merge-commit",
        "post-merge",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
    ):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{where.path}'/ran-{name}\nexit 1\n")
        (hooks / name).chmod(0o755)
    assert isinstance(commit(where), Committed)
    assert not list(where.path.glob("ran-*"))


def test_a_hooks_index_is_left_alone(repo: Repo) -> None:
    """In a pre-commit hook git points GIT_INDEX_FILE at the index of the commit in the making."""
    hook = repo.with_environ(GIT_INDEX_FILE=".git/index", GIT_DIR=".git", GIT_PREFIX="")
    other = repo.with_environ(GIT_INDEX_FILE=str(repo.path / ".git/next-index-1.lock"))
    assert commit(hook) == Committed(repo.tip())
    assert commit(other, {"derived/z.yaml": "z\n"}) == Committed(repo.tip())
    assert repo.status() == []
    assert not (repo.path / ".git/next-index-1.lock").exists()


def test_commits_to_a_shallow_clone(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"z.yaml": "z\n"})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    shallow = Repo(tmp_path / "shallow", repo.environ)
    assert commit(shallow) == Committed(shallow.tip())
    assert shallow.status() == []
