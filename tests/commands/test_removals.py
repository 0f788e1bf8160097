"""Many clusters removed at once, by the command line: what the hook, plan and reconcile say, and what lets them go."""

from pathlib import Path

import pytest

from tests.commands.conftest import Run
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T00:00:00Z"
NAMES = [f"c{number:02}" for number in range(12)]
SIX = ", ".join(NAMES[:6])
HELD = f"{SIX} stay: 6 of 12 clusters are declared no more, budget 'default' lets 2 be removed at once"


def cluster(name: str) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: {name}}}\nspec: {{hubAcceptsClient: true}}\n"
    )


@pytest.fixture
def repo(tmp_path: Path, muster: Run) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({f"clusters/{name}/cluster.yaml": cluster(name) for name in NAMES})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    return repo


def delete(repo: Repo, *names: str, message: str = "Remove") -> None:
    for name in names:
        repo.git("rm", "--quiet", f"clusters/{name}/cluster.yaml")
    repo.git("commit", "--quiet", "--allow-empty", "--message", message)


def derived(repo: Repo) -> int:
    return repo.git("ls-files", "derived/managedclusters").count("\n") + 1


def test_a_bad_merge_is_held_by_every_command(repo: Repo, muster: Run) -> None:
    for name in NAMES[:6]:
        repo.git("rm", "--quiet", f"clusters/{name}/cluster.yaml")
    code, out, _ = muster("validate", "--staged", "--touched", "--repo", repo.path)
    assert (code, HELD in out) == (0, True), "the hook warns: the message, which may allow it, comes later"
    assert "Muster-Allow-Removal: 6" in out
    repo.git("commit", "--quiet", "--message", "A bad merge")
    code, out, err = muster("plan", "--repo", repo.path, "--now", NOW)
    assert (code, HELD in err) == (0, True)
    assert f"  removal: {', '.join(NAMES[:6])}\n" in out
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, HELD in err, derived(repo)) == (0, True, 12)
    assert out.splitlines()[0].partition(" ")[2].startswith("6 clusters kept from removal")
    assert f"held: ManagedCluster/{NAMES[5]}: removal: 6 of 12 clusters" in repo.git("log", "-1", "--format=%B")
    code, out, _ = muster("get", "clusters", "--repo", repo.path, "--now", NOW)
    assert out.splitlines()[1].endswith("removal")
    assert "6 effects are held: 6 of 12 clusters are declared no more" in out
    code, out, _ = muster("get", "Fleet", "--repo", repo.path, "--now", NOW)
    assert out.splitlines()[0].split()[-2:] == ["HELD", "REASON"]
    assert "True" in out
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[1].startswith("nothing to do"), "and it rests"


@pytest.mark.parametrize(("words", "left"), [
    ("Muster-Allow-Removal: 6", 6), ("Muster-Allow-Removal: 6 eu-west is closed", 6), ("Muster-Allow-Removal: all", 6),
    ("Reviewed-by: Ada <a@b>\nMuster-Allow-Removal: 4", 6), ("Muster-Allow-Removal: 3", 12),
    ("Muster-Allow-Removal: six", 12), ("Not a trailer\nof course, Muster-Allow-Removal: 6\n\nbut text", 12),
])  # fmt: skip
def test_the_commit_that_removes_them_says_how_many(words: str, left: int, repo: Repo, muster: Run) -> None:
    delete(repo, *NAMES[:6], message=f"Close eu-west\n\n{words}")
    code, _, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, derived(repo)) == (0, left), err
    assert ("MUS421" in err) == ("six" in words)


def test_another_commit_may_allow_it_afterwards(repo: Repo, muster: Run) -> None:
    delete(repo, *NAMES[:6])
    muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert derived(repo) == 12
    delete(repo, message="They are meant to go\n\nMuster-Allow-Removal: 6")
    muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert derived(repo) == 6
    delete(repo, *NAMES[6:])
    muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert derived(repo) == 6, "what was allowed once is not allowed for good"


def test_several_commits_between_two_runs_count_together(repo: Repo, muster: Run) -> None:
    for name in NAMES[:6]:
        delete(repo, name)
    muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert derived(repo) == 12
    delete(repo, message="Some of them\n\nMuster-Allow-Removal: 2")
    delete(repo, message="And the rest\n\nMuster-Allow-Removal: 2")
    muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert derived(repo) == 6, "two may always go"


def test_a_few_at_a_time_may_go_in_every_run(repo: Repo, muster: Run) -> None:
    for first in (0, 2, 4):
        delete(repo, *NAMES[first : first + 2])
        assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    assert derived(repo) == 6


def test_in_a_shallow_clone_the_last_commit_may_still_allow_it(repo: Repo, muster: Run, tmp_path: Path) -> None:
    delete(repo, *NAMES[:6], message="Close eu-west\n\nMuster-Allow-Removal: 6")
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(tmp_path / "shallow"))
    code, out, err = muster("reconcile", "--repo", tmp_path / "shallow", "--now", NOW)
    assert (code, "6 clusters removed" in out) == (0, True), err


def test_what_agents_asked_for_does_not_declare_what_people_removed(repo: Repo, muster: Run) -> None:
    for name in NAMES[:6]:
        repo.commit_to(f"refs/heads/agents/{name}", {"cluster.yaml": cluster(name).replace("true", "false")})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    delete(repo, *NAMES[:6])
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, HELD in err, "denied" in out) == (0, True, False), f"{out}{err}"
