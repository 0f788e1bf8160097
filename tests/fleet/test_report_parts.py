"""A broken agent is a silent agent: what it said last counts until its lease expires, wherever its report is."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import muster
from muster.data.codes import Severity
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.fleet.test_agents import available
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FRESH = "2026-01-01T00:00:00Z"
GRACE = timedelta(seconds=300)
AGENT = "refs/heads/agents/a"

GOOD = {"lease.yaml": lease("a", FRESH), "observed.yaml": observed("a")}
BIG = "#" * 3_000_000
#: What an agent sends, and the code that names it. Of each, one file cannot be read.
BROKEN: Mapping[str, tuple[dict[str, str], str]] = {
    "a lease that is no YAML": ({**GOOD, "lease.yaml": lease("a", FRESH) + "  - x: [\n"}, "MUS001"),
    "a lease of wrong types": ({**GOOD, "lease.yaml": lease("a", "soon").replace("'soon'", "5")}, "MUS202"),
    "a lease that was renewed at no time": ({**GOOD, "lease.yaml": lease("a", "soon")}, "MUS205"),
    "a lease of another version": ({**GOOD, "lease.yaml": lease("a", FRESH).replace("io/v1", "io/v9")}, "MUS105"),
    "a lease without a name": ({**GOOD, "lease.yaml": lease("a", FRESH).replace("name: managed", "nam: m")}, "MUS103"),
    "a lease that is too large": ({**GOOD, "lease.yaml": lease("a", FRESH) + BIG}, "MUS022"),
    "a status that is no YAML": ({**GOOD, "observed.yaml": observed("a") + "\tx"}, "MUS002"),
    "a status of wrong types": ({**GOOD, "observed.yaml": observed("a") + "  capacity: 5\n"}, "MUS202"),
    "a status of unknown words": ({**GOOD, "observed.yaml": observed("a").replace("'True'", "'Yes'")}, "MUS203"),
    "a lease twice": ({**GOOD, "m.yaml": lease("a", "2029-01-01T00:00:00Z")}, "MUS120"),
    "a status twice": ({**GOOD, "p.yaml": observed("a").replace("'True'", "'False'")}, "MUS120"),
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a"), "b.yaml": cluster("b")})
    repo.commit_to(AGENT, GOOD)
    repo.commit_to("refs/heads/agents/b", {"lease.yaml": lease("b", FRESH), "observed.yaml": observed("b")})
    return repo


def reconciled(repo: Repo, now: datetime) -> muster.Run:
    """Evaluate and commit, as `reconcile` does."""
    run = muster.evaluate(repo.path, now, "HEAD")
    repo.commit(run.files)
    return run


@pytest.mark.sampled(4)
@pytest.mark.parametrize("where", ["ref", "main"])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_agent_falls_silent_and_nothing_else_stops(repo: Repo, broken: str, where: str) -> None:
    files, code = BROKEN[broken]
    if where == "main":
        repo.git("update-ref", "-d", AGENT)
        repo.commit({f"clusters/a/{name}": text for name, text in GOOD.items()})
    assert available(reconciled(repo, NOW)) == {"a": "True", "b": "True"}
    if where == "main":
        repo.commit({f"clusters/a/{name}": text for name, text in files.items()})
    else:
        repo.commit_to(AGENT, files)
    # A person's change of the very cluster takes effect meanwhile.
    repo.commit({"a.yaml": cluster("a").replace("name: a", "name: a, labels: {env: prod}")})
    run = reconciled(repo, NOW + timedelta(seconds=1))
    found = [found for found in run.findings if found.code == code]
    assert found
    assert all("it counts as not sent" in one.message for one in found) or (where, code) in {
        ("main", "MUS001"),
        ("main", "MUS002"),
        ("main", "MUS022"),
        ("main", "MUS103"),
        ("main", "MUS105"),
    }
    worst = {one.severity for one in run.findings}
    assert (Severity.ERROR in worst) is (where == "main"), "an agent turns nobody's checks red"
    body = next(o for o in run.objects if o["kind"] == "ManagedCluster" and o["metadata"]["name"] == "a")
    assert body["metadata"]["labels"]["env"] == "prod"
    repo.commit_to(
        "refs/heads/agents/b", {"lease.yaml": lease("b", "2026-01-01T00:05:00Z"), "observed.yaml": observed("b")}
    )
    late = reconciled(repo, NOW + GRACE + timedelta(seconds=2))
    assert available(late) == {"a": "Unknown", "b": "True"}
    assert late.files or available(run)["a"] == "Unknown"
    # It stays so, and comes to rest, until the agent mends it.
    later = reconciled(repo, NOW + GRACE + timedelta(seconds=3))
    assert (available(later), later.files) == ({"a": "Unknown", "b": "True"}, {})
    mended = {**GOOD, "lease.yaml": lease("a", "2026-01-01T00:05:01Z")}
    if where == "main":
        gone = {f"clusters/a/{name}": None for name in files.keys() - mended.keys()}
        repo.commit({**gone, **{f"clusters/a/{name}": text for name, text in mended.items()}})
    else:
        repo.commit_to(AGENT, mended)
    assert available(reconciled(repo, NOW + GRACE + timedelta(seconds=4)))["a"] == "True"


def test_a_cluster_that_fell_silent_is_not_healed_by_losing_its_lease(repo: Repo) -> None:
    """The Lease that is derived for it then is nobody's renewal."""
    reconciled(repo, NOW)
    late = NOW + timedelta(hours=1)
    assert available(reconciled(repo, late))["a"] == "Unknown"
    repo.commit_to(AGENT, {"observed.yaml": observed("a"), "lease.yaml": "kind: Lease\napiVersion: [\n"})
    for seconds in (1, 2, 301):
        assert available(reconciled(repo, late + timedelta(seconds=seconds)))["a"] == "Unknown"


RULES = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-alpha}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [managedclusters]}
  validations:
  - {expression: "!has(object.status) || !has(object.status.version) || object.status.version.kubernetes != 'alpha'"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-alpha}
spec: {policyName: no-alpha, validationActions: [Deny]}
"""


def test_no_agent_keeps_itself_from_being_denied_by_breaking_a_rule(repo: Repo) -> None:
    repo.commit({"rules.yaml": RULES})
    reconciled(repo, NOW)
    said = observed("a").replace("status:\n", "status:\n  version: {kubernetes: alpha}\n")
    repo.commit_to(AGENT, {**GOOD, "observed.yaml": said})
    repo.commit({"a.yaml": cluster("a", accepts=False)})
    run = reconciled(repo, NOW + timedelta(seconds=1))
    (found,) = run.findings
    assert (found.code, found.severity) == ("MUS320", Severity.WARNING)
    body = next(o for o in run.objects if o["kind"] == "ManagedCluster" and o["metadata"]["name"] == "a")
    conditions = {c["type"]: c["reason"] for c in body["status"]["conditions"]}
    assert conditions["HubAcceptedManagedCluster"] == "HubClusterAdminDenied"


DNS = "ServiceDomainNameResolutionReady"
HAND = f"- {{type: {DNS}, status: 'True', reason: ByHand}}\n  - {{type: Other, status: 'True', reason: ByHand}}\n"


def _word(status: str, at: str = "") -> str:
    looked = f", lastUpdateTime: {at!r}" if at else ""
    return (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: a}\nstatus:\n"
        f"  conditions:\n  - {{type: {DNS}, status: '{status}', reason: Looked{looked}}}\n"
    )


@pytest.mark.parametrize(
    ("beside", "code_at", "severity"),
    [
        pytest.param("person", "a.yaml:8:5", Severity.ERROR, id="a person, in the cluster's file"),
        pytest.param("file", "z.yaml:6:5", Severity.ERROR, id="a file of reports"),
        pytest.param("agent", "agents/a:other.yaml:6:5", Severity.WARNING, id="another agent of the cluster"),
    ],
)
def test_what_a_detector_reports_nobody_says_beside_it(
    repo: Repo, beside: str, code_at: str, severity: Severity
) -> None:
    detector = {**GOOD, "detectors/dns.yaml": _word("False", FRESH)}
    if beside == "person":
        repo.commit({"a.yaml": cluster("a") + f"status:\n  conditions:\n  {HAND}"})
    elif beside == "file":
        repo.commit({"z.yaml": _word("True")})
    else:
        detector["other.yaml"] = _word("True")
    repo.commit_to(AGENT, detector)
    run = reconciled(repo, NOW)
    refused = [one for one in run.findings if one.code == "MUS129"]
    assert [(str(one.place), one.severity) for one in refused] == [(code_at, severity)]
    assert f"status.conditions[{DNS}]" in refused[0].message
    assert "agents/a:detectors/dns.yaml:6:5" in refused[0].message
    assert _conditions(run)[DNS] == ("False", "Looked"), "the detector's word counts"
    # The cluster is not frozen: what else is said of it counts, and so does the detector's next word.
    assert _conditions(run)["ManagedClusterConditionAvailable"][0] == "True"
    repo.commit_to(AGENT, {**detector, "detectors/dns.yaml": _word("True", "2026-01-01T00:00:05Z")})
    assert _conditions(reconciled(repo, NOW + timedelta(seconds=5)))[DNS] == ("True", "Looked")


def test_a_condition_by_hand_does_not_silence_the_detectors_of_nodes(repo: Repo) -> None:
    repo.commit({"a.yaml": cluster("a") + f"status:\n  conditions:\n  {HAND}"})
    saw = f"{{source: n1, type: {DNS}, status: 'False', lastUpdateTime: {FRESH!r}}}"
    words = _word("False").split("  conditions")[0] + f"  detections:\n  - {saw}\n"
    repo.commit_to(AGENT, {**GOOD, "n1.yaml": words})
    run = reconciled(repo, NOW)
    assert [one.code for one in run.findings] == ["MUS129"]
    assert _conditions(run)[DNS][0] == "False"


def _conditions(run: muster.Run) -> dict[str, tuple[str, str]]:
    body = next(o for o in run.objects if o["kind"] == "ManagedCluster" and o["metadata"]["name"] == "a")
    return {c["type"]: (c["status"], c["reason"]) for c in body["status"]["conditions"]}
