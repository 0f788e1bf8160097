"""explain and describe as people use them."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, new_repository

NOON = ("--now", "2026-01-01T12:00:00Z")


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    """The example fleet in a repository of its own, with an agent that speaks on its ref."""
    repo = new_repository(tmp_path / "fleet")
    shutil.copytree(EXAMPLE, repo.path, dirs_exist_ok=True)
    repo.commit()
    return repo


def test_a_condition_with_its_inputs_and_who_wrote_them(muster: Run, fleet: Repo) -> None:
    code, out, err = muster(
        "explain", "cluster/edge-eu-1", "ManagedClusterConditionAvailable", "--repo", fleet.path, *NOON
    )
    assert (code, err) == (0, "")
    commit = fleet.tip()[:7]
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0].startswith("status.conditions[ManagedClusterConditionAvailable]: Unknown (ManagedClusterLease")
    assert "rule     ConditionPolicy/managed-cluster-available#lease-expired" in lines
    assert "read     lease.spec.renewTime = 2026-01-01T10:31:00Z" in lines
    assert f"clusters/eu/edge-eu-1/lease.yaml:11:3, {commit} by Ada, 12h ago" in lines
    assert (
        "time     2026-01-01T10:31:00Z (lease.spec.renewTime) + 3000s (variables.grace) = 2026-01-01T11:21:00Z, 39m ago"
        in lines
    )


def test_what_an_agent_said_on_its_ref_has_its_author(muster: Run, fleet: Repo) -> None:
    lease = (fleet.path / "clusters/eu/edge-eu-1/lease.yaml").read_text()
    fleet.commit({"clusters/eu/edge-eu-1/lease.yaml": None})
    said = fleet.commit_to("refs/heads/agents/edge-eu-1", {"lease.yaml": lease})
    _, out, _ = muster("explain", "cluster/edge-eu-1", "ManagedClusterConditionAvailable", "--repo", fleet.path, *NOON)
    assert f"agents/edge-eu-1:lease.yaml:11:3, {said[:7]} by Ada" in out


def test_json_has_the_same(muster: Run, fleet: Repo) -> None:
    target = ("explain", "cluster/edge-eu-1", "taints", "--repo", fleet.path, *NOON)
    code, out, _ = muster(*target, "-o", "json")
    found = json.loads(out)
    assert code == 0
    (taint,) = found["fields"]
    assert taint["rule"]["place"]["file"] == "policies/builtin-taints.yaml"
    decisive = [one for one in taint["expressions"] if one["decides"]]
    assert decisive[-1]["text"] == "variables.available == 'Unknown' && variables.env == 'edge'"
    assert {part["label"]: part["value"] for part in decisive[-1]["parts"]}["variables.available"] == "'Unknown'"


def test_a_placement_says_why_not(muster: Run, fleet: Repo) -> None:
    _, out, _ = muster("explain", "placement/shop/search", "prod-us-2", "--repo", fleet.path, *NOON)
    assert "its taint fleet.example.com/unhealthy:NoSelect is not tolerated" in out


def test_describe_has_a_word_of_why_beside_each_field(muster: Run, fleet: Repo) -> None:
    code, out, _ = muster("describe", "cluster/prod-eu-1", "-o", "yaml", "--repo", fleet.path, *NOON)
    assert code == 0
    assert "  generation: 1  # generations\n" in out
    rule = "ConditionPolicy/managed-cluster-available#as-reported, until 2026-01-01T12:04:40Z"
    assert f"  - type: ManagedClusterConditionAvailable  # {rule}\n" in out
    _, out, _ = muster("describe", "cluster/edge-eu-1", "-o", "yaml", "--repo", fleet.path, *NOON)
    assert "unreachable  # TaintPolicy/managed-cluster-builtin-taints#" in out


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nonsense", "no kind is called 'nonsense'"),
        ("cluster", "name one object, as in cluster/NAME"),
        ("cluster/nobody", "there is no cluster/nobody"),
        ("lease/managed-cluster-lease", "is one of Lease/edge-eu-1/managed-cluster-lease, "),
        ("managedcluster.spec.tants", "ManagedCluster.spec has no field 'tants'; did you mean 'taints'?"),
    ],
)
def test_what_is_misspelt(muster: Run, fleet: Repo, target: str, said: str) -> None:
    code, _, err = muster("explain", target, "--repo", fleet.path, *NOON)
    assert code == 2
    assert said in err


def test_the_words_of_a_schema_and_of_a_finding(muster: Run) -> None:
    code, out, _ = muster("explain", "managedcluster.spec.taints")
    assert code == 0
    assert out.startswith("ManagedCluster.spec.taints: list of object\n\nTaints that keep Placements from choosing")
    assert "  effect: NoSelect | PreferNoSelect | NoSelectIfNew\n" in out
    assert muster("explain", "mus101")[1].startswith("MUS101 (error): field set twice\n\nTwo files set")


def test_hostile_names_do_not_reach_the_terminal(muster: Run, fleet: Repo) -> None:
    path = fleet.path / "clusters/eu/edge-eu-1/observed.yaml"
    path.write_text(path.read_text().replace("reason: ManagedClusterAvailable", 'reason: "A\\e[31mB"'))
    fleet.commit()
    _, out, _ = muster("explain", "cluster/edge-eu-1", "--repo", fleet.path, *NOON)
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "target", ["cluster/prod-eu-1", "cluster/member-eu-1", "placement/shop/search", "fleet/example"]
)
def test_from_what_the_last_run_left_it_says_the_same(
    muster: Run, fleet: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setenv("MUSTER_CACHE_DIR", str(tmp_path / "cache"))
    muster("reconcile", "--repo", fleet.path, "--now", "2026-01-01T13:00:00Z")
    for verb in (["explain"], ["describe"], ["describe", "-o", "yaml"]):
        asked = (*verb, target, "--repo", fleet.path, "--now", "2026-01-01T13:01:00Z")
        warm = muster(*asked)
        monkeypatch.setenv("MUSTER_CACHE_DIR", "")
        assert muster(*asked) == warm
        monkeypatch.setenv("MUSTER_CACHE_DIR", str(tmp_path / "cache"))


def test_what_is_not_at_rest_yet_is_explained_as_of_its_first_pass(
    muster: Run, fleet: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an hour on, a pool takes two passes: from the state and without it the same one is told."""
    monkeypatch.setenv("MUSTER_CACHE_DIR", str(tmp_path / "cache"))
    muster("reconcile", "--repo", fleet.path, *NOON)
    asked = ("explain", "clusterdeployment/ci-7/ci-7", "--repo", fleet.path, "--now", "2026-01-01T12:11:00Z")
    warm = muster(*asked)
    monkeypatch.setenv("MUSTER_CACHE_DIR", "")
    assert muster(*asked) == warm
