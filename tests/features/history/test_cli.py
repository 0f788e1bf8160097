"""history: what became of an object, over real commits."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from muster.data.times import format_time
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Repo, new_repository
from tests.support.living import cluster, lease, observed

SHARDED = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {derived: {shards: 256}}\n"


@pytest.fixture
def fleet(tmp_path: Path, muster: Run) -> Repo:
    """A cluster that was available for an hour, silent for two, and is back."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a/cluster.yaml": cluster("a"), "a/lease.yaml": lease("a", NOON), "a/seen.yaml": observed("a")})
    for hours in (0, 1, 3):
        now = NOON + timedelta(hours=hours)
        if hours == 3:
            repo.commit({"a/lease.yaml": lease("a", now)})
        assert muster("reconcile", "--repo", repo.path, "--now", format_time(now))[0] == 0
    return repo


def test_transitions_with_their_commits_and_times(muster: Run, fleet: Repo) -> None:
    code, out, _ = muster("history", "cluster/a", "--repo", fleet.path, "--now", "2026-01-01T16:00:00Z")
    assert code == 0
    lines = out.splitlines()
    commits = fleet.git("log", "--reverse", "--format=%h", "--abbrev=7").split()
    source = commits[1]
    assert (
        f"2026-01-01T13:00:00Z  {commits[2]}  condition ManagedClusterConditionAvailable True -> Unknown "
        f"(ManagedClusterLeaseUpdateStopped), from {source}" in lines
    )
    assert [line[:20] for line in lines if "ConditionAvailable" in line] == [
        "2026-01-01T12:00:00Z",
        "2026-01-01T13:00:00Z",
        "2026-01-01T15:00:00Z",
        "ManagedClusterCondit",
    ]
    assert lines[-1] == (
        "ManagedClusterConditionAvailable since 2026-01-01T12:00:00Z: True 2h (50.00 %), Unknown 2h (50.00 %)"
    )


def test_a_window_begins_in_the_state_that_was(muster: Run, fleet: Repo) -> None:
    asked = ("history", "cluster/a", "--repo", fleet.path, "--now", "2026-01-01T15:30:00Z", "--since", "90m")
    found = json.loads(muster(*asked, "-o", "json")[1])
    assert found["stays"] == [
        {"status": "Unknown", "since": "2026-01-01T14:00:00Z", "until": "2026-01-01T15:00:00Z"},
        {"status": "True", "since": "2026-01-01T15:00:00Z", "until": "2026-01-01T15:30:00Z"},
    ]
    assert found["availability"] == pytest.approx(1 / 3)
    assert {one["at"] for one in found["transitions"]} == {"2026-01-01T15:00:00Z"}


def test_it_follows_the_file_into_its_shard_and_out_of_the_fleet(muster: Run, fleet: Repo) -> None:
    fleet.commit({"fleet.yaml": SHARDED})
    muster("reconcile", "--repo", fleet.path, "--now", "2026-01-01T15:01:00Z")
    fleet.git("rm", "-rq", "a")
    fleet.git("commit", "-qm", "It goes")
    muster("reconcile", "--repo", fleet.path, "--now", "2026-01-01T15:02:00Z")
    _, out, _ = muster("history", "cluster/a", "--repo", fleet.path, "--now", "2026-01-01T16:00:00Z")
    lines = out.splitlines()
    assert not [line for line in lines if line.startswith("2026-01-01T15:01:00Z")], "a rename is no transition"
    assert [line[:20] for line in lines if "  removed, by" in line or "  removed, from" in line] == [
        "2026-01-01T15:02:00Z"
    ]
    assert "True 1h2m" in lines[-1]


def test_of_what_never_was(muster: Run, fleet: Repo) -> None:
    code, out, err = muster("history", "cluster/b", "--repo", fleet.path, "--now", "2026-01-01T16:00:00Z")
    assert (code, out, "no commit until 2026-01-01T16:00:00Z derives cluster/b" in err) == (2, "", True)
    lately = ("--since", "10m", "--repo", fleet.path, "--now", "2026-01-01T16:00:00Z")
    assert muster("history", "cluster/a", *lately)[1].startswith("nothing changed since 2026-01-01T15:50:00Z\n")
    assert muster("history", "claim/x", "--repo", fleet.path)[0] == 2
    assert muster("history", "cluster", "--repo", fleet.path)[0] == 2


def test_a_shallow_clone_does_not_take_its_first_commit_for_news(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    fleet.git("clone", "--quiet", "--depth", "1", fleet.path.as_uri(), str(tmp_path / "clone"))
    code, out, _ = muster("history", "cluster/a", "--repo", tmp_path / "clone", "--now", "2026-01-01T16:00:00Z")
    assert code == 0
    assert out == (
        "this clone has no history from before 2026-01-01T00:00:00Z: fetch more of it to see more\n"
        "nothing changed since 2025-12-02T16:00:00Z\n"
        "ManagedClusterConditionAvailable since 2026-01-01T00:00:00Z: True 16h (100.00 %)\n"
    ), "of the first commit, whose parent is not here, only its date is known"


def test_what_people_edit_is_told_with_both_values(muster: Run, fleet: Repo) -> None:
    """A label and the set, by who changed them; what an agent reports in another file is no edit."""
    prod = "region: de, cluster.open-cluster-management.io/clusterset: prod"
    fleet.commit({"a/cluster.yaml": cluster("a", region="de").replace("region: de", prod)}, message="Move it")
    fleet.commit({"a/seen.yaml": observed("a", cpu=4)})
    assert muster("reconcile", "--repo", fleet.path, "--now", "2026-01-01T15:01:00Z")[0] == 0
    lines = muster("history", "cluster/a", "--repo", fleet.path, "--now", "2099-01-01T00:00:00Z", "--since", "90000d")[
        1
    ]
    told = [line.partition("  ")[2].partition("  ")[2] for line in lines.splitlines()]
    edits = [line for line in told if line.startswith(("label", "set", "edited"))]
    assert [line.partition(", by ")[0] for line in edits] == ["label region eu -> de", "set default -> prod"]
    assert not [line for line in edits if ", by " not in line]


PLACED = """
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: apps}
spec: {clusterSet: global}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: apps}
spec: {clusterSets: [global]}
"""


def test_the_clusters_that_joined_and_left_a_placement(muster: Run, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    names = [f"c{number:03}" for number in range(103)]
    files = {f"{name}.yaml": "---\n".join((cluster(name), lease(name, NOON), observed(name))) for name in names}
    repo.commit({"placed.yaml": PLACED, **{f"{name}.yaml": files[f"{name}.yaml"] for name in names[:2]}})
    denied = files["c000.yaml"].replace("hubAcceptsClient: true", "hubAcceptsClient: false")
    steps: list[dict[str, str]] = [{}, files, {"c000.yaml": denied}]
    for minute, step in enumerate(steps):
        repo.commit(step)
        now = format_time(NOON + timedelta(minutes=minute))
        assert muster("reconcile", "--repo", repo.path, "--now", now)[0] == 0
    asked = ("history", "placement/apps/web", "--repo", repo.path, "--now", "2026-01-01T13:00:00Z")
    _, out, _ = muster(*asked)
    told = [(line[11:16], line[31:].partition(", from")[0]) for line in out.splitlines()]
    assert [one for one in told if " joined" in one[1] or " left " in one[1]] == [
        ("12:00", "cluster c000 joined placement apps/web"),
        ("12:00", "cluster c001 joined placement apps/web"),
        ("12:01", "101 clusters joined: c002, c003, c004, c005, c006 and 96 more"),
        ("12:02", "cluster c000 left placement apps/web"),
    ]
    assert "decisionGroups" not in out
    document = json.loads(muster(*asked, "-o", "json")[1])
    assert sum(one["field"] == "cluster c050" for one in document["transitions"]) == 1
