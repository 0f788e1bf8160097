"""Slips on the command line, and questions about the example fleet: each has an answer that says what to do."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commandline import Make, Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T12:02:00Z"
#: What Python prints of its values.
_PYTHON = re.compile(r"\{'|=\['|\bNone\b|OptionalValue\(")


def _example(path: Path) -> Repo:
    repo = new_repository(path)
    shutil.copytree(EXAMPLE, repo.path, dirs_exist_ok=True)
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message", "The fleet at noon")
    return repo


@pytest.fixture
def repo(tmp_path: Path, once: Callable[[Path, Make], Repo]) -> Repo:
    return once(tmp_path / "fleet", _example)


@pytest.fixture
def fleet(repo: Repo) -> Path:
    return repo.path


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _example(tmp_path_factory.mktemp("original") / "fleet").path


@pytest.fixture
def shared(original: Path, muster: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet that no test changes, with what the runs of the others have kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(original.parent))
    monkeypatch.chdir(original)
    return original


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("get clusters --sort-by .spec.nosuch", "--sort-by: none of these objects has the field .spec.nosuch"),
        ("get clusters --sort-by=", "--sort-by: a path is missing: write one, as in .metadata.name"),
        ("get clusters -o jsonpath", "write what to print, as in jsonpath='{.items[*].metadata.name}'"),
        ("get cluster/a b", "cluster/a names one object: write KIND/NAME for each, or KIND NAME NAME."),
        ("get clusters -l region=eu,", "-l: 'region=eu,' has an empty requirement: write region=eu,tier!=test"),
        ("explain managedcluster.spec.taints.kee", "has no field 'kee'; did you mean 'key'?"),
        ("explain MUS1", "no finding has the code MUS1: a code has three digits, as in MUS302"),
        ("explain nosuch.spec", "no kind is called 'nosuch'; write KIND/NAME, as in cluster/NAME"),
        ("explain cluster/prod-eu-1 Availabl", "has no decided field 'Availabl'; did you mean 'Available'?"),
        ("explain fleet/example", "nothing is decided about Fleet/example"),
        ("history prod-eu-1 --since 12x", "'12x' is not a duration such as 90s, 30m, 2h or 7d"),
        ("history placement/web --now 2020-01-01T00:00:00Z", "no commit until 2020-01-01T00:00:00Z derives"),
        ("wait placement/shop/web --for revision=x", "only a Cluster, a ManagedCluster or a Rollout can"),
        ("wait clusters prod-eu-1 prod-eu-2 --for condition=Ready", "wait for one object"),
        ("wait cluster/prod-eu-1 prod-eu-2 --for condition=Ready", "wait for one object"),
        ("plan --report cluster/prod-eu-1 Ready=Maybe", "a condition cannot be 'Maybe'; write True, False, Unknown"),
        ("plan --report cluster/prod-eu-1 Ready=false", "a condition cannot be 'false'; did you mean 'False'?"),
        ("plan --lose regoin=eu", "no cluster has these labels; did you mean 'region'?"),
        ("label prod-eu-1 a=b a-", "name each label once"),
        ("export endpoints --format haproxy", "no load balancer is called 'haproxy'; there is nginx"),
        ("init fleet.yaml/x", "fleet.yaml/x cannot be created: Not a directory"),
        ("site fleet.yaml/x", "fleet.yaml/x cannot be created: "),
        ("forecast --renew nope*", "--renew: no cluster is called 'nope*'"),
        ("join --cluster c1 --relay relay.example.com", "'relay.example.com' is no URL such as https://"),
        ("detect --table nope --remote hub.git", "--table: there is no file nope"),
    ],
)
def test_a_slip_is_wrong_usage(command: str, said: str, shared: Path, muster: Run) -> None:
    now = (
        []
        if "--now" in command
        or command.startswith(("label", "init", "join", "detect", "explain m", "explain M", "explain n"))
        else ["--now", NOW]
    )
    code, out, err = muster(*command.split(), *now)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("get placement web -n shopp", "there is no placement/web in namespace shopp"),
        ("get cluster shop", "there is no cluster/shop"),
        ("label prod-eu-1 bad+key=x", "metadata.labels cannot have the key 'bad+key'"),
        ("taint member-eu-1 disk:NoSelect", "hint: one of: NoSchedule, NoExecute"),
        ("taint prod-eu-1 cluster.open-cluster-management.io/unreachable:NoSelect", "hint: use a key of your own"),
        ("accept member-eu-1", "Cluster/member-eu-1 is a cluster of Karmada, which needs no acceptance"),
        ("claim c9 --pool ci --namespace other", "no ClusterPool named 'ci' in namespace other; it is in pools"),
        ("claim c9 --pool ci --lifetime 100h", "allows a lifetime of at most 1d, not 100h"),
        ("claim c9 --pool ci --lifetime 0s", "'0s' is not a lifetime such as 90m, 8h or 24h"),
        ("wait cluster prod-eu-1 --for condition=Redy --timeout 0s", "no condition Redy; did you mean 'Ready'?"),
    ],
)
def test_what_the_fleet_does_not_allow_is_refused(command: str, said: str, shared: Path, muster: Run) -> None:
    code, _, err = muster(*command.split())
    assert code == 1
    assert said in err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "get clusters,placements -o name",
            "managedcluster.cluster.open-cluster-management.io/stage-us-1\nplacement.cluster.open-cluster-management.io/shop/search\n",
        ),
        (
            "get cluster/prod-eu-1 placement/web -o name",
            "managedcluster.cluster.open-cluster-management.io/prod-eu-1\nplacement.cluster.open-cluster-management.io/shop/web\n",
        ),
        ("get cluster prod-eu-1 -n shop -o name", "managedcluster.cluster.open-cluster-management.io/prod-eu-1\n"),
        ("get placementdecisions", "prod-eu-2, prod-us-1\n"),
        ("get clusters -o wide", "VERSION   SET     ROLLOUTS   URL\n"),
        ("get placements", "shop        web      all      6 "),
        ("explain managedcluster.spec.taints.key", "ManagedCluster.spec.taints.key: string\n"),
        ("explain managedcluster.spec.taints", "  timeAdded: string (date-time)\n"),
        ("explain managedcluster.status.muster", "Bookkeeping of muster about the object."),
        ("explain managedcluster.status.conditions.status", ".status: True | False | Unknown\n"),
        ("explain fleet", "Fleet (muster.dev/v1alpha1)\n"),
        ("explain policytest.spec.given.fleet", "PolicyTest.spec.given.fleet: object\n"),
        ("explain claim/review-42", "next change by time: 2026-01-01T19:50:00Z\n"),
        ("explain placement/shop/web decisionGroups", "until    2026-01-01T12:05:00Z"),
        ("describe placementdecision/web-decision-1", "Status:\n  decisions:\n  - clusterName: new-ap-1\n"),
        ("describe taintpolicy/managed-cluster-builtin-taints", "variables.available == 'False' && "),
        ("describe prod-ap-2", "Status:\n  version:\n    kubernetes: v1.33.4\n"),
        ("history placement/web --since 400d", "clusters joined: "),
        (
            "wait placement/shop/web --for decision=prod-eu-1",
            "placement.cluster.open-cluster-management.io/shop/web: condition met\n",
        ),
        (
            "wait prod-eu-1 --for condition=Ready",
            "managedcluster.cluster.open-cluster-management.io/prod-eu-1: condition met\n",
        ),
        ("plan --report placement/shop/web Example=False", "Next change without new input"),
        ("plan --report prod-eu-1 ManagedClusterConditionAvailable=False", "prod-eu-1 unavailable; search moved to"),
        ("forecast --for 0s", f"{NOW}  now  prod-ap-2 Unknown\n"),
        ("replay HEAD..HEAD", "no run of muster made a commit in this range"),
        ("test --builtin -k assignable", " passed, 0 failed"),
        ("label managedcluster prod-eu-1 a=b", "ManagedCluster/prod-eu-1: label a set to b"),
        ("claim c9 --pool pools/ci", "ClusterClaim/pools/c9: "),
    ],
)
def test_a_question_has_an_answer(
    command: str, said: str, request: pytest.FixtureRequest, muster: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = command.split()
    monkeypatch.chdir(request.getfixturevalue("fleet" if words[0] in ("label", "claim") else "shared"))
    later = {"history": "2027-01-01T00:00:00Z"}.get(words[0], NOW)
    timeless = words[0] in ("label", "replay", "test") or (words[0] == "explain" and "/" not in words[1])
    code, out, err = muster(*words, *([] if timeless else ["--now", later]))
    assert (code, err) == (0, "")
    assert said in out


@pytest.mark.parametrize("object_", ["cd/ci-7", "mcing/shop", "report/prod-eu-2/validation", "placement/shop/web"])
def test_an_explanation_has_no_values_of_python(object_: str, shared: Path, muster: Run) -> None:
    code, out, _ = muster("explain", object_, "--repo", shared, "--now", NOW)
    assert code == 0
    assert [line for line in out.splitlines() if _PYTHON.search(line)] == []


def test_a_finding_is_waived_by_any_name_of_its_object(repo: Repo, muster: Run) -> None:
    file = repo.path / "clusters/eu/prod-eu-1/cluster.yaml"
    taint = "{key: cluster.open-cluster-management.io/unreachable, effect: NoSelect}"  # a policy decides it: MUS238
    file.write_text(file.read_text().replace("spec:\n", f"spec:\n  taints: [{taint}]\n"))
    repo.git("commit", "--quiet", "--all", "--message", "A taint")
    why = ("--reason", "known", "--owner", "ops", "--until", "2026-03-01", "--repo", repo.path, "--now", NOW)
    for named in ("prod-eu-1", "cluster/prod-eu-1"):
        code, out, err = muster("waive", "MUS238", named, *why)
        assert (code, err) == (0, "")
    assert out.startswith("nothing to do\n")


def test_a_plan_and_a_table_show_what_a_reconcile_commits(repo: Repo, muster: Run) -> None:
    """Pools take several passes: a claim ends, its cluster is marked, then deleted."""
    source = ("--repo", repo.path, "--now", "2026-01-02T00:00:00Z")
    _, plan, _ = muster("plan", *source)
    (one,) = re.findall(r"^ClusterDeployment/ci-1/ci-1\n((?:  .*\n)+)", plan, re.MULTILINE)
    assert "  ~ bucket: claimed -> deleting\n" in one
    assert "  + deletion: requested" in one
    _, before, _ = muster("get", "clusterdeployments", *source)
    code, committed, _ = muster("reconcile", *source)
    assert code == 0
    assert "ClusterDeployment/ci-1/ci-1: bucket claimed -> deleting\n" in committed
    assert muster("get", "clusterdeployments", *source)[1] == before


def test_what_a_person_has_not_committed_is_theirs(repo: Repo, muster: Run) -> None:
    file = repo.path / "clusters/eu/prod-eu-1/cluster.yaml"
    file.write_text(file.read_text().replace("env: prod", "env: stage"))
    code, _, err = muster("label", "prod-eu-1", "a=b", "--repo", repo.path)
    assert code == 4
    assert err == (
        "error: the work tree has uncommitted changes that would be overwritten: clusters/eu/prod-eu-1/cluster.yaml\n"
        "hint: commit them, or put them aside with git stash\n"
    )
    repo.git("rm", "-r", "--quiet", "--force", "clusters/eu/prod-eu-1")
    assert muster("label", "prod-eu-1", "a=b", "--repo", repo.path)[2] == err


@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        ("clusters/eu/prod-eu-1/observed.yaml", 'status: "True"', "status: True", 'hint: write "True", with quotes'),
        ("policies/supported-version.yaml", "reason: VersionTooOld", "reason: too old", "in CamelCase: TooOld?"),
        ("clusters/eu/prod-eu-1/cluster.yaml", "name: prod-eu-1", "name: 123", "must be a text: quote it"),
    ],
)
def test_one_mistake_is_one_finding(file: str, before: str, after: str, said: str, fleet: Path, muster: Run) -> None:
    text = (fleet / file).read_text()
    assert before in text
    (fleet / file).write_text(text.replace(before, after, 1))
    code, out, _ = muster("validate", "--repo", fleet)
    assert code == 1
    assert said in out
    assert out.endswith("\n1 error\n")


def test_a_line_that_ignores_a_folder_is_one_message(fleet: Path, muster: Run) -> None:
    (fleet / ".musterignore").write_text("clusters/eu/*\n")
    code, out, _ = muster("validate", "--repo", fleet)
    assert (code, out.count("MUS110")) == (1, 1)
    assert "    and 45 more files that `.musterignore` names\n" in out


def test_the_example_takes_all_advice(repo: Repo, muster: Run) -> None:
    assert muster("lint", "--repo", repo.path, "--now", NOW) == (0, "nothing found\n", "")


def test_a_lease_that_was_copied_is_advice(repo: Repo, muster: Run) -> None:
    file = repo.path / "clusters/eu/prod-eu-1/lease.yaml"
    file.write_text(file.read_text().replace("namespace: prod-eu-1", "namespace: prod-eu-19"))
    repo.git("commit", "--quiet", "--all", "--message", "A copy")
    _, out, _ = muster("lint", "--repo", repo.path)
    assert "names the cluster 'prod-eu-19', which does not exist\n    hint: did you mean 'prod-eu-1'?" in out
    assert "counts for cluster 'prod-eu-1', which its label names" in out


def test_nothing_with_such_labels_is_no_silence(shared: Path, muster: Run) -> None:
    code, out, err = muster("get", "clusters", "-l", "regoin=eu", "--repo", shared, "--now", NOW)
    assert (code, out, err) == (0, "", "no clusters with labels regoin=eu\n")


def test_a_fleet_in_a_folder_of_another_repository_is_a_repository(fleet: Path, muster: Run) -> None:
    code, out, _ = muster("init", fleet / "inner")
    assert (code, (fleet / "inner/.git").is_dir()) == (0, True)
    assert out.startswith("initialized a git repository in ")


def test_a_group_of_commands_shows_its_help(muster: Run) -> None:
    code, out, err = muster("export")
    assert (code, out) == (2, "")
    assert err.startswith("Usage: muster export ")
