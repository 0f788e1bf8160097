"""Commits that look like runs take no finding away, stop no run and remove nothing, without signatures."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.cli import exits
from tests.features.pulses.test_walkthrough import Muster, cluster, fleet, muster
from tests.features.reconcile.test_vanished import REMEDY
from tests.support.git import Repo

__all__ = ["muster"]

FIRST, LATER, LAST = "2026-01-01T00:00:30Z", "2026-01-01T00:00:40Z", "2026-01-01T00:00:50Z"
DERIVED = "derived/managedclusters/a.yaml"
CLUSTER = "clusters/a/cluster.yaml"


@pytest.fixture
def repo(tmp_path: Path, muster: Muster) -> Repo:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z", b="2026-01-01T00:00:00Z")
    repo.commit({"remedies/later.yaml": REMEDY.replace("dns-down", "later").replace("DnsReady", "Never")})
    assert muster(repo, "reconcile", "--now", FIRST)[0] == exits.FINE
    return repo


def edited(repo: Repo) -> dict[str, str]:
    return {DERIVED: f"{repo.show(DERIVED)}\n# a comment\n"}


def forged(repo: Repo) -> None:
    repo.commit_run(edited(repo), now=LATER)


def twice(repo: Repo) -> None:
    forged(repo)
    forged(repo)


def undone(repo: Repo) -> None:
    before = {DERIVED: f"{repo.show(DERIVED)}\n"}
    forged(repo)
    repo.commit_run(before, now=LATER)


def reverted(repo: Repo) -> None:
    forged(repo)
    repo.git("revert", "--no-edit", "HEAD")


def naming_itself_whole(repo: Repo) -> None:
    repo.commit_run(edited(repo), now=LATER, more=f"\nMuster-Whole: {repo.tip()}")


def empty(repo: Repo) -> None:
    repo.commit_run({}, now=LATER)


def merged(repo: Repo) -> None:
    repo.git("switch", "--quiet", "--create", "topic")
    twice(repo)
    repo.git("switch", "--quiet", "main")
    repo.commit({"notes.txt": "x"})
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")


FORGERIES = (forged, twice, undone, reverted, naming_itself_whole, empty, merged)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.parametrize("text", ["", "metadata: {{\n"], ids=["emptied", "broken"])
@pytest.mark.parametrize("path", [CLUSTER, "remedies/later.yaml"])
def test_no_lost_object_is_hidden(
    forge: Callable[[Repo], None], text: str, path: str, repo: Repo, muster: Muster
) -> None:
    """A file that lost its object, and a commit that claims that a run has read it so."""
    repo.commit({path: text})
    assert muster(repo, "plan", "--now", LAST)[0] == exits.FINDINGS
    forge(repo)
    code, _, err = muster(repo, "reconcile", "--now", LAST)
    assert (code, "MUS110" in err or "MUS001" in err, path in err) == (exits.FINDINGS, True, True), err
    assert path != CLUSTER or "conditions" in repo.show(DERIVED), "it stays"


def test_a_file_whose_object_moved_before_has_lost_nothing(repo: Repo, muster: Muster) -> None:
    """It may be removed from where it went, after a run, although an empty file still stands where it was."""
    repo.commit(
        {CLUSTER: "# moved\n", "clusters/elsewhere.yaml": repo.show(CLUSTER), "clusters/c/cluster.yaml": cluster("c")}
    )
    assert muster(repo, "reconcile", "--now", LATER)[0] == exits.FINE
    repo.commit({"notes.txt": "x"})
    repo.git("rm", "--quiet", "clusters/elsewhere.yaml")
    repo.commit({})
    code, out, err = muster(repo, "reconcile", "--now", LAST)
    assert (code, "a removed" in out) == (exits.FINE, True), out + err
    assert "MUS110" not in muster(repo, "plan", "--now", LAST)[2]


def test_no_permission_is_hidden(repo: Repo, muster: Muster) -> None:
    """A person's commit removes more than the budget lets go, and names them; then comes one that looks like a run."""
    names = [f"m{number}" for number in range(8)]
    repo.commit({f"clusters/{name}/cluster.yaml": cluster(name) for name in names})
    assert muster(repo, "reconcile", "--now", LATER)[0] == exits.FINE
    repo.git("rm", "--quiet", "-r", *(f"clusters/{name}" for name in names))
    repo.commit({}, f"Leave\n\nMuster-Allow-Removal: {', '.join(names)}")
    forged(repo)
    code, out, err = muster(repo, "reconcile", "--now", LAST)
    assert (code, "MUS420" in err, "removed" in out) == (exits.FINE, False, True), out + err
