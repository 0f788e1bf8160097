"""forecast and what-if as people use them."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, new_repository

NOON = ("--now", "2026-01-01T12:00:00Z")


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})
    return repo


def test_what_happens_next(muster: Run, fleet: Repo) -> None:
    code, out, err = muster("forecast", "--repo", fleet.path, *NOON, "--for", "5m")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "2026-01-01T12:01:30Z  in 1m30s  prod-ap-2 Unknown"
    assert lines[1] == (
        "  ManagedCluster/prod-ap-2: condition ManagedClusterConditionAvailable True -> Unknown "
        "(ManagedClusterLeaseUpdateStopped)"
    )
    assert "2026-01-01T12:04:40Z  in 4m40s  prod-eu-1 Unknown; budget exceeded; 1 held" in lines
    assert fleet.status() == []


def test_a_lost_region(muster: Run, fleet: Repo) -> None:
    _, out, _ = muster("forecast", "--repo", fleet.path, *NOON, "--for", "5m", "--lose", "region=eu")
    assert out.startswith(
        "2026-01-01T12:00:00Z  now  prod-eu-1, prod-eu-2 and prod-eu-3 Unknown; search moved to prod-us-1\n"
    )
    assert "cluster prod-us-1 joined placement shop/search" in out
    assert "prod-us-2: condition ManagedClusterConditionAvailable" not in out, "all others go on renewing"


def test_as_data(muster: Run, fleet: Repo) -> None:
    _, out, _ = muster("forecast", "--repo", fleet.path, *NOON, "--for", "2m", "-o", "json")
    (moment,) = json.loads(out)
    assert moment["at"] == "2026-01-01T12:01:30Z"
    assert moment["changes"][0]["object"]["name"] == "prod-ap-2"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--for", "tomorrow"), "'tomorrow' is not a duration such as 90s"),
        (("--lose", "region=nowhere"), "no cluster has these labels"),
        (("--lose", "region=eu=us"), "'region=eu=us' is no label selector"),
        (("--report", "cluster/prod-eu-1", "Ready"), "'Ready' is not TYPE=STATUS"),
        (("--report", "cluster/nobody", "Ready=False"), "there is no cluster/nobody"),
    ],
)
def test_what_cannot_be_supposed(muster: Run, fleet: Repo, options: tuple[str, ...], said: str) -> None:
    code, _, err = muster("forecast", "--repo", fleet.path, *NOON, *options)
    assert code == 2
    assert said in err.replace("\n", " ")


def test_a_policy_of_ones_own(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    """A file from elsewhere takes the place of the objects in it."""
    remedy = tmp_path / "mine.yaml"
    text = (fleet.path / "remedies/upgrade-member-eu-1.yaml").read_text()
    remedy.write_text(text.replace("member-eu-1]", "member-ap-1]"))
    _, out, _ = muster("forecast", "--repo", fleet.path, *NOON, "--for", "1m", "--edit", remedy)
    assert "Cluster/member-ap-1: remedy TrafficControl applied (upgrade-member-eu-1)" in out
    remedy.write_text("kind: [")
    code, _, err = muster("forecast", "--repo", fleet.path, *NOON, "--edit", remedy)
    assert code == 2
    assert "mine.yaml:1:" in err


def test_a_plan_of_what_has_not_happened(muster: Run, fleet: Repo) -> None:
    code, out, _ = muster("plan", "--repo", fleet.path, *NOON, "--lose", "region=eu,env=prod")
    assert code == 0
    assert "prod-eu-1, prod-eu-2 and prod-eu-3 Unknown; search moved to prod-us-1: 4" in out
    code, _, err = muster("plan", "--repo", fleet.path, *NOON, "--lose", "region=eu", "--base", "main")
    assert (code, "--base compares commits" in err) == (2, True)


def test_an_edit_of_the_work_tree_holds_at_its_own_path(muster: Run, fleet: Repo) -> None:
    path = fleet.path / "clusters/eu/prod-eu-1/cluster.yaml"
    path.write_text(path.read_text().replace("hubAcceptsClient: true", "hubAcceptsClient: false"))
    _, out, _ = muster("plan", "--repo", fleet.path, *NOON, "--edit", path)
    assert "condition HubAcceptedManagedCluster" in out
    assert muster("plan", "--repo", fleet.path, *NOON)[1].startswith("Nothing to do.\n")


def test_why_it_would_be_so(muster: Run, fleet: Repo) -> None:
    asked = ("explain", "cluster/prod-eu-1", "ManagedClusterConditionAvailable", "--repo", fleet.path, *NOON)
    _, out, _ = muster(*asked, "--lose", "region=eu")
    assert "rule     ConditionPolicy/managed-cluster-available#lease-expired" in out
    assert "#as-reported" in muster(*asked)[1]


def test_what_is_held_already_is_no_news(muster: Run, fleet: Repo) -> None:
    muster("reconcile", "--repo", fleet.path, "--now", "2026-01-01T13:00:00Z")
    _, out, _ = muster("forecast", "--repo", fleet.path, "--now", "2026-01-01T13:00:00Z", "--for", "1m")
    assert out == "Nothing happens until 2026-01-01T13:01:00Z.\n"


def test_how_a_rollout_ends_if_all_goes_well(muster: Run, fleet: Repo) -> None:
    code, out, err = muster("forecast", "--repo", fleet.path, *NOON, "--all-well")
    assert (code, out, err) == (0, "No rollout is under way.\n", "")
    spec = {
        "placementRef": {"name": "search"},
        "revision": "v2",
        "stages": [{"name": "first", "maxConcurrency": 1, "minSuccessTime": "10m"}],
    }
    metadata = {"name": "search", "namespace": "shop"}
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Rollout", "metadata": metadata, "spec": spec}
    fleet.commit({"rollout.yaml": yaml.safe_dump(body)})
    _, out, _ = muster("forecast", "--repo", fleet.path, *NOON, "--all-well")
    assert (
        "Rollout/shop/search to v2 if all goes well:\n  stage first: 2 of 2 by 2026-01-01T12:20:02Z (in 20m2s)\n" in out
    )
    assert "clusters succeed one second after they get it, as no earlier time is known" in out
    _, out, _ = muster("forecast", "--repo", fleet.path, *NOON, "--all-well", "--for", "1m", "-o", "json")
    found = json.loads(out)
    assert found["moments"][0]["at"] == "2026-01-01T12:00:00Z"
    (rollout,) = found["rollouts"]
    assert (rollout["reason"], rollout["stages"][0]["inChange"], rollout["usualTime"]) == ("Progressing", 1, None)
