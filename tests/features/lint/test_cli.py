"""lint as people use it."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import new_repository
from tests.support.living import REMEDY, cluster

FRESH = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: fresh}
spec:
  target: {kind: ManagedCluster}
  type: Fresh
  rules:
  - {name: fresh, when: now - lease.spec.renewTime < duration('5m'), status: "True", reason: Fresh, message: ""}
  - {name: fresher, when: now - lease.spec.renewTime < duration('1m'), status: "True", reason: Fresh, message: ""}
"""


def test_what_it_prints_and_how_it_ends(muster: Run, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a")})
    assert muster("lint", "--repo", repo.path) == (0, "nothing found\n", "")
    repo.commit({"r.yaml": REMEDY.replace("ConditionAvailable", "ConditionAvailabel")})
    code, out, _ = muster("lint", "--repo", repo.path)
    assert code == 1
    assert "r.yaml:6:29: warning MUS602: Remedy/r waits for ManagedClusterConditionAvailabel" in out
    assert "did you mean 'ManagedClusterConditionAvailable'?" in out
    code, out, _ = muster("lint", "--repo", repo.path, "--rev", "HEAD", "-o", "json")
    assert [found["code"] for found in json.loads(out)] == ["MUS602"]


def test_what_is_proved_and_what_is_found_with_an_example(muster: Run, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a"), "policies/fresh.yaml": FRESH})
    code, out, _ = muster("lint", "--repo", repo.path, "--prove", "-v")
    assert code == 1
    assert out.startswith(
        "policies/fresh.yaml:8:19: warning MUS607: rule 'fresh' of ConditionPolicy/fresh can fail\n"
        "    lease: {}\n"
        '    now: "2026-01-01T12:00:00Z"\n'
        "    hint: guard what may be missing or malformed: has(...), or a matchCondition\n"
        "policies/fresh.yaml:9:5: warning MUS606: rule 'fresher' of ConditionPolicy/fresh can never decide: "
        "wherever it holds, 'fresh' before it holds\n"
        "    hint: remove it, or move it before the rule that prevents it\n"
        "2 warnings\n"
    )
    assert (
        "ConditionPolicy/managed-cluster-available: 5 rules can decide, 9 expressions never fail, 2 invariants" in out
    )
    assert "  switched off by its parameters: rule 'bootstrap'\n" in out
    assert "questions not decided" not in out


def test_without_the_solver(muster: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a")})
    monkeypatch.setitem(sys.modules, "z3", None)  # how Python itself spells that there is none
    code, _, err = muster("lint", "--repo", repo.path, "--prove")
    assert code == 2
    assert "--prove needs an extra: pip install " in err
    assert muster("lint", "--repo", repo.path)[0] == 0
