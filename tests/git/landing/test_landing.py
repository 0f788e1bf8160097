"""What a commit is built on, and how far the local branch comes along."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from muster.git.errors import RepositoryError
from muster.git.fastimport import build_commit
from muster.git.landing.landing import Landed, find_tips, land, target_branch
from muster.git.repository import Repository, open_repository
from tests.support.git import Repo, clone, new_repository

FILE = "derived/a.yaml"


@pytest.fixture
def origin(tmp_path: Path) -> Repo:
    seed = new_repository(tmp_path / "seed")
    seed.commit({"a.yaml": "a\n", FILE: "old\n"})
    return clone(seed, tmp_path / "origin.git", "--bare")


@pytest.fixture
def here(origin: Repo, tmp_path: Path) -> Repo:
    return clone(origin, tmp_path / "here")


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def pushed_by_others(origin: Repo, tmp_path: Path) -> str:
    rival = clone(origin, tmp_path / "rival")
    made = rival.commit({"theirs.yaml": "x\n"})
    rival.git("push", "--quiet")
    return made


def test_the_tip_that_has_the_other_in_it_is_built_on(origin: Repo, here: Repo, tmp_path: Path) -> None:
    first = here.tip()
    assert find_tips(opened(here), "main", "origin").base == first
    ahead = here.commit({"mine.yaml": "x\n"})
    tips = find_tips(opened(here), "main", "origin")
    assert (tips.base, tips.local, tips.theirs) == (ahead, ahead, first)
    here.git("reset", "--quiet", "--hard", first)
    theirs = pushed_by_others(origin, tmp_path)
    tips = find_tips(opened(here), "main", "origin")
    assert (tips.base, tips.local, tips.theirs) == (theirs, first, theirs)
    assert find_tips(opened(here), "main", None).base == first


def test_two_that_have_diverged_are_a_persons_to_bring_together(origin: Repo, here: Repo, tmp_path: Path) -> None:
    pushed_by_others(origin, tmp_path)
    here.commit({"mine.yaml": "x\n"})
    with pytest.raises(RepositoryError, match="the local main and the remote's have diverged: .* Change$"):
        find_tips(opened(here), "main", "origin")


def derived(repo: Repo) -> str:
    """Commit as muster does, on top of what is there."""
    return repo.commit_run({FILE: f"{repo.tip()}\n"})


def rewritten(origin: Repo, tmp_path: Path, onto: str, files: Mapping[str, str]) -> str:
    """Rewrite the remote's main: what came after `onto` is gone."""
    owner = clone(origin, tmp_path / "owner")
    owner.git("reset", "--quiet", "--hard", onto)
    made = owner.commit(dict(files)) if files else owner.tip()
    owner.git("push", "--quiet", "--force")
    return made


@pytest.mark.parametrize("files", [{"theirs.yaml": "x\n"}, {}], ids=["rewritten", "set back"])
def test_a_remote_that_was_rewritten_is_followed(
    origin: Repo, here: Repo, tmp_path: Path, files: Mapping[str, str]
) -> None:
    """What the remote had is its own to drop, and what muster derived is derived again."""
    first = here.tip()
    here.commit({"dropped.yaml": "x\n"}, "A person's, pushed and dropped by its owner")
    here.git("push", "--quiet")
    left = derived(here)
    here.write("mine.yaml", "edited\n")
    theirs = rewritten(origin, tmp_path, first, files)
    for _ in range(2):  # also where the first attempt did not land
        tips = find_tips(opened(here), "main", "origin")
        assert (tips.base, tips.local, tips.theirs) == (theirs, left, theirs)
    commit = build_commit(opened(here), {FILE: "new\n"}, "Derive", tips.base)
    landed = land(opened(here), tips, commit)
    assert landed == Landed(commit, pushed=True, followed=tips.followed)
    assert f"origin's main was rewritten and is followed: the local one was at {left[:12]}" == tips.followed
    assert origin.tip("main") == here.tip() == commit
    assert here.status() == ["?? mine.yaml"]
    assert not (here.path / "dropped.yaml").exists()
    assert here.tip("refs/muster/rewritten/main") == here.tip(f"{left}~1")
    assert find_tips(opened(here), "main", "origin").followed == ""


@pytest.mark.parametrize("forged", [False, True])
def test_what_only_a_person_has_is_not_left_for_a_rewritten_remote(
    origin: Repo, here: Repo, tmp_path: Path, forged: bool
) -> None:
    """Also where a commit says that it is muster's, and changes more than muster does."""
    first = here.tip()
    here.commit({"a.yaml": "pushed\n"})
    here.git("push", "--quiet")
    mine = here.commit_run({"mine.yaml": "x\n"}) if forged else here.commit({"mine.yaml": "x\n"})
    derived(here)
    rewritten(origin, tmp_path, first, {"theirs.yaml": "x\n"})
    with pytest.raises(RepositoryError, match=f"only the local one has {mine[:12]} {'Run' if forged else 'Change'}$"):
        find_tips(opened(here), "main", "origin")


def test_two_runs_that_derived_at_one_time_are_brought_together(origin: Repo, here: Repo, tmp_path: Path) -> None:
    """One could not push in time: what it derived is derived again on the other's."""
    other = clone(origin, tmp_path / "other")
    derived(here)
    other.commit({"theirs.yaml": "x\n"})
    other.git("push", "--quiet")
    assert find_tips(opened(here), "main", "origin").base == other.tip()


def test_there_must_be_a_branch(here: Repo) -> None:
    with pytest.raises(RepositoryError, match="there is no branch 'odd'"):
        find_tips(opened(here), "odd", None)
    here.git("checkout", "--quiet", "--detach")
    with pytest.raises(RepositoryError, match="HEAD is detached"):
        target_branch(opened(here))


def test_what_is_pushed_is_here_too(origin: Repo, here: Repo) -> None:
    tips = find_tips(opened(here), "main", "origin")
    commit = build_commit(opened(here), {FILE: "new\n"}, "x", tips.base)
    assert land(opened(here), tips, commit) == Landed(commit, pushed=True)
    assert origin.tip("main") == here.tip("main") == commit
    assert (here.path / FILE).read_text() == "new\n"


def test_a_persons_edit_keeps_the_local_branch_behind_what_is_pushed(origin: Repo, here: Repo) -> None:
    before = here.tip()
    here.write(FILE, "mine\n")
    tips = find_tips(opened(here), "main", "origin")
    commit = build_commit(opened(here), {FILE: "new\n"}, "x", tips.base)
    landed = land(opened(here), tips, commit)
    assert landed is not None
    assert (landed.local, landed.pushed) == (before, True)
    assert FILE in landed.left_behind
    assert (origin.tip("main"), here.tip("main")) == (commit, before)
    assert (here.path / FILE).read_text() == "mine\n"
    with pytest.raises(RepositoryError, match=FILE):
        land(opened(here), find_tips(opened(here), "main", None), commit)


def test_whoever_was_slower_begins_again(origin: Repo, here: Repo, tmp_path: Path) -> None:
    tips = find_tips(opened(here), "main", "origin")
    commit = build_commit(opened(here), {FILE: "new\n"}, "x", tips.base)
    theirs = pushed_by_others(origin, tmp_path)
    assert land(opened(here), tips, commit) is None
    alone = find_tips(opened(here), "main", None)
    here.commit({"mine.yaml": "x\n"})
    assert land(opened(here), alone, commit) is None
    assert origin.tip("main") == theirs


def test_where_there_is_nothing_to_commit_what_is_ahead_is_pushed(origin: Repo, here: Repo) -> None:
    ahead = here.commit({"mine.yaml": "x\n"})
    tips = find_tips(opened(here), "main", "origin")
    assert land(opened(here), tips, tips.base) == Landed(ahead, pushed=True)
    assert origin.tip("main") == ahead
    assert land(opened(here), find_tips(opened(here), "main", "origin"), ahead) == Landed(ahead)
    assert land(opened(here), find_tips(opened(here), "main", None), ahead) == Landed(ahead)
