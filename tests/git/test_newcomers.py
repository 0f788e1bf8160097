"""Branches of clusters that nobody knows, by the hundred, beside those of clusters that somebody does."""

from datetime import UTC, datetime
from pathlib import Path

import muster
from muster.git.agents.listing import MOST_REFUSED, MOST_UNKNOWN, local_agent_refs
from muster.git.agents.refs import AgentRef
from muster.git.repository import open_repository
from tests.support.git import Repo, new_repository

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s}
spec: {hubAcceptsClient: %s}
"""
EXTRA = 30


def reconciled(repo: Repo, now: datetime) -> muster.Run:
    """Evaluate and commit, as `reconcile` does."""
    run = muster.evaluate(repo.path, now, "HEAD")
    repo.commit(run.files)
    return run


def _fleet(tmp_path: Path) -> Repo:
    """A fleet with clusters that are known in many ways, all of them last by name, and far more branches than those."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": CLUSTER % ("z-block", "true"), "all.json": '{"items": [{"metadata":{"name":"z-json"}}]}'})
    repo.commit({"b.yaml": CLUSTER % ("z-removed", "true")})
    for name in ("z-block", "z-json", "z-removed", "z-quoted"):
        repo.commit_to(f"refs/heads/agents/{name}", {"cluster.yaml": CLUSTER % (name, "false")})
    reconciled(repo, AT)
    repo.git("rm", "--quiet", "b.yaml")
    repo.commit({"c.yaml": CLUSTER % ("'z-quoted'", "true")})
    commit = repo.commit_to("refs/heads/agents/u000", {"cluster.yaml": CLUSTER % ("u000", "false")})
    unknown = (f"u{number:03}" for number in range(MOST_UNKNOWN + EXTRA))
    names = [*unknown, *(f"x{number}/y" for number in range(MOST_REFUSED + EXTRA))]
    repo.git(
        "update-ref", "--stdin", stdin="".join(f"update refs/heads/agents/{name} {commit}\n" for name in names).encode()
    )
    return repo


def test_the_first_are_looked_at_and_no_known_cluster_is_ever_left_out(tmp_path: Path) -> None:
    repo = _fleet(tmp_path)
    refs = local_agent_refs(open_repository(repo.path, repo.environ)).refs
    counting = [ref.cluster for ref in refs if not ref.refused]
    first = [f"u{number:03}" for number in range(MOST_UNKNOWN)]
    assert counting == [*first, "z-block", "z-json", "z-quoted", "z-removed"]
    told: dict[str, list[AgentRef]] = {}
    for ref in refs:
        if ref.refused:
            told.setdefault(ref.refused[0], []).append(ref)
    assert {reason: len(found) for reason, found in told.items()} == {
        "no-cluster": MOST_REFUSED,
        "too-many-refused": 1,
        "too-many-unknown": 1,
    }
    (unknown,) = told["too-many-unknown"]
    named = "agents/u100, agents/u101, agents/u102, agents/u103, agents/u104 and 25 more"
    assert unknown.refused == ("too-many-unknown", f"{EXTRA}: {named}")


def test_a_run_tells_of_the_others_in_one_finding_and_comes_to_rest(tmp_path: Path) -> None:
    repo = _fleet(tmp_path)
    reconciled(repo, AT)
    run = muster.evaluate(repo.path, AT, "HEAD")
    found = [one for one in run.findings if one.code == "MUS137"]
    assert [one.message.partition(":")[2].partition(":")[0].strip() for one in found] == [str(EXTRA)] * 2
    assert not run.files
    names = {body["metadata"]["name"] for body in run.objects if body["kind"] == "ManagedCluster"}
    assert names == {"u000", "z-block", "z-json", "z-quoted"}


def test_whoever_is_declared_is_looked_at_from_then_on(tmp_path: Path) -> None:
    repo = _fleet(tmp_path)
    repo.commit({"d.yaml": CLUSTER % (f"u{MOST_UNKNOWN + 5}", "true")})
    refs = local_agent_refs(open_repository(repo.path, repo.environ)).refs
    assert f"u{MOST_UNKNOWN + 5}" in {ref.cluster for ref in refs if not ref.refused}
