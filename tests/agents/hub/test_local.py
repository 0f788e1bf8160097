"""What a relay knows of the hub: of each cluster as the branch has it, read anew where it is another."""

from pathlib import Path

import pytest

from muster.agents.hub import local
from muster.agents.hub.local import LocalHub
from muster.agents.hub.view import HubView
from muster.git.repository import open_repository
from muster.git.store.objects import Objects
from muster.git.store.paths import MAX_BLOB_BYTES
from tests.support.git import Repo, new_repository

_ACCEPTED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {name}}}
status:
  muster: {{leaseDurationSeconds: {seconds}}}
  conditions:
  - {{type: HubAcceptedManagedCluster, status: "True", reason: HubClusterAdminAccepted, message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z"}}
"""


def _derived(name: str, seconds: int) -> dict[str, str]:
    return {f"derived/managedclusters/{name}.yaml": _ACCEPTED.format(name=name, seconds=seconds)}


def _seconds(copy: LocalHub, *names: str) -> list[int | None]:
    return [copy.view(name).lease_seconds for name in names]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "hub")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of git."""
    names, read = list[str](), Objects.read

    def noted(self: Objects, some: list[str], max_bytes: int = MAX_BLOB_BYTES) -> object:
        names.extend(name.partition(":")[2] for name in some)
        return read(self, some, max_bytes)

    monkeypatch.setattr(Objects, "read", noted)
    return names


def test_only_what_is_another_is_read_anew(repo: Repo, asked: list[str]) -> None:
    repo.commit(_derived("a", 30) | _derived("b", 30))
    copy = LocalHub(open_repository(repo.path, repo.environ), "main")
    assert copy.view("a") == HubView(), "nothing is known before it looked"
    copy.refresh()
    assert _seconds(copy, "a", "b", "a") == [30, 30, 30]
    for content, seconds, read in (
        ({"notes.txt": "x"}, [30, 30], set[str]()),
        (_derived("b", 40), [30, 40], {"b"}),
        (_derived("a", 50), [50, 40], {"a"}),
    ):
        repo.commit(content)
        copy.refresh()
        asked.clear()
        assert _seconds(copy, "a", "b") == seconds
        assert {name for name in ("a", "b") if f"derived/managedclusters/{name}.yaml" in asked} == read


def test_a_cluster_comes_and_goes(repo: Repo) -> None:
    repo.commit(_derived("a", 30))
    copy = LocalHub(open_repository(repo.path, repo.environ), "main")
    copy.refresh()
    assert not copy.view("b").accepted
    repo.commit(_derived("b", 30))
    copy.refresh()
    assert copy.view("b").accepted
    (repo.path / "derived/managedclusters/b.yaml").unlink()
    repo.commit()
    copy.refresh()
    assert copy.view("b") == HubView()


@pytest.mark.parametrize("how", ["much has changed", "history was rewritten"])
def test_where_that_is_not_to_be_told_everything_is(repo: Repo, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(_derived("a", 30))
    copy = LocalHub(open_repository(repo.path, repo.environ), "main")
    copy.refresh()
    assert _seconds(copy, "a") == [30]
    if how == "much has changed":
        monkeypatch.setattr(local, "_MOST_CHANGES", 0)
        repo.commit(_derived("a", 40))
    else:
        repo.git("update-ref", "-d", "refs/heads/main")
        copy.refresh()
        assert copy.view("a") == HubView()
        repo.commit(_derived("a", 40))
    copy.refresh()
    assert _seconds(copy, "a") == [40]


_APART = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {derived: {branch: muster/state}}
"""


def test_it_reads_the_branch_that_has_what_is_derived(repo: Repo) -> None:
    repo.commit({"fleet.yaml": _APART, **_derived("a", 30)})
    copy = LocalHub(open_repository(repo.path, repo.environ), "main")
    copy.refresh()
    assert _seconds(copy, "a") == [30], "what that branch begins with"
    repo.commit_to("refs/heads/muster/state", _derived("a", 40))
    copy.refresh()
    assert _seconds(copy, "a") == [40]
    repo.commit({"fleet.yaml": "spec: {derived: {branch: [\n"})
    copy.refresh()
    assert _seconds(copy, "a") == [40], "a slip takes nobody out of the fleet"
    repo.commit_to("refs/heads/muster/state", _derived("a", 50))
    copy.refresh()
    assert _seconds(copy, "a") == [50]
    repo.commit({"fleet.yaml": None, **_derived("a", 60)})
    copy.refresh()
    assert _seconds(copy, "a") == [60]
