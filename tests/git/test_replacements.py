"""Objects hold what their ids say: replacements and grafts of a repository change nothing that muster reads."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.git.repository import is_ancestor, open_repository
from tests.features.pulses.test_walkthrough import cluster, lease
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

BEAT, NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:40Z"
REFUSED = cluster("b").replace("hubAcceptsClient: true", "hubAcceptsClient: false")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"clusters/a/cluster.yaml": cluster("a"), "clusters/a/lease.yaml": lease("a", BEAT)})
    made.commit({"clusters/b/cluster.yaml": REFUSED, "clusters/b/lease.yaml": lease("b", BEAT)})
    return made


def _accepted(repo: Repo) -> str:
    """A commit, not on the branch, in which cluster `b` is accepted."""
    repo.git("switch", "--quiet", "--create", "other", "HEAD~1")
    commit = repo.commit({"clusters/b/cluster.yaml": cluster("b"), "clusters/b/lease.yaml": lease("b", BEAT)})
    repo.git("switch", "--quiet", "main")
    return commit


def _replace_blob(repo: Repo) -> None:
    other = _accepted(repo)
    repo.git("replace", *(repo.tip(f"{commit}:clusters/b/cluster.yaml") for commit in ("main", other)))


def _replace_tree(repo: Repo) -> None:
    other = _accepted(repo)
    repo.git("replace", *(repo.tip(f"{commit}:clusters") for commit in ("main", other)))


def _replace_commit(repo: Repo) -> None:
    repo.git("replace", repo.tip("main"), _accepted(repo))


def _graft(repo: Repo) -> None:
    """The branch has no history."""
    grafts = repo.path / ".git/info/grafts"
    grafts.parent.mkdir(exist_ok=True)
    grafts.write_text(f"{repo.tip('main')}\n")


WAYS = (_replace_blob, _replace_tree, _replace_commit, _graft)


@pytest.mark.parametrize("replace", WAYS)
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_run_reads_the_objects_that_were_committed(
    repo: Repo, muster: Run, replace: Callable[[Repo], None], *, warm: bool
) -> None:
    plain = muster("plan", "--repo", repo.path, "--now", NOW, "-o", "json")[1]
    if warm:
        assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    before = {path.name: path.read_bytes() for path in (repo.path / "derived").rglob("*.yaml")} if warm else {}
    replace(repo)
    code, out, err = muster("plan", "--repo", repo.path, "--now", LATER if warm else NOW, "-o", "json")
    assert (code, err) == (0, "")
    if not warm:
        assert out == plain
    assert muster("reconcile", "--repo", repo.path, "--now", LATER)[0] == 0
    after = {path.name: path.read_bytes() for path in (repo.path / "derived").rglob("*.yaml")}
    assert "HubAcceptedManagedCluster" not in after["b.yaml"].decode()
    assert not warm or after == before


@pytest.mark.parametrize("replace", [_replace_commit, _graft])
def test_history_is_what_commits_say(repo: Repo, replace: Callable[[Repo], None]) -> None:
    first = repo.tip("HEAD~1")
    replace(repo)
    repo.commit({"README.md": "x"})
    for _ in range(12):  # past those that are read one by one
        repo.commit()
    if replace is _graft:  # git itself takes the branch for one without a beginning
        assert first not in repo.git("rev-list", "HEAD").splitlines()
    opened = open_repository(repo.path, repo.environ)
    assert is_ancestor(opened, first, repo.tip())
    assert opened.git.run("rev-list", "HEAD").stderr == ""
