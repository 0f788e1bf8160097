"""The way: what is printed suffices for a full run over a fleet with this change, and without it nothing happens."""

from datetime import timedelta
from pathlib import Path

import pytest

from muster.features.explain.explain import decided_values
from muster.features.explain.how import Ways, find_ways
from muster.features.whatif.rehearsal import rehearsal
from muster.fleet.assemble import assemble
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.run.settle import settle
from tests.features.explain.test_cause import SOME, WANTED, _snapshot, base
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Content, Repo
from tests.support.living import cluster, lease, placement

TAINTED = cluster("c5", taints="[{key: k, effect: NoSelect}]")


def ways_of(repo: Repo, name: str) -> Ways:
    repository = open_repository(repo.path, repo.environ)
    with rehearsal(repository, repo.tip(), local_agent_refs(repository)) as trial:
        return find_ways(trial, assemble(_snapshot(repo)), SOME, name, NOON, WANTED)


def chosen(repo: Repo) -> bool:
    return decided_values(settle(_snapshot(repo), NOON).last, SOME, "c5") == {"c5": True}


TOLERANT = placement("some", 9) + "  tolerations:\n  - {key: k, operator: Exists}\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ({"apps/some.yaml": placement("some", 2)}, {"numberOfClusters 6": {"apps/some.yaml": placement("some", 6)}}),
        (
            {"apps/some.yaml": placement("some", 9), "clusters/c5/cluster.yaml": TAINTED},
            {
                "remove its taint k:NoSelect": {"clusters/c5/cluster.yaml": cluster("c5")},
                "tolerate k": {"apps/some.yaml": TOLERANT},
            },
        ),
        (
            {"apps/some.yaml": placement("some", 9, region="ap")},
            {"remove predicates": {"apps/some.yaml": placement("some", 9)}},
        ),
        (
            {"apps/some.yaml": placement("some", 9), "clusters/c5/cluster.yaml": cluster("c5", accepted=False)},
            {"accept the cluster": {"clusters/c5/cluster.yaml": cluster("c5")}},
        ),
        (
            {"apps/some.yaml": placement("some", 5, region="eu"), "clusters/c5/cluster.yaml": TAINTED},
            {
                "remove its taint k:NoSelect and numberOfClusters 6": {
                    "clusters/c5/cluster.yaml": cluster("c5"),
                    "apps/some.yaml": placement("some", 6, region="eu"),
                }
            },
        ),
    ],
)
def test_each_way_suffices(tmp_path: Path, before: dict[str, Content], expected: dict[str, dict[str, Content]]) -> None:
    repo = base(tmp_path / "fleet")
    repo.commit(before)
    assert not chosen(repo)
    found = ways_of(repo, "c5")
    assert set(expected) <= set(found.changes)
    assert len(found.changes) == len(expected) or " and " in next(iter(expected))
    for edits in expected.values():
        start = repo.tip()
        repo.commit(edits)
        assert chosen(repo)
        repo.git("reset", "-q", "--hard", start)


def test_waiting(tmp_path: Path) -> None:
    """Three of the clusters before it fall silent."""
    repo = base(tmp_path / "fleet")
    names = [f"c{number}" for number in range(3)]
    repo.commit({"apps/some.yaml": placement("some", 3)})
    repo.commit({f"clusters/{name}/lease.yaml": lease(name, NOON - timedelta(minutes=2)) for name in names})
    assert ways_of(repo, "c5").wait == NOON + timedelta(minutes=3)


def test_as_people_ask(muster: Run, tmp_path: Path) -> None:
    repo = base(tmp_path / "fleet")
    where = ("--how", "--repo", repo.path, "--now", "2026-01-01T12:00:00Z")
    code, out, err = muster("explain", "placement/apps/some", "c5", *where)
    assert (code, err) == (0, "")
    assert out == "Placement/apps/some chooses c5 after one of:\n  numberOfClusters 6\n"
    assert muster("explain", "placement/apps/some", "c0", *where)[1] == "Placement/apps/some chooses c0 already.\n"
    assert "there is no cluster/c9" in muster("explain", "placement/apps/some", "c9", *where)[2]
    code, _, err = muster("explain", "cluster/c1", "c1", *where)
    assert (code, "--how is about one Placement and one cluster" in err) == (2, True)
