"""The policy that the guide shows is sound, and decides what the guide says; its program runs."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import muster
from muster.features.test.memory import MemorySnapshot
from muster.features.test.policytest import run_tests
from muster.run.checking import check_snapshot
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import git_environ

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
_POLICIES = [
    text for text in re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE) if "\nkind: " in text
]


def test_the_policies_of_the_guide(tmp_path: Path) -> None:
    policy, own = _POLICIES
    (tmp_path / "own.yaml").write_text(own)
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "a.yaml").write_text(cluster("a"))
    (tmp_path / "b.yaml").write_text(cluster("b") + "status: {version: {kubernetes: v1.30.1}}\n")
    (case,) = run_tests(check_snapshot(MemorySnapshot({"own.yaml": own})))
    assert case.failures == ()
    run = muster.evaluate(tmp_path, datetime(2026, 1, 1, tzinfo=UTC))
    assert run.findings == []
    conditions = {
        body["metadata"]["name"]: {c["type"]: c["reason"] for c in body["status"]["conditions"]}
        for body in run.objects
        if body["kind"] == "ManagedCluster"
    }
    assert "example.com/SupportedVersion" not in conditions["a"]
    assert conditions["b"]["example.com/SupportedVersion"] == "VersionTooOld"


def test_the_program_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=git_environ(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "prod-ap-2 Unknown" in done.stdout
    assert "prod-us-2 False" in done.stdout
    assert "derived/managedclusters/prod-ap-2.yaml" in done.stdout
    assert "findings: []" in done.stdout
