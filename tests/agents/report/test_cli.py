"""`muster report` and `muster get pulses`, as an adapter uses them: real repositories, a real remote."""

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.support.commandline import Run
from tests.support.git import Repo, clone, new_repository

CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1}
spec: {hubAcceptsClient: true}
"""
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {adapters: {ManagedCluster: [dns, validation]}}
"""
NOW = ("--now", "2026-01-01T12:00:00Z")
AGENT = "refs/heads/agents/c1"


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"fleet.yaml": FLEET, "c1.yaml": CLUSTER})
    hub = clone(repo, tmp_path / "hub.git", "--bare")
    repo.git("remote", "add", "origin", str(hub.path))
    return repo


def reported(repo: Repo, ref: str, path: str) -> dict[str, object]:
    body: dict[str, object] = yaml.safe_load(repo.git("show", f"{ref}:{path}"))
    return body


def test_two_adapters_share_the_ref_of_their_cluster(muster: Run, fleet: Repo) -> None:
    for adapter in ("dns", "validation"):
        code, out, _ = muster(
            "report",
            "--repo",
            str(fleet.path),
            "--cluster",
            "c1",
            "--adapter",
            adapter,
            "--observed-generation",
            "3",
            "--condition",
            "Available=False:NoZone:no zone: yet",
            "--data",
            '{"zone": "x"}',
            *NOW,
        )
        assert (code, out.split(maxsplit=1)[1]) == (0, f"{adapter} reported on ManagedCluster/c1 at generation 3\n")
    hub = fleet.git("remote", "get-url", "origin")
    assert fleet.git("--git-dir", hub, "rev-list", "--count", AGENT) == "1"
    assert fleet.git("--git-dir", hub, "ls-tree", "-r", "--name-only", AGENT).split() == [
        "reports/dns.yaml",
        "reports/validation.yaml",
    ]
    fleet.git("fetch", "--quiet", "origin", f"{AGENT}:{AGENT}")
    assert reported(fleet, AGENT, "reports/dns.yaml")["spec"] == {
        "resource": {"kind": "ManagedCluster", "name": "c1"},
        "adapter": "dns",
        "observed_generation": 3,
        "observed_time": "2026-01-01T12:00:00Z",
        "conditions": [
            {"type": "Available", "status": "False", "reason": "NoZone", "message": "no zone: yet"},
            {"type": "Applied", "status": "True"},
            {"type": "Health", "status": "True"},
        ],
        "data": {"zone": "x"},
    }


@pytest.mark.parametrize("name", ["zz/agents/a", "A", "a_b", "../a", "-a"])
@pytest.mark.parametrize(
    "verb",
    [
        ("report", "--adapter", "dns", "--observed-generation", "3", "--condition", "Available=True"),
        ("heartbeat", "--remote", "hub.git", "--api-server", "http://127.0.0.1:1"),
        ("detect", "--remote", "hub.git"),
    ],
    ids=lambda verb: verb[0],
)
def test_cluster_option_takes_names_of_clusters_alone(muster: Run, verb: tuple[str, ...], name: str) -> None:
    code, _, err = muster(*verb, f"--cluster={name}")
    assert code == 2
    said = f"{name!r} is not a valid name of a cluster", f"metadata.namespace does not have the required form: {name!r}"
    assert any(text in err for text in said)


def test_an_unknown_is_withheld_unless_it_is_asked_for(muster: Run, fleet: Repo) -> None:
    arguments = (
        "report",
        "--repo",
        str(fleet.path),
        "--local",
        "--cluster",
        "c1",
        "--adapter",
        "dns",
        "--observed-generation",
        "1",
        "--condition",
        "Available=Unknown",
        *NOW,
    )
    code, out, _ = muster(*arguments)
    assert (code, out) == (0, "not sent: Available is Unknown, so the previous report stays valid\n")
    assert fleet.git("for-each-ref", AGENT) == ""
    assert muster(*arguments, "--even-unknown")[0] == 0
    assert reported(fleet, AGENT, "reports/dns.yaml")["kind"] == "AdapterReport"


def test_an_adapter_answers_a_pulse_with_what_its_job_says(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    code, out, _ = muster("get", "pulses", "--repo", str(fleet.path), *NOW, "-o", "jsonpath={.items[0]}")
    assert code == 0
    event = tmp_path / "event.json"
    event.write_text(out, encoding="utf-8")
    assert json.loads(out)["data"] == {
        "kind": "ManagedCluster",
        "name": "c1",
        "generation": 1,
        "reason": "new-resource",
    }
    job = tmp_path / "job.yaml"
    job.write_text(
        "metadata: {annotations: {hyperfleet.io/generation: '1'}}\n"
        "status: {conditions: [{type: Complete, status: 'True'}]}\n",
        encoding="utf-8",
    )
    for adapter in ("dns", "validation"):
        asked = ("--adapter", adapter, "--event", str(event), "--job", str(job))
        code, _, err = muster("report", "--repo", str(fleet.path), "--local", *asked, *NOW)
        assert (code, err) == (0, "")
    assert muster("reconcile", "--repo", str(fleet.path), *NOW)[0] == 0
    _, out, _ = muster("get", "managedclusters/c1", "--repo", str(fleet.path), *NOW, "-o", "json")
    conditions = {c["type"]: c["status"] for c in json.loads(out)["status"]["conditions"]}
    assert (conditions["Ready"], conditions["Available"]) == ("True", "True")
    _, out, err = muster("get", "pulses", "--repo", str(fleet.path), *NOW)
    assert (out, err.splitlines()[0]) == ("", "no pulse is due")
    _, out, _ = muster("get", "reports", "--repo", str(fleet.path), *NOW)
    assert [line.split()[1:3] for line in out.splitlines()[1:-1]] == [["dns", "1"], ["validation", "1"]]
    assert out.splitlines()[-1].startswith("agents heard until ")


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  creationTimestamp: "2026-01-01T11:58:00Z"
  generation: 1
  labels: {app: dns}
  name: dns-c1
  namespace: jobs
  resourceVersion: "4711"
  uid: 0b9b0a86-95d4-4b17-9f6b-3f1d7f3f2b11
spec:
  backoffLimit: 1000000
  template: {spec: {containers: [{image: dns:1, name: dns}], restartPolicy: OnFailure}}
status:
  active: 1
"""
DONE = JOB.replace(
    "  active: 1\n",
    """\
  completionTime: "2026-01-01T11:59:00Z"
  conditions:
  - {lastTransitionTime: "2026-01-01T11:59:00Z", status: "True", type: SuccessCriteriaMet}
  - {lastTransitionTime: "2026-01-01T11:59:00Z", reason: CompletionsReached, status: "True", type: Complete}
  succeeded: 1
""",
)
FAILED = DONE.replace("SuccessCriteriaMet", "FailureTarget").replace("type: Complete", "type: Failed")
OF_2 = "metadata:\n  annotations: {hyperfleet.io/generation: '2'}\n"
UNKNOWN = "not sent: Available is Unknown, so the previous report stays valid\n"


@pytest.mark.parametrize(
    ("job", "asked", "available", "said"),
    [
        (DONE, 3, "True", "dns reported on ManagedCluster/c1 at generation 3\n"),
        (FAILED, 3, "False", "dns reported on ManagedCluster/c1 at generation 3\n"),
        (JOB, 3, None, UNKNOWN),
        (json.dumps({"kind": "List", "items": [yaml.safe_load(DONE)]}), 3, "True", "at generation 3\n"),
        (DONE.replace("metadata:\n", OF_2), None, "True", "at generation 2\n"),
        (DONE.replace("metadata:\n", OF_2), 2, "True", "at generation 2\n"),
        (
            DONE.replace("metadata:\n", OF_2),
            3,
            None,
            "not sent: the Job is of generation 2, not 3, so the previous report stays valid\n",
        ),
    ],
    ids=["done", "failed", "at-it", "list", "annotated", "agrees", "of-another"],
)
def test_a_job_as_kubectl_prints_it_is_enough(
    muster: Run, fleet: Repo, tmp_path: Path, job: str, asked: int | None, available: str | None, said: str
) -> None:
    (tmp_path / "job.yaml").write_text(job, encoding="utf-8")
    generation = () if asked is None else ("--observed-generation", str(asked))
    code, out, err = muster(
        "report",
        "--repo",
        str(fleet.path),
        "--local",
        "--cluster",
        "c1",
        "--adapter",
        "dns",
        *generation,
        "--job",
        str(tmp_path / "job.yaml"),
        *NOW,
    )
    assert (code, err) == (0, "")
    assert out.endswith(said)
    if available is None:
        assert fleet.git("for-each-ref", AGENT) == ""
        return
    body = yaml.safe_load(fleet.git("show", f"{AGENT}:reports/dns.yaml"))
    assert body["spec"]["conditions"][0] == {"type": "Available", "status": available}


@pytest.mark.parametrize(
    ("job", "more", "text"),
    [
        ("", (), "it does not hold a Job"),
        ("kind: Pod\n", (), "it holds a Pod, not a Job"),
        ("a: [", (), "neither JSON nor YAML"),
        (
            DONE.replace("metadata:\n", OF_2.replace("'2'", "two")),
            (),
            "hyperfleet.io/generation is not a generation: 'two'",
        ),
        (DONE, ("--condition", "Available=True"), "--job and --condition both give Available"),
    ],
)
def test_a_job_that_says_nothing_is_refused(
    muster: Run, fleet: Repo, tmp_path: Path, job: str, more: tuple[str, ...], text: str
) -> None:
    (tmp_path / "job.yaml").write_text(job, encoding="utf-8")
    code, _, err = muster(
        "report",
        "--repo",
        str(fleet.path),
        "--local",
        "--cluster",
        "c1",
        "--adapter",
        "dns",
        "--observed-generation",
        "1",
        "--job",
        str(tmp_path / "job.yaml"),
        *more,
        *NOW,
    )
    assert (code, text in " ".join(err.split())) == (2, True)


@pytest.mark.parametrize("relative", [False, True])
def test_without_a_repository_a_url_or_a_path_is_enough(
    muster: Run, fleet: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, relative: bool
) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    monkeypatch.chdir(nowhere)
    hub = fleet.git("remote", "get-url", "origin")
    remote = os.path.relpath(hub) if relative else hub
    code, _, err = muster(
        "report",
        "--repo",
        str(nowhere),
        "--remote",
        remote,
        "--cluster",
        "c1",
        "--adapter",
        "dns",
        "--observed-generation",
        "1",
        "--condition",
        "Available=True",
        *NOW,
    )
    assert (code, err) == (0, "")
    assert fleet.git("--git-dir", hub, "rev-list", "--count", AGENT) == "1"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--cluster", "c1", "--condition", "Available=True"), "--observed-generation is missing"),
        (("--observed-generation", "1", "--condition", "Available=True"), "--cluster is missing"),
        (("--cluster", "c1", "--observed-generation", "1"), "--condition Available=... is missing"),
        (("--cluster", "c1", "--observed-generation", "1", "--condition", "Available=yes"), "cannot be 'yes'"),
        (("--cluster", "c1", "--observed-generation", "1", "--condition", "Available"), "is not TYPE=STATUS"),
        (("--object", "Nodepool/x", "--observed-generation", "1", "--condition", "Available=True"), "NodePool"),
        (("--object", "NodePool/x", "--observed-generation", "1", "--condition", "Available=True"), "also --cluster"),
        (("--cluster", "C_1", "--observed-generation", "1", "--condition", "Available=True"), "not valid"),
        (("--cluster", "c1", "--observed-generation", "1", "--condition", "Available=True", "--data", "["), "not JSON"),
    ],
)
def test_a_slip_is_said_first(muster: Run, fleet: Repo, arguments: tuple[str, ...], text: str) -> None:
    code, _, err = muster("report", "--repo", str(fleet.path), "--adapter", "dns", *arguments, *NOW)
    assert code == 2
    assert text in err
    assert fleet.git("for-each-ref", "refs/heads/agents") == ""


def test_a_large_deep_report_is_sent_at_its_own_size(muster: Run, fleet: Repo) -> None:
    data = '{"x": ' + "[" * 50 + ",".join("1" for _ in range(20_000)) + "]" * 50 + "}"
    arguments = (
        "report",
        "--repo",
        fleet.path,
        "--local",
        "--cluster",
        "c1",
        "--adapter",
        "dns",
        "--observed-generation",
        "1",
        "--condition",
        "Available=True",
        *NOW,
    )
    assert muster(*arguments, "--data", data)[0] == 0
    assert len(fleet.git("show", f"{AGENT}:reports/dns.yaml")) < 2 * len(data)
    for _ in range(2):
        code, out, err = muster("reconcile", "--repo", fleet.path, *NOW)
        assert (code, err) == (0, "")
    assert out == "nothing to do\n"
    assert len(fleet.git("show", "HEAD:derived/adapterreports/c1/dns.yaml")) < 2 * len(data)


@pytest.mark.parametrize("data", ["x" * (1 << 20), [0] * 200_000], ids=["bytes", "values"])
def test_a_report_that_the_fleet_could_not_read_is_not_sent(muster: Run, fleet: Repo, data: object) -> None:
    event = json.dumps({"x": data})
    code, _, err = muster(
        "report",
        "--repo",
        fleet.path,
        "--local",
        "--cluster",
        "c1",
        "--adapter",
        "dns",
        "--observed-generation",
        "1",
        "--condition",
        "Available=True",
        "--data",
        event,
    )
    assert (code, "the fleet could not read the report" in err) == (2, True)
    assert fleet.git("for-each-ref", AGENT) == ""
