"""`muster test`: each case with what it missed, where it stands, and an exit code for CI."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.features.test.test_policytest import POLICY
from tests.support.commandline import Run
from tests.support.git import git_environ
from tests.support.patience import wait_until
from tests.support.processes import running

MISSING = POLICY.replace("reason: Fine}]\n        assertions", "reason: Other}]\n        assertions")
UNSOUND = POLICY.replace("  cases:\n", "  case:\n")


@pytest.mark.parametrize(
    ("text", "code", "out", "err"),
    [
        (POLICY, 0, "passed  PolicyTest/mine: it says so\n1 passed, 0 failed\n", ""),
        (MISSING, 1, "0 passed, 1 failed", ""),
        (UNSOUND, 1, "did you mean 'cases'?", ""),
        ("", 1, "", "no PolicyTest and no Drill here; --builtin runs those of the built-in policies"),
    ],
)
def test_it_says_what_held(text: str, code: int, out: str, err: str, muster: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    done = muster("test", "--repo", tmp_path)
    assert (done[0], out in done[1], err in done[2]) == (code, True, True), done


def test_what_failed_is_told_at_its_place(muster: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(MISSING)
    lines = muster("test", "--repo", tmp_path)[1].splitlines()
    assert lines[0] == "FAILED  PolicyTest/mine: it says so"
    assert lines[1].startswith("  policy.yaml:")
    assert "Other" in lines[1]
    code, out, _ = muster("test", "--repo", tmp_path, "-o", "json")
    (told,) = json.loads(out)
    assert (code, told["test"], told["case"], len(told["failures"])) == (1, "PolicyTest/mine", "it says so", 1)
    assert lines[1] == f"  {told['place']}: {told['failures'][0]}"


def test_coverage_is_told_of_each_policy(muster: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    code, out, err = muster("test", "--repo", tmp_path, "--require-coverage", "100")
    assert (code, err) == (1, "less than 100 % is covered\n")
    assert "policy.yaml:7:21: ConditionPolicy/mine: rule r is never false" in out
    assert " 50.0 % of   2 branches  ConditionPolicy/mine\n" in out
    root = ElementTree.fromstring(muster("test", "--repo", tmp_path, "--require-coverage", "100", "-o", "junit")[1])
    (case,) = root.findall(".//testcase[@classname='coverage']")
    assert (case.get("name"), case.get("file"), case.findtext("failure")) == (
        "ConditionPolicy/mine",
        "policy.yaml",
        "policy.yaml:7:21: rule r is never false",
    )
    (tmp_path / "policy.yaml").write_text(POLICY.partition("---")[0])
    code, out, _ = muster("test", "--repo", tmp_path, "--builtin", "-k", "csr-denial", "--coverage", "-o", "json")
    (told,) = json.loads(out)["coverage"]["policies"]
    assert (code, told["policy"], told["percent"], told["missing"]) == (0, "ConditionPolicy/csr-denial", 100, [])
    (tmp_path / "test.yaml").write_text(POLICY.partition("---")[2].replace("mine", "csr-denial"))
    out = muster("test", "--repo", tmp_path, "--coverage")[1]
    assert "  0.0 % of   2 branches  ConditionPolicy/mine: no test names it\n" in out


def test_watching_runs_what_is_concerned(tmp_path: Path) -> None:
    policy, test = POLICY.split("---\n", 1)
    other = test.replace("name: mine}", "name: other}")
    for name, text in (("policy.yaml", policy), ("a.yaml", test), ("b.yaml", other)):
        (tmp_path / name).write_text(text)
    with running("test", "--watch", "--repo", str(tmp_path), environ=git_environ(tmp_path)) as process:

        def after(name: str, text: str, tally: str) -> list[str]:
            seen = len(process.lines)
            (tmp_path / name).write_text(text)
            wait_until(lambda: process.lines[seen:].count(f"watching {tmp_path}") == 1, lambda: f"{process.lines}")
            told = process.lines[seen:]
            assert tally in told, told
            return told

        process.wait_for(f"watching {tmp_path}")
        assert "2 passed, 0 failed" in process.lines
        failed = after("b.yaml", other.replace("reason: Fine", "reason: Other"), "0 passed, 1 failed")
        assert not [line for line in failed if "PolicyTest/mine" in line], "the other test is not concerned"
        after("b.yaml", other, "1 passed, 0 failed")
        after("policy.yaml", policy.replace("reason: Fine", "reason: Other"), "0 passed, 2 failed")
        assert "did you mean 'cases'?" in "".join(
            after("a.yaml", test.replace("cases:", "case:"), "0 passed, 0 failed")
        )
        after("policy.yaml", policy, "1 passed, 0 failed")
        seen = len(process.lines)
        (tmp_path / "derived").mkdir()
        (tmp_path / "derived/c.yaml").write_text("x: 1\n")
        (tmp_path / "notes.txt").write_text("no data\n")
        after("a.yaml", test, "1 passed, 0 failed")
        assert process.lines[seen:].count(f"watching {tmp_path}") == 1, "what concerns no test runs none"


def test_watching_is_for_people(muster: Run, tmp_path: Path) -> None:
    assert muster("test", "--repo", tmp_path, "--watch", "-o", "json")[0] == 2
    assert muster("test", "--repo", tmp_path, "--watch", "--rev", "HEAD")[0] == 2
