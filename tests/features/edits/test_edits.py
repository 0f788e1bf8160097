"""accept, deny and taint: one field, one commit, every comment where it was."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.commandline import Run
from tests.support.git import Repo, clone, new_repository

CLUSTER = """\
# The cluster in the cellar.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}   # short for "alpha"
spec:
  hubAcceptsClient: false  # until the cellar is dry
  taints:
  # its disks are slow
  - {key: example.com/slow, effect: PreferNoSelect}
---
# Its neighbour, in the same file.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: b
spec:
  leaseDurationSeconds: 90
"""
PROPOSAL = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: edge, labels: {region: eu, cluster.open-cluster-management.io/clusterset: prod}}
spec: {hubAcceptsClient: false, leaseDurationSeconds: 120, taints: []}
"""
SET = "cluster.open-cluster-management.io/clusterset"


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/ab.yaml": CLUSTER})
    return repo


def changed_lines(repo: Repo) -> list[str]:
    """What the last commit removed and added, without its headers."""
    lines = repo.git("show", "--format=", "-U0", "HEAD").splitlines()
    return [line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---"))]


def test_accept_changes_one_field_of_each_and_commits_once(fleet: Repo, muster: Run) -> None:
    before = fleet.git("rev-parse", "HEAD")
    code, out, _ = muster("accept", "--repo", fleet.path, "--clusters", "a,b")
    assert code == 0
    assert "ManagedCluster/a: accepted in clusters/ab.yaml" in out
    assert fleet.git("rev-parse", "HEAD^") == before
    assert fleet.git("log", "-1", "--format=%s") == "Accept a, b"
    assert changed_lines(fleet) == [
        "-  hubAcceptsClient: false  # until the cellar is dry",
        "+  hubAcceptsClient: true  # until the cellar is dry",
        "+  hubAcceptsClient: true",
    ]
    assert fleet.git("status", "--porcelain") == ""


def test_accepting_again_does_nothing(fleet: Repo, muster: Run) -> None:
    muster("accept", "--repo", fleet.path, "--clusters", "a")
    before = fleet.git("rev-parse", "HEAD")
    assert muster("accept", "--repo", fleet.path, "--clusters", "a") == (0, "nothing to do\n", "")
    assert fleet.git("rev-parse", "HEAD") == before


def test_deny_takes_it_back(fleet: Repo, muster: Run) -> None:
    muster("accept", "--repo", fleet.path, "--clusters", "a", "--clusters", "b")
    code, _, _ = muster("deny", "--repo", fleet.path, "--clusters", "a")
    assert code == 0
    assert changed_lines(fleet) == [
        "-  hubAcceptsClient: true  # until the cellar is dry",
        "+  hubAcceptsClient: false  # until the cellar is dry",
    ]


@pytest.fixture
def asking(fleet: Repo) -> Repo:
    """A cluster of which only its agent has spoken."""
    fleet.commit_to("refs/heads/agents/edge", {"cluster.yaml": PROPOSAL})
    return fleet


def test_a_cluster_of_which_only_its_agent_spoke_gets_a_file_with_what_it_proposed(asking: Repo, muster: Run) -> None:
    code, out, err = muster("accept", "--repo", asking.path, "--clusters", "edge")
    assert (code, err) == (0, "")
    assert "accepted, written to clusters/edge/cluster.yaml" in out
    text = (asking.path / "clusters/edge/cluster.yaml").read_text()
    assert "hubAcceptsClient: true" in text
    assert "leaseDurationSeconds: 120" in text
    code, out, _ = muster("get", "ManagedCluster/edge", "--repo", asking.path, "-o", "yaml")
    assert "HubAcceptedManagedCluster" in out


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ((), {}),
        (("--label", "region"), {"region": "eu"}),
        (("--label", f"region,{SET}"), {"region": "eu", SET: "prod"}),
        (("--with-labels",), {"region": "eu", SET: "prod"}),
    ],
    ids=["none", "one", "two", "all"],
)
@pytest.mark.parametrize("declared", [False, True], ids=["new", "declared"])
def test_labels_decide_what_runs_on_a_cluster_so_they_are_adopted_only_when_requested(
    asking: Repo, muster: Run, options: tuple[str, ...], taken: dict[str, str], declared: bool
) -> None:
    if declared:
        asking.commit({"clusters/edge/cluster.yaml": CLUSTER.partition("---")[0].replace("name: a", "name: edge")})
    code, out, err = muster("accept", "--repo", asking.path, "--clusters", "edge", *options)
    assert (code, err) == (0, "")
    body = yaml.safe_load((asking.path / "clusters/edge/cluster.yaml").read_text())
    assert body["metadata"].get("labels", {}) == taken
    assert [key for key in ("region=eu", f"{SET}=prod") if key in out] == ["region=eu", f"{SET}=prod"]
    assert ("not adopted" in out) is (len(taken) < 2)
    assert (", adopted\n" in out) is bool(taken)
    code, out, _ = muster("get", "ManagedCluster/edge", "--repo", asking.path, "-o", "json")
    # The agent goes on asking for what it was not given, and that is named; the set is the default one until then.
    assert json.loads(out)["metadata"].get("labels", {}) == {SET: "default", **taken}
    findings = muster("validate", "--repo", asking.path, "--rev", "HEAD")
    assert ("may not set metadata.labels" in "".join(map(str, findings))) is (len(taken) < 2)


def test_what_an_agent_keeps_at_the_path_on_its_own_ref_is_not_in_the_way(fleet: Repo, muster: Run) -> None:
    fleet.commit_to("refs/heads/agents/edge", {"clusters/edge/cluster.yaml": PROPOSAL})
    code, out, _ = muster("accept", "--repo", fleet.path, "--clusters", "edge")
    assert code == 0
    assert "ManagedCluster/edge: accepted, written to clusters/edge/cluster.yaml" in out


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("clusters/edge/cluster.yaml", "# to be written\n"),
        ("clusters/edge/cluster.yaml", "kind: [\n"),
        ("clusters/edge", "a file\n"),
        ("clusters/edge/cluster.yaml", CLUSTER),
    ],
    ids=["empty", "broken", "folder", "others"],
)
def test_a_new_file_takes_the_place_of_nothing(asking: Repo, muster: Run, path: str, text: str) -> None:
    asking.git("rm", "--quiet", "clusters/ab.yaml")
    asking.commit({path: text})
    tip = asking.tip()
    code, _, err = muster("accept", "--repo", asking.path, "--clusters", "edge")
    assert (code, asking.tip()) == (1, tip)
    assert f"{path} exists and holds something else" in err


def test_a_label_for_which_no_agent_asks_is_a_slip(asking: Repo, muster: Run) -> None:
    code, _, err = muster("accept", "--repo", asking.path, "--clusters", "edge", "--label", "regoin")
    assert code == 1
    assert "no agent of edge requests the label 'regoin'" in err
    assert "did you mean 'region'?" in err


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["example.com/new:NoSelect"], ["+  - key: example.com/new", "+    effect: NoSelect"]),
        (
            ["example.com/slow=very:PreferNoSelect"],
            [
                "-  - {key: example.com/slow, effect: PreferNoSelect}",
                "+  - {key: example.com/slow, effect: PreferNoSelect, value: very}",
            ],
        ),
    ],
)
def test_taint_adds_or_changes_one_line(fleet: Repo, muster: Run, arguments: list[str], lines: list[str]) -> None:
    code, _, err = muster("taint", "--repo", fleet.path, "--clusters", "a", "--", *arguments)
    assert (code, err) == (0, "")
    assert changed_lines(fleet) == lines


@pytest.mark.parametrize(("verb", "accepts"), [("accept", "true"), ("deny", "false")])
def test_a_cluster_known_from_committed_reports_alone_gets_a_file(
    fleet: Repo, muster: Run, verb: str, accepts: str
) -> None:
    report = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: late}\n"
    status = 'status: {conditions: [{type: T, status: "True", reason: R, message: m}]}\n'
    fleet.commit({"clusters/late/observed.yaml": report + status})
    code, out, err = muster(verb, "--repo", fleet.path, "--clusters", "late")
    assert (code, err) == (0, "")
    assert "written to clusters/late/cluster.yaml" in out
    assert f"hubAcceptsClient: {accepts}\n" in (fleet.path / "clusters/late/cluster.yaml").read_text()
    assert muster("get", "cluster/late", "-o", "name", "--repo", fleet.path)[0] == 0


def test_taint_adds_several_to_a_cluster_that_had_none_and_removes_them_again(fleet: Repo, muster: Run) -> None:
    code, _, err = muster("taint", "--repo", fleet.path, "--clusters", "b", "x=1:NoSelect", "x:NoSelectIfNew")
    assert (code, err) == (0, "")
    assert fleet.git("log", "-1", "--format=%s") == "Taint b: x=1:NoSelect x:NoSelectIfNew"
    code, out, err = muster("taint", "--repo", fleet.path, "--clusters", "b", "x-")
    assert (code, err) == (0, "")
    assert "ManagedCluster/b: taint x removed" in out
    assert "key: x" not in (fleet.path / "clusters/ab.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["accept", "--clusters", "aa"], "there is no ManagedCluster/aa"),
        (["taint", "--clusters", "a", "nothing-"], "no file has taint nothing of ManagedCluster/a"),
        (["taint", "--clusters", "a", "Not/A/Key:NoSelect"], "the fleet would not be valid afterwards"),
    ],
)
def test_what_cannot_be_done_changes_nothing(fleet: Repo, muster: Run, arguments: list[str], message: str) -> None:
    before = fleet.git("rev-parse", "HEAD")
    code, _, err = muster(arguments[0], "--repo", fleet.path, *arguments[1:])
    assert code == 1
    assert message in err
    assert fleet.git("rev-parse", "HEAD") == before
    assert fleet.git("status", "--porcelain") == ""


@pytest.mark.parametrize("text", ["", "k", "k:", ":NoSelect", "k=v", "=v:NoSelect", "-"])
def test_a_taint_that_is_none_is_a_mistake_of_usage(fleet: Repo, muster: Run, text: str) -> None:
    code, _, err = muster("taint", "--repo", fleet.path, "--clusters", "a", "--", text)
    assert code == 2
    assert "is not KEY[=VALUE]:EFFECT" in err


@pytest.mark.parametrize("effect", ["NoSelct", "Away"])
def test_an_effect_that_no_taint_has(fleet: Repo, muster: Run, effect: str) -> None:
    code, out, err = muster("taint", "--repo", fleet.path, "cluster/a", f"k:{effect}")
    assert (code, out) == (2, "")
    assert f"no taint has the effect {effect!r}: a Cluster's is NoExecute or NoSchedule; a ManagedCluster's" in err
    assert "NoSelect or NoSelectIfNew or PreferNoSelect" in err


def test_a_cluster_may_be_named_with_its_kind(fleet: Repo, muster: Run) -> None:
    assert muster("taint", "--repo", fleet.path, "cluster/a", "k:NoSelect")[0] == 0
    assert fleet.git("log", "-1", "--format=%s") == "Taint a: k:NoSelect"


def test_a_removal_that_is_under_way_is_not_accepted(fleet: Repo, muster: Run) -> None:
    text = CLUSTER.replace("{name: a}", '{name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}')
    fleet.commit({"clusters/ab.yaml": text})
    code, _, err = muster("accept", "--repo", fleet.path, "--clusters", "a")
    assert code == 1
    assert "ManagedCluster/a is being removed" in err


def test_a_person_who_edits_the_same_file_is_not_overwritten(fleet: Repo, muster: Run) -> None:
    fleet.write("clusters/ab.yaml", CLUSTER + "# a note that is not committed\n")
    code, _, err = muster("accept", "--repo", fleet.path, "--clusters", "a")
    assert code == 4
    assert "clusters/ab.yaml" in err
    assert "a note" in (fleet.path / "clusters/ab.yaml").read_text()


def test_push_sends_the_commit(fleet: Repo, muster: Run, tmp_path: Path) -> None:
    hub = new_repository(tmp_path / "hub.git", bare=True)
    fleet.git("remote", "add", "origin", str(hub.path))
    fleet.git("push", "--quiet", "origin", "main")
    code, out, err = muster("accept", "--repo", fleet.path, "--clusters", "a", "--push")
    assert (code, err) == (0, "")
    assert "pushed to origin" in out
    assert hub.git("rev-parse", "main") == fleet.git("rev-parse", "main")


def test_where_people_may_not_push_nothing_changes_and_the_hint_leads_to_a_pull_request(
    fleet: Repo, muster: Run, tmp_path: Path
) -> None:
    hub = clone(fleet, tmp_path / "hub.git", "--bare")
    hook = hub.write("hooks/pre-receive", "#!/bin/sh\necho main is protected >&2\nexit 1\n")
    hook.chmod(0o755)
    fleet.git("remote", "add", "origin", str(hub.path))
    before = fleet.tip()
    code, out, err = muster("accept", "--repo", fleet.path, "--clusters", "a", "--push")
    assert (code, out, fleet.tip(), hub.tip("main")) == (4, "", before, before)
    assert "main is protected" in err
    assert "without --push on a branch of yours" in err


def test_clusters_are_named_as_arguments(fleet: Repo, muster: Run) -> None:
    edits: list[tuple[list[str], str]] = [
        (["accept", "a", "b"], "Accept a, b"),
        (["deny", "a"], "Deny a"),
        (["taint", "a", "b", "disk=old:NoSelect"], "Taint a, b: disk=old:NoSelect"),
        (["taint", "b", "disk-"], "Taint b: disk-"),
        (["cordon", "b"], "Cordon b"),
    ]
    for arguments, subject in edits:
        code, _, err = muster(arguments[0], "--repo", fleet.path, *arguments[1:])
        assert (code, err) == (0, ""), arguments
        assert fleet.git("log", "-1", "--format=%s") == subject


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["accept"], "name a cluster"),
        (["taint", "a"], "name a taint"),
        (["taint", "x:NoSelect"], "name a cluster"),
        (["label", "a"], "name a label"),
        (["deny"], "name a cluster or a --request"),
    ],
)
def test_what_is_not_named_is_a_mistake_of_usage(
    fleet: Repo, muster: Run, arguments: list[str], complaint: str
) -> None:
    code, _, err = muster(arguments[0], "--repo", fleet.path, *arguments[1:])
    assert (code, complaint in err) == (2, True), err


def test_a_cordoned_cluster_keeps_what_it_has_and_is_let_in_again(fleet: Repo, muster: Run) -> None:
    muster("cordon", "b", "--repo", fleet.path)
    muster("drain", "b", "--timeout", "0s", "--repo", fleet.path)
    body = list(yaml.safe_load_all((fleet.path / "clusters/ab.yaml").read_text()))[1]
    assert body["spec"]["taints"] == [
        {"key": "muster.dev/cordoned", "effect": "NoSelectIfNew"},
        {"key": "muster.dev/drained", "effect": "NoSelect"},
    ]
    code, out, _ = muster("uncordon", "b", "--repo", fleet.path)
    assert (code, "taint muster.dev/drained removed" in out) == (0, True)
    assert "muster.dev" not in (fleet.path / "clusters/ab.yaml").read_text()
    assert muster("uncordon", "b", "--repo", fleet.path)[1] == "nothing to do\n"
