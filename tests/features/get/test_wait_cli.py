"""`muster wait`: as a real process while the fleet changes, and where it need not wait."""

import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.forking import muster_command
from tests.support.git import Repo, new_repository
from tests.support.patience import PATIENCE_SECONDS

NOW = ("--now", "2026-01-01T12:00:00Z", "--timeout", "0s")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})
    return made


@pytest.mark.parametrize(
    ("target", "expected", "code"),
    [
        ("cluster/prod-eu-1", "condition=ManagedClusterConditionAvailable", 0),
        ("cluster/prod-eu-1", "condition=ManagedClusterConditionAvailable=unknown", 1),
        ("cluster/nowhere", "condition=ManagedClusterConditionAvailable", 1),
        ("placementdecision/shop/web-decision-1", "decision=prod-eu-1", 0),
        ("placementdecision/shop/web-decision-1", "decision=prod-eu-9", 1),
        ("cluster/prod-eu-1", "revision=v1", 1),
    ],
)
def test_asked_once(muster: Run, repo: Repo, target: str, expected: str, code: int) -> None:
    found, out, errors = muster("wait", target, "--for", expected, "--repo", repo.path, *NOW)
    assert found == code
    assert ("condition met" in out, "timed out" in errors) == (code == 0, code == 1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("clusters", "--for", "condition=Ready"), "name one object"),
        (("cluster/a", "--for", "Ready"), "is not condition=TYPE"),
        (("cluster/a", "--for", "condition=Ready", "--worktree"), "No such option"),
    ],
)
def test_usage(muster: Run, repo: Repo, arguments: tuple[str, ...], complaint: str) -> None:
    code, _, errors = muster("wait", *arguments, "--repo", repo.path)
    assert (code, complaint in errors) == (2, True)


def test_it_ends_when_a_commit_brings_what_is_waited_for(repo: Repo) -> None:
    process = subprocess.Popen(
        [
            *muster_command(repo.environ),
            "wait",
            "cluster/late",
            "--for",
            "condition=HubAcceptedManagedCluster",
            "--timeout",
            "60s",
            "--repo",
            str(repo.path),
        ],
        env=dict(repo.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    repo.commit(
        {
            "clusters/late/cluster.yaml": "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
            "metadata: {name: late}\nspec: {hubAcceptsClient: true}\n"
        }
    )
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out.splitlines()[-1]) == (
        0,
        "managedcluster.cluster.open-cluster-management.io/late: condition met",
    )
