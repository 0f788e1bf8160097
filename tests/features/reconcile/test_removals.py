"""Many clusters removed at once, by the command line: what the hook, plan and reconcile say, and what lets them go."""

from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T00:00:00Z"
NAMES = [f"c{number:02}" for number in range(12)]
SIX = ", ".join(NAMES[:6])
HELD = f"{SIX} stay: 6 of 12 clusters are no longer declared, budget 'default' lets 2 be removed at once"


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
    assert f"Muster-Allow-Removal: {SIX}`" in out
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
    assert "6 effects are held: 6 of 12 clusters are no longer declared" in out
    code, out, _ = muster("get", "Fleet", "--repo", repo.path, "--now", NOW)
    assert out.splitlines()[0].split()[-2:] == ["HELD", "REASON"]
    assert "True" in out
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[1].startswith("nothing to do"), "and it rests"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (f"Muster-Allow-Removal: {SIX}", 6),
        (f"Muster-Allow-Removal: {SIX} as eu-west is closed", 6),
        ("Reviewed-by: Ada <a@b>\nMuster-Allow-Removal: c00,c01\nMuster-Allow-Removal: c02 c03", 6),
        ("Muster-Allow-Removal: c00, c01, c02", 9),
        ("Muster-Allow-Removal: 6", 12),
        ("Muster-Allow-Removal: all", 12),
        ("Muster-Allow-Removal: c06, c07", 12),
        (f"Not a trailer\nof course, Muster-Allow-Removal: {SIX}\n\nbut text", 12),
    ],
)
def test_the_commit_that_removes_them_names_them(words: str, left: int, repo: Repo, muster: Run) -> None:
    delete(repo, *NAMES[:6], message=f"Close eu-west\n\n{words}")
    code, _, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, derived(repo)) == (0, left), err
    assert ("MUS421" in err) == (words[-1] in "6l7"), "a number, all, others' names"


@pytest.mark.parametrize("runs_between", [False, True])
def test_what_a_commit_allows_counts_for_no_other(runs_between: bool, repo: Repo, muster: Run) -> None:
    """Whether it stands in an earlier commit, that a bad merge follows, or in a later one, planted after the hold."""
    delete(repo, message=f"A typo\n\nMuster-Allow-Removal: {SIX}")
    if runs_between:
        muster("reconcile", "--repo", repo.path, "--now", NOW)
    delete(repo, *NAMES[:6])
    if runs_between:
        muster("reconcile", "--repo", repo.path, "--now", NOW)
    delete(repo, message=f"Another typo\n\nMuster-Allow-Removal: {SIX}")
    code, _, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, derived(repo), "MUS421" in err) == (0, 12, True), err


def test_it_is_used_once(repo: Repo, muster: Run) -> None:
    """Also where what was allowed was taken back before any run, and happens again by mistake."""
    delete(repo, *NAMES[:6], message=f"Close eu-west\n\nMuster-Allow-Removal: {SIX}")
    repo.git("revert", "--no-edit", "HEAD")
    delete(repo, *NAMES[:6], message="A bad merge")
    code, _, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, derived(repo), HELD in err) == (0, 12, True)


def test_several_commits_between_two_runs_count_each_for_its_own(repo: Repo, muster: Run) -> None:
    for name in NAMES[:4]:
        delete(repo, name, message=f"Remove {name}\n\nMuster-Allow-Removal: {name}")
    delete(repo, *NAMES[4:6])
    muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert derived(repo) == 6, "two may always go"


def test_a_few_at_a_time_may_go_in_every_run(repo: Repo, muster: Run) -> None:
    for first in (0, 2, 4):
        delete(repo, *NAMES[first : first + 2])
        assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    assert derived(repo) == 6


@pytest.mark.parametrize(("depth", "left"), [(1, 12), (2, 6)])
def test_in_a_shallow_clone_it_counts_where_what_it_removes_is_known(
    depth: int, left: int, repo: Repo, muster: Run, tmp_path: Path
) -> None:
    delete(repo, *NAMES[:6], message=f"Close eu-west\n\nMuster-Allow-Removal: {SIX}")
    repo.git("clone", "--quiet", "--depth", str(depth), f"file://{repo.path}", str(tmp_path / "shallow"))
    shallow = Repo(tmp_path / "shallow", repo.environ)
    code, _, err = muster("reconcile", "--repo", shallow.path, "--now", NOW)
    assert (code, derived(shallow)) == (0, left), err


def test_what_agents_asked_for_does_not_declare_what_people_removed(repo: Repo, muster: Run) -> None:
    for name in NAMES[:6]:
        repo.commit_to(f"refs/heads/agents/{name}", {"cluster.yaml": cluster(name).replace("true", "false")})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    delete(repo, *NAMES[:6])
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, HELD in err, "denied" in out) == (0, True, False), f"{out}{err}"
