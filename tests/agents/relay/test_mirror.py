"""The mirror of a hub: what is sent, when, and what a restart knows."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.agents.relay.branch import RelayBranch
from muster.agents.relay.hub_objects import COLLECTIONS, HubCollection, PassedOver
from muster.agents.relay.mirror import HubMirror
from muster.data.agentref import Mandate
from muster.data.snapshot import AgentLimits
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.git.agents.relays import COMMIT, cluster_folder
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from tests.support.git import Repo, new_repository

NOW = parse_time("2026-01-01T00:00:30Z")
PLACES = {one.place: one for one in COLLECTIONS}
LEASES, CLUSTERS, WORKS = PLACES["lease.yaml"], PLACES["cluster.yaml"], PLACES["works/"]


def lease(cluster: str, time: str) -> Tree:
    return {"metadata": {"name": "managed-cluster-lease", "namespace": cluster}, "spec": {"renewTime": time}}


def work(cluster: str, name: str, text: str = "") -> Tree:
    status = {"conditions": [{"type": "Applied", "status": "True", "message": text}]}
    return {"metadata": {"name": name, "namespace": cluster}, "status": status}


@dataclass
class Site:
    """A fleet's repository, and one in which mirrors build their commits."""

    fleet: Repo
    own: Repo

    def mirror(self, clusters: str = "*", limits: AgentLimits | None = None) -> HubMirror:
        """A mirror that has started."""
        repository = open_repository(self.own.path, self.own.environ)
        branch = RelayBranch(repository, "hub", str(self.fleet.path), reports="cluster")
        mirror = HubMirror(branch, Mandate([clusters]), lambda: NOW, limits=limits or AgentLimits())
        mirror.load()
        return mirror

    def files(self) -> set[str]:
        """What the fleet has, without the stamps."""
        listing = self.fleet.git("ls-tree", "-r", "--name-only", "relays/hub", check=False).split()
        return {path[3:] for path in listing if not path.endswith(COMMIT)}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(new_repository(tmp_path / "fleet.git", bare=True), new_repository(tmp_path / "own.git", bare=True))


def complete(mirror: HubMirror, *found: tuple[HubCollection, Tree], less: Collection[HubCollection] = ()) -> None:
    """List every collection, with these objects."""
    keys = {key for collection, body in found if (key := mirror.put(collection, body))}
    for collection in COLLECTIONS:
        if collection not in less:
            mirror.listed(collection, keys)


def test_changes_go_out_as_one_commit_once_everything_was_listed(site: Site) -> None:
    mirror = site.mirror()
    complete(mirror, (LEASES, lease("c1", "1")), (LEASES, lease("c2", "1")), less=[WORKS])
    assert (mirror.is_complete, mirror.step(), site.files()) == (False, 0, set())
    mirror.put(WORKS, work("c2", "web"))
    mirror.listed(WORKS, {("c2", "works/web.yaml")})
    assert (mirror.step(), mirror.step()) == (2, 0)
    assert site.files() == {"c1/lease.yaml", "c2/lease.yaml", "c2/works/web.yaml"}
    assert site.fleet.git("log", "--format=%s", "relays/hub") == "2 clusters"
    stamped = site.fleet.git("show", f"relays/hub:{cluster_folder('c1')}/{COMMIT}")
    assert f"committer hub <relay> {int(NOW.timestamp())} +0000" in stamped
    # Only what differs is sent, and an object that is gone takes its file along.
    mirror.put(LEASES, lease("c1", "1"))
    mirror.put(LEASES, lease("c2", "2"))
    mirror.remove(WORKS, work("c2", "web"))
    mirror.remove(WORKS, work("c2", "never-seen"))
    assert mirror.step() == 1
    assert site.files() == {"c1/lease.yaml", "c2/lease.yaml"}
    mirror.remove(LEASES, lease("c1", "1"))
    assert (mirror.step(), site.files()) == (1, {"c2/lease.yaml"})
    assert site.fleet.git("fsck", "--no-dangling") == ""


def test_a_restart_compares_the_list_with_its_last_commit(site: Site, tmp_path: Path) -> None:
    first = site.mirror()
    complete(first, (LEASES, lease("c1", "1")), (LEASES, lease("c2", "1")), (WORKS, work("c2", "web")))
    first.step()
    again = site.mirror()
    complete(again, (LEASES, lease("c1", "1")), (LEASES, lease("c2", "1")), (WORKS, work("c2", "web")))
    assert again.step() == 0
    # Meanwhile c1 was renewed and the work deleted; and the relay has lost its repository.
    site = Site(site.fleet, new_repository(tmp_path / "fresh.git", bare=True))
    lost = site.mirror()
    complete(lost, (LEASES, lease("c1", "2")), (LEASES, lease("c2", "1")))
    assert (lost.step(), site.files()) == (2, {"c1/lease.yaml", "c2/lease.yaml"})
    narrower = site.mirror("c1")
    complete(narrower, (LEASES, lease("c1", "2")), (LEASES, lease("c2", "1")))
    assert (narrower.step(), site.files()) == (1, {"c1/lease.yaml"})


def test_files_of_an_earlier_use_of_the_name_go(site: Site) -> None:
    site.fleet.commit_to("refs/heads/relays/hub", {f"{cluster_folder('c1')}/reports/dns.yaml": "x\n"})
    mirror = site.mirror()
    complete(mirror, (LEASES, lease("c1", "1")))
    assert (mirror.step(), site.files()) == (1, {"c1/lease.yaml"})


def test_a_repository_that_is_away_gets_everything_later(site: Site, tmp_path: Path) -> None:
    mirror = site.mirror()
    complete(mirror, (LEASES, lease("c1", "1")))
    site.fleet.path.rename(tmp_path / "away")
    with pytest.raises(RepositoryError):
        mirror.step()
    mirror.put(WORKS, work("c1", "web"))
    (tmp_path / "away").rename(site.fleet.path)
    assert (mirror.step(), site.files()) == (1, {"c1/lease.yaml", "c1/works/web.yaml"})


def test_a_server_without_clusters_is_no_hub(site: Site) -> None:
    first = site.mirror()
    complete(first, (LEASES, lease("c1", "1")))
    first.step()
    wrong = site.mirror()
    for collection in COLLECTIONS:
        wrong.listed(collection, (), absent=True)
    with pytest.raises(RepositoryError, match=r"none of managedclusters\.cluster\.open-cluster-management\.io, "):
        wrong.step()
    assert site.files() == {"c1/lease.yaml"}


def test_a_cluster_with_too_much_keeps_its_lease(site: Site) -> None:
    mirror = site.mirror(limits=AgentLimits(max_files=10, max_bytes=2000))
    found = [(WORKS, work("c1", f"w{number}")) for number in range(4)]
    complete(mirror, *found, (LEASES, lease("c1", "1")), (WORKS, work("c2", "large", "x" * 3000)))
    assert mirror.step() == 1
    assert site.files() == {"c1/lease.yaml", "c1/works/w0.yaml", "c1/works/w1.yaml"}
    assert mirror.new_notes() == [
        "c1 is left out, or a part of it: more than 10 files",
        "c2 is left out, or a part of it: more than 2000 bytes",
    ]
    assert mirror.new_notes() == []


def test_what_the_repository_refuses_costs_its_cluster_alone(site: Site) -> None:
    hook = site.fleet.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nread old new ref\n! git grep -q SECRET $new\n")
    hook.chmod(0o755)
    mirror = site.mirror()
    complete(mirror, (LEASES, lease("c1", "1")), (LEASES, lease("c2", "1")), (WORKS, work("c2", "web", "SECRET")))
    assert (mirror.step(), site.files()) == (1, {"c1/lease.yaml"})
    assert [line.split(":")[0] for line in mirror.new_notes()] == ["c2 is left out, or a part of it"]
    assert mirror.step() == 0
    mirror.put(WORKS, work("c2", "web"))
    assert (mirror.step(), site.files()) == (1, {"c1/lease.yaml", "c2/lease.yaml", "c2/works/web.yaml"})


def test_an_object_that_got_credentials_is_removed(site: Site) -> None:
    mirror = site.mirror()
    complete(mirror, (WORKS, work("c1", "web")), (LEASES, lease("c1", "1")))
    mirror.step()
    with pytest.raises(PassedOver, match="credentials"):
        mirror.put(WORKS, work("c1", "web", "-----BEGIN PRIVATE KEY-----"))
    assert (mirror.step(), site.files(), mirror.counts()) == (1, {"c1/lease.yaml"}, {"Lease": 1})
    assert not mirror.has_files(WORKS)
