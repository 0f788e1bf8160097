"""What an agent reads of the hub, from a real repository."""

from pathlib import Path

import pytest

from muster.agents.hub.remote import RemoteHub
from muster.agents.hub.view import HubView
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.locations import derived_path
from muster.git.errors import RepositoryError
from tests.support.git import Repo, clone, git_environ, new_repository


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    seed = new_repository(tmp_path / "seed")
    seed.commit({"fleet.yaml": "{apiVersion: muster.dev/v1alpha1, kind: Fleet, metadata: {name: f}}\n"})
    bare = new_repository(tmp_path / "hub.git", bare=True)
    seed.git("push", "--quiet", str(bare.path), "main")
    return bare


def test_the_hub_is_read_where_it_puts_what_is_derived(hub: Repo, tmp_path: Path) -> None:
    person = clone(hub, tmp_path / "person")
    settings = person.show("fleet.yaml").replace("{name: f}", "{name: f}, spec: {derived: {branch: muster/state}}")
    accepted = """\
kind: ManagedCluster
status:
  conditions: [{type: HubAcceptedManagedCluster, status: "True"}]
"""

    def says(branch: str, files: dict[str, str | None]) -> None:
        person.git("switch", "--quiet", branch)
        person.commit(files)
        person.git("push", "--quiet", "origin", branch)

    eyes = RemoteHub(str(hub.path), "main", "edge", git_environ(tmp_path))
    says("main", {"fleet.yaml": settings})
    assert not eyes.look().accepted, "there is no such branch yet"
    person.git("branch", "muster/state")
    says("muster/state", {"derived/managedclusters/edge.yaml": accepted})
    assert eyes.look().accepted
    says("main", {"fleet.yaml": "spec: {derived: {branch: [\n"})
    assert eyes.look().accepted, "a slip takes nobody out of the fleet"
    says("muster/state", {"derived/managedclusters/edge.yaml": accepted.replace("True", "False")})
    assert not eyes.look().accepted
    says("main", {"fleet.yaml": None, "derived/managedclusters/edge.yaml": accepted})
    assert eyes.look().accepted
    eyes.close()


DERIVED = "derived/managedclusters/edge.yaml"


@pytest.mark.parametrize(
    ("path", "text", "seconds"),
    [
        (DERIVED, "metadata: {name: edge}\n", None),
        (DERIVED, "metadata: {name: edge, annotations: {muster.dev/lease-duration-seconds: '10'}}\n", 10),
        (DERIVED, "metadata: {name: edge, annotations: {muster.dev/lease-duration-seconds: '-10'}}\n", None),
        (DERIVED, "metadata: {name: edge, annotations: {muster.dev/lease-duration-seconds: [1]}}\n", None),
        (DERIVED, "metadata: {name: edge}\nstatus: {muster: {leaseDurationSeconds: 240}}\n", 240),
        ("derived/managedclusters/d/edge.yaml", "status: {muster: {leaseDurationSeconds: 90}}\n", 90),
    ],
)
def test_what_the_hub_says_is_read_where_it_moved(hub: Repo, path: str, text: str, seconds: int | None) -> None:
    if "/d/" in path:
        path = derived_path(MANAGED_CLUSTER.id("edge"), 16)
    looking = RemoteHub(str(hub.path), "main", "edge", git_environ(hub.path.parent))
    work = clone(hub, hub.path.parent / "work")
    assert looking.look() == HubView()
    work.commit({path: f"apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n{text}"})
    work.git("push", "--quiet", "origin", "main")
    for _ in range(3):
        assert looking.look() == HubView(lease_seconds=seconds)
    assert looking._fetches == 2
    work.commit({path: "status: ["})
    work.git("push", "--quiet", "origin", "main")
    with pytest.raises(RepositoryError, match="cannot be read"):
        looking.look()
    looking.close()
