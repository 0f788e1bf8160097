"""A typo in a cluster's file moves nothing, and hides nothing either: its agent's silence is found all the same."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import muster
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.fleet.test_agents import available
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWN = cluster("a").replace("hubAcceptsClient: true", "hubAcceptsClient: true, leaseDurationSeconds: 120")
GRACE = 600
AGENT = "refs/heads/agents/a"
SLIPS = {
    "an unknown field": OWN.replace("hubAcceptsClient", "hubAcceptClient"),
    "a wrong type": OWN.replace("120", "soon"),
    "no YAML": OWN.replace("spec: {", "spec: {{"),
    "an unknown version": OWN.replace("io/v1", "io/v7"),
    "another file that says the same": OWN + "---\n" + OWN,
    "nothing that says what it is": "apiVersion: [\nkind\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": OWN})
    said(repo, 0)
    assert available(reconciled(repo, 0))["a"] == "True"
    return repo


def said(repo: Repo, seconds: int, status: str = "True") -> None:
    """The agent renews, and reports."""
    at = (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    files = {"lease.yaml": lease("a", at), "observed.yaml": observed("a").replace("'True'", f"'{status}'")}
    repo.commit_to(AGENT, files)


def reconciled(repo: Repo, seconds: int) -> muster.Run:
    run = muster.evaluate(repo.path, NOW + timedelta(seconds=seconds), "HEAD")
    repo.commit(run.files)
    again = muster.evaluate(repo.path, NOW + timedelta(seconds=seconds), "HEAD")
    assert again.files == {}, "it is a fixed point"
    return run


@pytest.mark.parametrize("slip", SLIPS)
def test_silence_is_found_while_the_clusters_own_file_is_broken(repo: Repo, slip: str) -> None:
    before = repo.show("derived/managedclusters/a.yaml")
    repo.commit({"a.yaml": SLIPS[slip]})
    run = reconciled(repo, 1)
    assert run.failed
    assert repo.show("derived/managedclusters/a.yaml") == before, "a typo moves nothing"
    assert run.horizon == NOW + timedelta(seconds=GRACE), "by the duration that was derived last"
    assert available(reconciled(repo, GRACE - 1))["a"] == "True"
    assert available(reconciled(repo, GRACE))["a"] == "Unknown"
    # Who is heard again is believed again, and what it says counts.
    said(repo, GRACE + 10)
    assert available(reconciled(repo, GRACE + 11))["a"] == "True"
    said(repo, GRACE + 20, "False")
    assert available(reconciled(repo, GRACE + 21))["a"] == "False"
    repo.commit({"a.yaml": OWN})
    assert available(reconciled(repo, GRACE + 22))["a"] == "False"


def test_a_file_that_also_reports_freezes_no_health_when_it_breaks(tmp_path: Path) -> None:
    """People's files of a fleet that moved in carry a status: what it reports stays while its agent is heard."""
    repo = new_repository(tmp_path / "fleet")
    whole = OWN + observed("a").partition("metadata: {name: a}\n")[2]
    repo.commit({"a.yaml": whole, "lease.yaml": lease("a", "2026-01-01T00:00:00Z")})
    assert available(reconciled(repo, 0))["a"] == "True"
    repo.commit({"a.yaml": whole.replace("spec: {", "spec: {{")})
    assert available(reconciled(repo, 1))["a"] == "True"
    assert available(reconciled(repo, GRACE))["a"] == "Unknown"


def test_a_broken_cluster_whose_lease_is_gone_has_its_grace_and_no_more(repo: Repo) -> None:
    repo.commit({"a.yaml": SLIPS["an unknown field"]})
    repo.commit_to(AGENT, {"observed.yaml": observed("a")})
    assert available(reconciled(repo, 1))["a"] == "True"
    assert available(reconciled(repo, GRACE))["a"] == "True"
    assert available(reconciled(repo, GRACE + 1))["a"] == "Unknown"
    assert available(reconciled(repo, GRACE + 2))["a"] == "Unknown"


KARMADA = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: m}
spec: {syncMode: Pull}
"""


@pytest.mark.parametrize("slip", [KARMADA.replace("syncMode", "syncMod"), KARMADA.replace("Pull}", "Pull")])
def test_a_cluster_of_karmada_falls_silent_too(tmp_path: Path, slip: str) -> None:
    status = KARMADA.partition("spec")[0] + "status: {conditions: [{type: Ready, status: 'True'}]}\n"
    renewed = lease("m", "2026-01-01T00:00:00Z").replace(
        "managed-cluster-lease, namespace: m", "m, namespace: karmada-cluster"
    )
    for name, text in {"m.yaml": KARMADA, "status.yaml": status, "lease.yaml": renewed}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def ready(seconds: int) -> str:
        run = muster.evaluate(tmp_path, NOW + timedelta(seconds=seconds))
        for path, derived in run.files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(derived or "", encoding="utf-8")
        body = next(o for o in run.objects if o["kind"] == "Cluster")
        return str(next(c["status"] for c in body["status"]["conditions"] if c["type"] == "Ready"))

    assert ready(0) == "True"
    (tmp_path / "m.yaml").write_text(slip, encoding="utf-8")
    assert [ready(1), ready(40), ready(41), ready(42)] == ["True", "True", "Unknown", "Unknown"]
