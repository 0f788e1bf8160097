"""`muster waive`, and what every verb says of what is waived."""

import json
from pathlib import Path

import pytest

from tests.features.lint.test_cli import FRESH
from tests.rules.checks.test_waivers import CLUSTERS
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

AS_OF = ("--now", "2026-02-01T00:00:00Z")
WHY = ("--reason", "the vendor mends it", "--owner", "sre@example.com")
UNTIL = (*WHY, "--until", "2100-03-01")
NONE = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: none}
spec:
  target: {kind: NodePool}
  type: X
  rules: [{name: r, status: "True", reason: R, message: m}]
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": CLUSTERS, "p.yaml": NONE})
    return repo


def test_a_fleet_with_a_known_error_is_checked_without_failing(muster: Run, repo: Repo) -> None:
    assert muster("validate", "--repo", repo.path)[0] == 1
    code, out, _ = muster("waive", "MUS222", "ManagedCluster/a", *UNTIL, *AS_OF, "--repo", repo.path)
    assert (code, "Waive MUS222 of ManagedCluster/a\n  MUS222 about ManagedCluster/a: muster.dev/" in out) == (0, True)
    assert muster("waive", "MUS201", "ManagedCluster/b", *UNTIL, *AS_OF, "--repo", repo.path)[0] == 0
    code, out, _ = muster("validate", "--repo", repo.path)
    assert code == 0
    assert out == (
        "a.yaml:9:8: error MUS201: unknown field spec.hubAcceptClient\n    hint: did you mean 'hubAcceptsClient'?\n"
        "    waived until 2100-03-01 by sre@example.com: the vendor mends it\n2 waived\n"
    )
    more = CLUSTERS.replace("hubAcceptClient: true", "hubAcceptClient: true, x: 1")
    (repo.path / "a.yaml").write_text(f"# one line more\n{more}")
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, out.splitlines()[-1]) == (1, "1 error, 2 waived"), "another problem is not hidden"


def test_warm_runs_tell_what_cold_ones_do(muster: Run, repo: Repo, tmp_path: Path) -> None:
    state = ("--state", tmp_path / "state")
    for name, about in (("MUS222", "ManagedCluster/a"), ("MUS201", "ManagedCluster/b")):
        muster("waive", name, about, *UNTIL, *AS_OF, "--repo", repo.path)
    first = muster("reconcile", "--repo", repo.path, *AS_OF, *state)
    assert (first[0], first[2].splitlines()[-1]) == (0, "2 waived")
    others = {f"{n}.yaml": CLUSTERS.partition("---")[0].replace("name: a", f"name: {n}") for n in "cdefgh"}
    for number, (path, text) in enumerate(others.items()):
        repo.commit({path: text})
        now = ("--now", f"2026-02-01T00:00:{number + 10}Z")
        code, _, err = muster("reconcile", "--repo", repo.path, *now, *state, "-v")
        cold = muster("plan", "--repo", repo.path, *now, "--state", tmp_path / f"none{number}")[2]
        assert (code, [line for line in err.splitlines() if "looked at" not in line]) == (0, cold.splitlines())
    assert "the whole fleet" not in err
    late = muster("plan", "--repo", repo.path, "--now", "2100-03-01T00:00:00Z", *state)
    assert (late[0], late[2].count("MUS703")) == (1, 2), "no state keeps a waiver beyond its day"


def test_lint_and_its_advice(muster: Run, repo: Repo) -> None:
    assert muster("lint", "--repo", repo.path, *AS_OF)[0] == 1
    muster("waive", "MUS601", "ConditionPolicy/none", *UNTIL, *AS_OF, "--repo", repo.path)
    assert muster("lint", "--repo", repo.path, *AS_OF) == (0, "nothing found (1 waived)\n", "")
    code, out, _ = muster("lint", "--repo", repo.path, "--now", "2100-02-20T00:00:00Z")
    assert (code, "warning MUS704: Waiver/mus601-conditionpolicy-none expires on 2100-03-01" in out) == (1, True)
    assert "MUS703" in muster("lint", "--repo", repo.path, "--now", "2100-03-01T00:00:00Z")[1]
    repo.commit({"p.yaml": NONE.replace("NodePool", "ManagedCluster")})
    assert "warning MUS705" in muster("lint", "--repo", repo.path, *AS_OF)[1]


def test_what_is_proved_of_a_policy(muster: Run, repo: Repo) -> None:
    repo.commit({"fresh.yaml": FRESH})
    code, out, _ = muster("waive", "MUS606", "ConditionPolicy/fresh", *UNTIL, *AS_OF, "--repo", repo.path)
    assert (code, "rule 'fresher' of ConditionPolicy/fresh can never decide" in out) == (0, True)
    assert "MUS705" not in muster("lint", "--repo", repo.path, *AS_OF)[1], "lint does not look for it without --prove"


def test_a_branch_that_adds_one_says_so(muster: Run, repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "feature")
    muster("waive", "MUS222", "ManagedCluster/a", *UNTIL, *AS_OF, "--repo", repo.path)
    code, out, err = muster("plan", "--base", "main", "--repo", repo.path, *AS_OF)
    told = "note MUS701: MUS222 of ManagedCluster/a is waived until 2100-03-01 by sre@example.com: the vendor mends it"
    assert (code, told in err, "mended" in out) == (0, True, False)


def test_it_is_extended(muster: Run, repo: Repo) -> None:
    muster("waive", "MUS222", "ManagedCluster/a", *UNTIL, *AS_OF, "--repo", repo.path)
    path = repo.path / "waivers/mus222-managedcluster-a.yaml"
    repo.commit({"waivers/mus222-managedcluster-a.yaml": f"# kept\n{path.read_text()}"})
    later = (*WHY, "--until", "2101-01-01")
    assert muster("waive", "MUS222", "ManagedCluster/a", *later, *AS_OF, "--repo", repo.path)[0] == 0
    assert path.read_text().startswith("# kept\n")
    assert 'until: "2101-01-01"' in path.read_text()
    assert muster("waive", "MUS222", "ManagedCluster/a", *later, *AS_OF, "--repo", repo.path)[1].startswith("nothing")


@pytest.mark.parametrize(
    ("code", "about", "until", "told"),
    [
        ("MUS2222", "ManagedCluster/a", "2100-01-01", "no finding has the code MUS2222\nhint: did you mean 'MUS222'?"),
        ("MUS490", "ManagedCluster/a", "2100-01-01", "MUS490 cannot be waived"),
        ("MUS222", "ManagedCluster/b", "2100-01-01", "about ManagedCluster/b\nhint: findings about it: MUS201"),
        ("MUS222", "ManagedCluster/aa", "2100-01-01", "did you mean 'ManagedCluster/a'?"),
        ("MUS222", "ManagedCluster/a", "2026-02-01", "'2026-02-01' is not a day in the future"),
        ("MUS222", "ManagedCluster/a", "tomorrow", "'tomorrow' is not a day in the future"),
    ],
)
def test_refusals(code: str, about: str, until: str, told: str, muster: Run, repo: Repo) -> None:
    done = muster("waive", code, about, *WHY, "--until", until, *AS_OF, "--repo", repo.path)
    assert (done[0], told in done[2]) == (1, True), done


def test_a_name_that_is_taken(muster: Run, repo: Repo) -> None:
    named = ("--name", "one", "--repo", repo.path)
    assert muster("waive", "MUS222", "ManagedCluster/a", *UNTIL, *AS_OF, *named)[0] == 0
    code, _, err = muster("waive", "MUS201", "ManagedCluster/b", *UNTIL, *AS_OF, *named)
    assert (code, "Waiver/one is about something else" in err) == (1, True)


def test_documents_have_both(muster: Run, repo: Repo) -> None:
    muster("waive", "MUS222", "ManagedCluster/a", *UNTIL, *AS_OF, "--repo", repo.path)
    found = json.loads(muster("validate", "--repo", repo.path, "-o", "json")[1])
    assert [(one["code"], one["waiver"] and one["waiver"]["name"]) for one in found] == [
        ("MUS222", "mus222-managedcluster-a"),
        ("MUS201", None),
    ]
    assert all(len(one["digest"]) == 16 for one in found)
    (run,) = json.loads(muster("validate", "--repo", repo.path, "-o", "sarif")[1])["runs"]
    assert ["suppressions" in one for one in run["results"]] == [True, False]
