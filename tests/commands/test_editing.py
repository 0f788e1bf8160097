"""accept, deny and taint: one field, one commit, every comment where it was."""

from pathlib import Path

import pytest

from tests.commands.conftest import Run
from tests.support.git import Repo, new_repository

CLUSTER = """\
# The cluster in the cellar.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}   # short for "alpha"
spec:
  hubAcceptsClient: false  # until the cellar is dry
  taints:
  # its disks are slow
  - {key: example.com/slow, effect: PreferNoSelect}
---
# Its neighbour, in the same file.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: b
spec:
  leaseDurationSeconds: 90
"""
PROPOSAL = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: edge, labels: {region: eu}}
spec: {hubAcceptsClient: false, leaseDurationSeconds: 120}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/ab.yaml": CLUSTER})
    return repo


def changed_lines(repo: Repo) -> list[str]:
    """What the last commit removed and added, without its headers."""
    lines = repo.git("show", "--format=", "-U0", "HEAD").splitlines()
    return [line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---"))]


def test_accept_changes_one_field_of_each_and_commits_once(fleet: Repo, muster: Run) -> None:
    before = fleet.git("rev-parse", "HEAD")
    code, out, _ = muster("accept", "--repo", fleet.path, "--clusters", "a,b")
    assert code == 0
    assert "ManagedCluster/a: accepted in clusters/ab.yaml" in out
    assert fleet.git("rev-parse", "HEAD^") == before
    assert fleet.git("log", "-1", "--format=%s") == "Accept a, b"
    assert changed_lines(fleet) == [
        "-  hubAcceptsClient: false  # until the cellar is dry",
        "+  hubAcceptsClient: true  # until the cellar is dry",
        "+  hubAcceptsClient: true",
    ]
    assert fleet.git("status", "--porcelain") == ""


def test_accepting_again_does_nothing(fleet: Repo, muster: Run) -> None:
    muster("accept", "--repo", fleet.path, "--clusters", "a")
    before = fleet.git("rev-parse", "HEAD")
    assert muster("accept", "--repo", fleet.path, "--clusters", "a") == (0, "nothing to do\n", "")
    assert fleet.git("rev-parse", "HEAD") == before


def test_deny_takes_it_back(fleet: Repo, muster: Run) -> None:
    muster("accept", "--repo", fleet.path, "--clusters", "a", "--clusters", "b")
    code, _, _ = muster("deny", "--repo", fleet.path, "--clusters", "a")
    assert code == 0
    assert changed_lines(fleet) == [
        "-  hubAcceptsClient: true  # until the cellar is dry",
        "+  hubAcceptsClient: false  # until the cellar is dry",
    ]


def test_a_cluster_of_which_only_its_agent_spoke_gets_a_file_with_what_it_proposed(fleet: Repo, muster: Run) -> None:
    main = fleet.git("rev-parse", "HEAD")
    fleet.git("checkout", "--quiet", "--orphan", "agents/edge")
    fleet.git("rm", "-rfq", ".")
    fleet.commit({"cluster.yaml": PROPOSAL})
    fleet.git("checkout", "--quiet", "main")
    assert fleet.git("rev-parse", "HEAD") == main
    code, out, err = muster("accept", "--repo", fleet.path, "--clusters", "edge")
    assert (code, err) == (0, "")
    assert "accepted, written to clusters/edge/cluster.yaml" in out
    text = (fleet.path / "clusters/edge/cluster.yaml").read_text()
    assert "hubAcceptsClient: true" in text
    assert "leaseDurationSeconds: 120" in text
    assert "region: eu" in text
    code, out, _ = muster("render", "ManagedCluster/edge", "--repo", fleet.path, "-o", "yaml")
    assert "HubAcceptedManagedCluster" in out


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["example.com/new:NoSelect"], ["+  - key: example.com/new", "+    effect: NoSelect"]),
        (
            ["example.com/slow=very:PreferNoSelect"],
            [
                "-  - {key: example.com/slow, effect: PreferNoSelect}",
                "+  - {key: example.com/slow, effect: PreferNoSelect, value: very}",
            ],
        ),
    ],
)
def test_taint_adds_or_changes_one_line(fleet: Repo, muster: Run, arguments: list[str], lines: list[str]) -> None:
    code, _, err = muster("taint", "--repo", fleet.path, "--clusters", "a", "--", *arguments)
    assert (code, err) == (0, "")
    assert changed_lines(fleet) == lines


def test_taint_adds_several_to_a_cluster_that_had_none_and_removes_them_again(fleet: Repo, muster: Run) -> None:
    code, _, err = muster("taint", "--repo", fleet.path, "--clusters", "b", "x=1:NoSelect", "x:NoSelectIfNew")
    assert (code, err) == (0, "")
    assert fleet.git("log", "-1", "--format=%s") == "Taint b: x=1:NoSelect x:NoSelectIfNew"
    code, out, err = muster("taint", "--repo", fleet.path, "--clusters", "b", "x-")
    assert (code, err) == (0, "")
    assert "ManagedCluster/b: taint x removed" in out
    assert "key: x" not in (fleet.path / "clusters/ab.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["accept", "--clusters", "aa"], "there is no ManagedCluster/aa"),
        (["taint", "--clusters", "a", "nothing-"], "no file gives ManagedCluster/a a taint nothing"),
        (["taint", "--clusters", "a", "k:NoSuchEffect"], "the fleet would not be valid afterwards"),
        (["taint", "--clusters", "a", "Not/A/Key:NoSelect"], "the fleet would not be valid afterwards"),
    ],
)
def test_what_cannot_be_done_changes_nothing(fleet: Repo, muster: Run, arguments: list[str], message: str) -> None:
    before = fleet.git("rev-parse", "HEAD")
    code, _, err = muster(arguments[0], "--repo", fleet.path, *arguments[1:])
    assert code == 1
    assert message in err
    assert fleet.git("rev-parse", "HEAD") == before
    assert fleet.git("status", "--porcelain") == ""


@pytest.mark.parametrize("text", ["", "k", "k:", ":NoSelect", "k=v", "=v:NoSelect", "-"])
def test_a_taint_that_is_none_is_a_mistake_of_usage(fleet: Repo, muster: Run, text: str) -> None:
    code, _, err = muster("taint", "--repo", fleet.path, "--clusters", "a", "--", text)
    assert code == 2
    assert "is not KEY[=VALUE]:EFFECT" in err


def test_a_removal_that_is_under_way_is_not_accepted(fleet: Repo, muster: Run) -> None:
    text = CLUSTER.replace("{name: a}", '{name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}')
    fleet.commit({"clusters/ab.yaml": text})
    code, _, err = muster("accept", "--repo", fleet.path, "--clusters", "a")
    assert code == 1
    assert "ManagedCluster/a is being removed" in err


def test_a_person_who_edits_the_same_file_is_not_overwritten(fleet: Repo, muster: Run) -> None:
    fleet.write("clusters/ab.yaml", CLUSTER + "# a note that is not committed\n")
    code, _, err = muster("accept", "--repo", fleet.path, "--clusters", "a")
    assert code == 4
    assert "clusters/ab.yaml" in err
    assert "a note" in (fleet.path / "clusters/ab.yaml").read_text()


def test_push_sends_the_commit(fleet: Repo, muster: Run, tmp_path: Path) -> None:
    hub = new_repository(tmp_path / "hub.git", bare=True)
    fleet.git("remote", "add", "origin", str(hub.path))
    fleet.git("push", "--quiet", "origin", "main")
    code, out, err = muster("accept", "--repo", fleet.path, "--clusters", "a", "--push")
    assert (code, err) == (0, "")
    assert "pushed to origin" in out
    assert hub.git("rev-parse", "main") == fleet.git("rev-parse", "main")
