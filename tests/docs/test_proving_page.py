"""docs/proving.md: what it shows of its policy is what is found in it, word by word, and its invariant is kept."""

import re
from pathlib import Path

from muster.cli.outcome import findings_text, tally
from muster.data.finding import Finding
from muster.data.kinds import CONDITION_POLICY
from muster.data.tree import mappings_at
from muster.features.lint.proving.invariants import invariant_findings
from muster.features.lint.proving.questions import prove_policy
from muster.features.test.memory import MemorySnapshot
from muster.fleet.assemble import builtin_tests_of
from muster.rules.conditions.policy import ConditionPolicy
from muster.run.checking import check_snapshot

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "proving.md").read_text(encoding="utf-8")
POLICY, TEST = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
DISKS = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: disks-healthy}
spec:
  target: {kind: ManagedCluster}
  type: DisksHealthy
  rules:
  - {name: said, when: "'DisksHealthy' in reported", status: "True", reason: Said, message: ""}
"""


def test_what_it_shows_is_what_is_found() -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    fleet = check_snapshot(MemorySnapshot({"policies/available.yaml": POLICY}))
    name = CONDITION_POLICY.id("managed-cluster-available")
    policy = next(policy for policy in fleet.compiled.of(ConditionPolicy) if policy.id == name)
    found = sorted(prove_policy(fleet, policy).findings, key=Finding.sort_key)
    assert f"{findings_text(found)}\n{tally(found)}\n" == shown


def test_its_invariant_is_kept_by_who_looks_and_broken_by_who_does_not() -> None:
    for rule, broken in ((DISKS, []), (DISKS.replace("'DisksHealthy' in reported", "generation > 0"), ["MUS608"])):
        fleet = check_snapshot(MemorySnapshot({"policies/disks.yaml": rule, "policies/disks.test.yaml": TEST}))
        assert list(invariant_findings(fleet)) == []
        (policy,) = (policy for policy in fleet.compiled.of(ConditionPolicy) if policy.type == "DisksHealthy")
        assert [found.code for found in prove_policy(fleet, policy).findings] == broken


def test_it_names_the_built_in_invariants() -> None:
    tests = builtin_tests_of(check_snapshot(MemorySnapshot({})))
    names = {entry["name"] for test in tests for entry in mappings_at(test.spec, "invariants")}
    assert names == set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", PAGE.rpartition("## ")[2]))
