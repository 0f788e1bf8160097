"""Slips of the hand, one each, in a fleet that is fine otherwise: one message, at the right place, with a hint."""

from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: prod-eu-1
  labels:
    region: eu
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 60
"""
LEASE = """\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: managed-cluster-lease, namespace: prod-eu-1}
spec: {leaseDurationSeconds: 60, renewTime: "2026-01-01T00:00:00Z"}
"""
OBSERVED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: prod-eu-1}
status: {version: {kubernetes: v1.33.1}}
"""
TAINTS = """\
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata: {name: mine}
spec:
  target: {kind: ManagedCluster}
  taints:
  - {key: example.com/mine, effect: NoSelect, when: "self.spec.hubAcceptsClient == true"}
"""
BUDGET = """\
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: default}
spec: {cooldown: 10m}
"""
REMEDY = """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: r}
spec: {decisionMatches: [{clusterConditionMatch: {conditionType: Ready, operator: Equal, conditionStatus: False}}]}
"""
SETTINGS = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {heartbeats: {maxPerSecond: 20}}
"""
CLUSTER_FILE, LEASE_FILE, TAINTS_FILE, BUDGET_FILE = "c/1/cluster.yaml", "c/1/lease.yaml", "taints.yaml", "budget.yaml"
FLEET_FILE = "fleet.yaml"
FLEET = {
    FLEET_FILE: SETTINGS,
    CLUSTER_FILE: CLUSTER,
    LEASE_FILE: LEASE,
    "c/1/observed.yaml": OBSERVED,
    TAINTS_FILE: TAINTS,
    BUDGET_FILE: BUDGET,
}
EQUAL = "hubAcceptsClient == true"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = new_repository(tmp_path_factory.mktemp("slips") / "fleet")
    repo.commit(FLEET)
    return repo


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "message", "hint"),
    [
        (
            CLUSTER_FILE,
            "spec:",
            "<<<<<<< HEAD\nspec:\n=======\nspec:\n>>>>>>> theirs",
            ":7:1: error MUS001",
            "a merge conflict is not resolved here",
            "keep one side, and remove the lines that begin with <<<<<<<",
        ),
        (
            CLUSTER_FILE,
            "ManagedCluster",
            "MangedCluster",
            ":2:1: error MUS102",
            "no kind 'MangedCluster'",
            "did you mean 'ManagedCluster'?",
        ),
        (
            FLEET_FILE,
            "heartbeats",
            "hartbeats",
            ":4:8: error MUS201",
            "unknown field spec.hartbeats; the settings of the Fleet do not count: the defaults are in force",
            "did you mean 'heartbeats'?",
        ),
        (
            CLUSTER_FILE,
            "prod-eu-1",
            "Prod-EU-1",
            ":4:3: error MUS205",
            "metadata.name does not have the required form",
            "lower case letters, digits and '-': prod-eu-1?",
        ),
        (
            CLUSTER_FILE,
            "name: prod-eu-1",
            "nam: prod-eu-1",
            ":1:1: error MUS103",
            "ManagedCluster has no metadata.name",
            "every object needs apiVersion, kind and metadata.name",
        ),
        (
            CLUSTER_FILE,
            "Client: true",
            "Client: yes",
            ":8:3: error MUS202",
            "must be true or false, not 'yes'",
            "write true, without quotes",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: 60s",
            ":9:3: error MUS202",
            "must be a whole number, not '60s'",
            "write 60, without a unit or quotes",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: 5m",
            ":9:3: error MUS202",
            "must be a whole number, not '5m'",
            "write 300, without a unit or quotes",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: 1 min",
            ":9:3: error MUS202",
            "must be a whole number, not '1 min'",
            "write 60, without a unit or quotes",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: 0060",
            ":9:3: error MUS202",
            "must be a whole number, not '0060'",
            "write 60, with nothing but its digits",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: 1_00",
            ":9:3: error MUS202",
            "must be a whole number, not '1_00'",
            "write 100, with nothing but its digits",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: 0o60",
            ":9:3: error MUS202",
            "must be a whole number, not '0o60'",
            "write 48, a decimal number",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: '60'",
            ":9:3: error MUS202",
            "must be a whole number, not '60'",
            "write 60, without quotes",
        ),
        (
            BUDGET_FILE,
            "cooldown: 10m",
            "maxDisrupted: 0.3",
            ":4:8: error MUS202",
            "a whole number or a text, not 0.3",
            "write 30%",
        ),
        (
            BUDGET_FILE,
            "10m",
            "2 days",
            ":4:8: error MUS205",
            "spec.cooldown does not have the required form",
            "write it like 20s, 20m or 1h30m: 48h?",
        ),
        (
            TAINTS_FILE,
            f"self.spec.{EQUAL}",
            "now - lease.spec.renewTime > 5m",
            ":7:84: error MUS301",
            "unexpected 'm'",
            "write the length of time as duration('5m')",
        ),
        (
            CLUSTER_FILE,
            "region: eu",
            "region: 1.10",
            ":6:5: error MUS202",
            "must be a text, not 1.1",
            "put quotes around it, as it is written",
        ),
        (
            CLUSTER_FILE,
            "region: eu",
            "region: true",
            ":6:5: error MUS202",
            "must be a text, not true",
            'quote it: "true"',
        ),
        (
            CLUSTER_FILE,
            CLUSTER,
            "hello\n",
            ":1:1: error MUS009",
            "not a mapping; ManagedCluster/prod-eu-1 stays unchanged until then",
            "an object begins with `apiVersion:`",
        ),
        (
            LEASE_FILE,
            "2026-01-01T00:00:00Z",
            "yesterday",
            ":4:34: error MUS205",
            "'yesterday'; it counts as not sent",
            "write it like 2026-01-01T00:00:00Z",
        ),
        (
            BUDGET_FILE,
            "10m",
            "10",
            ":4:8: error MUS202",
            "spec.cooldown must be a text, not 10",
            "write it like 20s, 20m or 1h30m",
        ),
        (CLUSTER_FILE, "region: eu", "region: E U", ":6:5: error MUS205", "'E U'", "letters, digits and '-': E-U?"),
        (
            BUDGET_FILE,
            "10m",
            "10 minutes",
            ":4:8: error MUS205",
            "spec.cooldown does not have the required form",
            "write it like 20s, 20m or 1h30m",
        ),
        (
            TAINTS_FILE,
            "NoSelect",
            "NoSchedule",
            ":7:37: error MUS203",
            "no ManagedCluster takes the effect",
            "it takes NoSelect, NoSelectIfNew, PreferNoSelect",
        ),
        (
            TAINTS_FILE,
            EQUAL,
            "hubAcceptClient",
            ":7:64: error MUS302",
            "self.spec has no field 'hubAcceptClient'",
            "did you mean 'hubAcceptsClient'?",
        ),
        (
            TAINTS_FILE,
            EQUAL,
            "hubAcceptsClient = true",
            ":7:81: error MUS301",
            "unexpected character '='",
            "compare with ==",
        ),
        (
            TAINTS_FILE,
            EQUAL,
            "hubAcceptsClient == slef",
            ":7:84: error MUS302",
            "undeclared name 'slef'",
            "did you mean 'self'?",
        ),
        (
            TAINTS_FILE,
            f"self.spec.{EQUAL}",
            "self.metadata.name",
            ":7:68: error MUS302",
            "gives a string, but its place needs a bool",
            "compare it with a value: ... == ...",
        ),
        (
            TAINTS_FILE,
            f"self.spec.{EQUAL}",
            "self.metadata.name.len() > 3",
            ":7:73: error MUS302",
            "undeclared function 'len'",
            "write size(...)",
        ),
        (
            TAINTS_FILE,
            f"self.spec.{EQUAL}",
            "size(self.metadata.name > 3",
            ":7:81: error MUS301",
            "the expression ends too early",
            "expected ')' or ','",
        ),
        (
            TAINTS_FILE,
            "  - {key",
            "    {key",
            ":6:3: error MUS202",
            "spec.taints must be a list, not a mapping",
            "begin each entry with `- `",
        ),
        (
            CLUSTER_FILE,
            "  name:",
            "\tname:",
            ":4:1: error MUS002",
            "a tab is used as indentation",
            "replace the tab by spaces",
        ),
        (
            CLUSTER_FILE,
            "metadata:",
            "spec: {}\nmetadata:",
            ":8:1: error MUS003",
            "appears twice in one mapping",
            "keep one of the two",
        ),
        (
            TAINTS_FILE,
            f"self.spec.{EQUAL}",
            "status(conditions, 'ManagedClusterJoined') == true",
            ":7:97: error MUS302",
            "a string never equals a bool",
            "a condition's status is a string: 'True'",
        ),
        (
            CLUSTER_FILE,
            "Seconds: 60",
            "Seconds: {{ .lease }}",
            ":9:26: error MUS012",
            "key is a list or a mapping",
            "templates ({{ .Values.x }}) are not filled in here",
        ),
        (
            CLUSTER_FILE,
            "region: eu",
            "region: [eu, west]",
            ":6:5: error MUS202",
            "must be a text, not a list",
            'write one text: "eu, west"',
        ),
        (
            BUDGET_FILE,
            BUDGET,
            REMEDY,
            ":4:90: error MUS202",
            "conditionStatus must be a text, not false",
            'write "False", with quotes',
        ),
        (
            TAINTS_FILE,
            EQUAL,
            "hubAcceptsClient and true",
            ":7:81: error MUS301",
            "unexpected 'and'",
            "write && for and",
        ),
    ],
)
def test_a_slip_is_one_message_that_says_what_to_do(
    muster: Run,
    monkeypatch: pytest.MonkeyPatch,
    fleet: Repo,
    file: str,
    old: str,
    new: str,
    place: str,
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(fleet.path)
    path = fleet.path / file
    path.write_text(path.read_text().replace(old, new, 1))
    try:
        _, out, err = muster("validate")
    finally:
        path.write_text(FLEET[file])
    told = out + err
    assert told.count(" MUS") == 1, told
    assert told.startswith(f"{file}{place}"), told
    assert message in told.splitlines()[0], told
    assert f"{hint}" in told.partition("hint: ")[2], told


def test_a_file_in_utf_16_is_shown_without_its_bytes(
    muster: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repo = new_repository(tmp_path / "fleet")
    (repo.path / "cluster.yaml").write_bytes(CLUSTER.encode("utf-16"))
    monkeypatch.chdir(repo.path)
    assert "".join(muster("validate")[1:]).splitlines() == [
        "cluster.yaml:1:1: warning MUS006: the file is encoded in UTF-16 or UTF-32",
        "    hint: save it as UTF-8; or name the file in .musterignore",
        "1 warning",
    ]


def test_where_no_object_is_declared_it_is_said(muster: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(new_repository(tmp_path / "empty").path)
    code, out, err = muster("validate")
    assert (code, out) == (0, "0 objects, no findings\n")
    assert err == "no file here declares an object: run it in a fleet's repository, or name one with --repo\n"


def test_a_copied_file_is_one_message(muster: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({**FLEET, "c/9/cluster.yaml": CLUSTER})
    monkeypatch.chdir(repo.path)

    code, out, err = muster("validate")

    assert code == 1
    told, hint, count = (out + err).splitlines()
    assert told.startswith(
        "c/9/cluster.yaml:6:5: error MUS101: ManagedCluster/prod-eu-1 is written here and in c/1/clu"
    )
    assert told.endswith(": both set metadata.labels.region and 2 more")
    assert (hint.strip(), count) == (
        "hint: is this a copy? Give it another metadata.name, or keep one of the two",
        "1 error",
    )
