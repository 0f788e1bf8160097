"""`-o` of the commands that report: the same exit codes in every format, and nothing beside it on standard output."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from muster.cli import exits
from muster.cli.reports import REPORTS
from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run
from tests.support.git import new_repository

NOW = ("--now", "2026-01-01T00:00:00Z")
TYPO = "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: a}\nspec: {acions: []}\n"


@pytest.mark.parametrize("output", sorted(REPORTS))
def test_validate(tmp_path: Path, muster: Run, output: str) -> None:
    (tmp_path / "a.yaml").write_text(TYPO)
    code, out, err = muster("validate", "--repo", tmp_path, "-o", output)
    assert (code, err, "acions" in out) == (exits.FINDINGS, "", True)
    (tmp_path / "a.yaml").write_text(cluster("a"))
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


def test_plan_writes_what_is_wrong_beside_what_would_change(tmp_path: Path, muster: Run) -> None:
    """Of a branch only what it brings; in as many formats as there are readers."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": TYPO, "b.yaml": cluster("a")})
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit({"c.yaml": TYPO.replace("acions", "actons").replace("name: a", "name: c")})
    files = {name: tmp_path / f"found.{name}" for name in REPORTS}
    options = [f"--findings={name}={file}" for name, file in files.items()]
    code, out, err = muster("plan", "--repo", repo.path, *NOW, *options)
    assert (code, "2 errors" in err, "2 derived" in out or "derived file" in out) == (exits.FINDINGS, True, True)
    assert all("acions" in file.read_text() and "actons" in file.read_text() for file in files.values())
    muster("plan", "--repo", repo.path, "--base", "main", *NOW, *options)
    assert all("acions" not in file.read_text() and "actons" in file.read_text() for file in files.values())
    _, out, _ = muster("plan", "--repo", repo.path, "--base", "main", *NOW, "--findings", "github=-")
    assert [line for line in out.splitlines() if line.startswith("::error file=c.yaml,line=4,")]


@pytest.mark.parametrize(
    ("option", "told"),
    [("sarif", "'sarif' is not FORMAT=FILE"), ("text=a", "a format of github, gitlab"), ("json=/no/where", "No such")],
)
def test_findings_of_a_plan_that_go_nowhere(option: str, told: str, tmp_path: Path, muster: Run) -> None:
    new_repository(tmp_path / "fleet").commit({"b.yaml": cluster("a")})
    code, _, err = muster("plan", "--repo", tmp_path / "fleet", *NOW, "--findings", option)
    assert (code, told in err) == (exits.USAGE, True), err


def test_policy_tests(muster: Run, tmp_path: Path) -> None:
    code, out, _ = muster("test", "--repo", tmp_path, "--builtin", "-k", "managed-cluster-available", "-o", "junit")
    root = ElementTree.fromstring(out)
    assert code == exits.FINE
    assert int(root.get("tests") or 0) == len(list(root.iter("testcase"))) > 1
    cases = json.loads(
        muster("test", "--repo", tmp_path, "--builtin", "-k", "managed-cluster-available", "-o", "json")[1]
    )
    assert [case.get("name") for case in root.iter("testcase")] == [case["case"] or case["test"] for case in cases]
