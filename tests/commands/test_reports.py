"""`-o` of the commands that report: the same exit codes in every format, and nothing beside it on standard output."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from muster.commands import exits
from muster.output.reports import REPORTS
from tests.acts.test_walkthrough import cluster
from tests.commands.conftest import Run

TYPO = "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: a}\nspec: {acions: []}\n"


@pytest.mark.parametrize("output", sorted(REPORTS))
def test_validate(tmp_path: Path, muster: Run, output: str) -> None:
    (tmp_path / "a.yaml").write_text(TYPO)
    code, out, err = muster("validate", "--repo", tmp_path, "-o", output)
    assert (code, err, "acions" in out) == (exits.FINDINGS, "", True)
    (tmp_path / "a.yaml").unlink()
    assert muster("validate", "--repo", tmp_path, "-o", output)[0] == exits.FINE


@pytest.mark.parametrize("output", sorted(REPORTS))
def test_lint(tmp_path: Path, muster: Run, output: str) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: a}\nspec:\n  decisionMatches:\n"
        "  - clusterConditionMatch: {conditionType: NobodySays, operator: Equal, conditionStatus: 'False'}\n"
        "  actions: [TrafficControl]\n"
    )
    (tmp_path / "b.yaml").write_text(cluster("a"))
    code, out, _ = muster("lint", "--repo", tmp_path, "-o", output)
    assert (code, "NobodySays" in out) == (exits.FINDINGS, True)


def test_policy_tests(muster: Run, tmp_path: Path) -> None:
    code, out, _ = muster("test", "--repo", tmp_path, "--builtin", "-k", "managed-cluster-available", "-o", "junit")
    root = ElementTree.fromstring(out)
    assert code == exits.FINE
    assert int(root.get("tests") or 0) == len(list(root.iter("testcase"))) > 1
    cases = json.loads(
        muster("test", "--repo", tmp_path, "--builtin", "-k", "managed-cluster-available", "-o", "json")[1]
    )  # fmt: skip
    assert [case.get("name") for case in root.iter("testcase")] == [case["case"] or case["test"] for case in cases]
