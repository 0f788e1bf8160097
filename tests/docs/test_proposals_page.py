"""docs/proposals.md: its Fleet asks for what it says, and what it quotes is what muster says of the example's pool."""

import re
from pathlib import Path

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.run.checking import check_snapshot
from tests.features.pulses.test_walkthrough import Muster, muster
from tests.support.example import EXAMPLE
from tests.support.git import Repo, new_repository

__all__ = ["muster"]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "proposals.md").read_text(encoding="utf-8")
FLEET, APPROVAL = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
QUOTES = dict(re.findall(r"^```text ([^\n]+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
NOON = "2026-01-01T12:00:00Z"
BRANCH = "muster/proposals/pool-deletions"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """The pool of the example, by itself."""
    made = new_repository(tmp_path / "fleet")
    kinds = ("clusterpools", "clusterdeployments", "clusterclaims")
    parts = [EXAMPLE / "pools", *(EXAMPLE / "derived" / kind for kind in kinds)]
    files = [file for part in parts for file in sorted(part.rglob("*.yaml"))]
    made.commit({str(file.relative_to(EXAMPLE)): file.read_bytes() for file in files})
    pool = (EXAMPLE / "pools/ci/pool.yaml").read_text(encoding="utf-8").replace("size: 4", "size: 2")
    fleet = FLEET + "  pools: {externalDependencies: [Secret/pools/aws-credentials]}\n"
    made.commit({"pools/ci/pool.yaml": pool, "fleet.yaml": fleet})
    return made


def test_the_story(repo: Repo, muster: Muster) -> None:
    assert QUOTES["reconcile"] in muster(repo, "reconcile", "--now", NOON)[1]
    assert repo.git("log", "--format=%s", f"main..{BRANCH}") == "Approve 2 effects: pool-deletions"
    assert repo.show("approvals/pool-deletions.yaml", BRANCH) + "\n" == APPROVAL
    assert QUOTES["plan"] in muster(repo, "plan", "--base", "main", "--rev", BRANCH, "--now", NOON)[1]
    repo.git("merge", "--quiet", "--no-ff", "--message", "Yes", BRANCH)
    assert QUOTES["merged"] in muster(repo, "reconcile", "--now", NOON)[1]
    for name in ("ci-8", "ci-9"):
        assert "deletionTimestamp" in repo.show(f"derived/clusterdeployments/{name}/{name}.yaml")


def test_it_tells_of_every_effect() -> None:
    assert check_snapshot(MemorySnapshot({"fleet.yaml": FLEET})).findings == ()
    said = set(re.findall(r"^\| `([a-z]+)` \|", PAGE, re.MULTILINE))
    assert said == {"deletion", "removal", "taint", "eviction", "remedy", "rollout"}
