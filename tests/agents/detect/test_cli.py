"""`muster detect`: what it refuses, and real processes with a real name server and a real bare repository."""

import shlex
import sys
from pathlib import Path

import pytest

import muster
from muster.agents.detect.report import Subject, read_report
from muster.data.kinds import KARMADA_CLUSTER
from tests.agents.detect.servers import dns_server, http_server
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository
from tests.support.patience import wait_until
from tests.support.processes import running

SUBJECT = Subject(KARMADA_CLUSTER, "member1", "ServiceDomainNameResolutionReady")
REF = "refs/heads/agents/member1"
QUICK = (
    *("--cluster", "member1", "--detect-period", "0.05", "--lease-duration", "1"),
    *("--detect-failure-threshold", "0.2", "--detect-success-threshold", "0.2"),
)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Give one of --remote, --relay and --file"),
        (("--remote", "x", "--file", "y"), "Give one of --remote, --relay and --file"),
        (("--relay", "http://x"), "--relay needs --token-file"),
        (("--remote", "x", "--token-file", "y"), "go with --relay"),
        (("--file", "y", "--tcp", "a:1", "--http", "http://a"), "exclude each other"),
        (("--file", "y", "--dns-server", "1.1.1.1"), "goes with --dns"),
        (("--file", "y", "--dns", "a", "--dns-server", "ns.example.com"), "is not HOST:PORT"),
        (("--file", "y", "--dns", "a", "--dns-server", "ns.example.com:53"), "is not an IP address"),
        (("--file", "y", "--http", "ftp://a"), "is not a URL"),
        (("--file", "y", "--tcp", "a"), "is not HOST:PORT"),
        (("--file", "y", "--tcp", "a:99999"), "is not HOST:PORT"),
        (("--file", "y", "--command", "'"), "No closing quotation"),
        (("--file", "y", "--command", " "), "is empty"),
        (("--file", "y", "--detect-period", "0"), "must be positive"),
        (("--file", "y", "--detect-period", "16"), "--lease-duration must be at least 3 times --detect-period"),
        (("--file", "y", "--detect-period", "soon"), "is not a duration"),
        (("--file", "y", "--detect-failure-threshold", "-1s"), "is negative"),
        (("--file", "y", "--condition", "no type"), "not a valid type of a condition"),
    ],
)
def test_usage(muster: Run, arguments: tuple[str, ...], complaint: str) -> None:
    code, _, errors = muster("detect", "--cluster", "member1", *arguments)
    assert code == 2
    assert complaint in errors


def test_a_table_is_checked(muster: Run, tmp_path: Path) -> None:
    table = tmp_path / "table.yaml"
    table.write_text("probes:\n- {clusters: [c1], condition: A, tcp: 'a:1', perod: 5s}\n")
    code, _, errors = muster("detect", "--table", table, "--remote", "x")
    assert code == 1
    assert f"{table}:2:46: " in errors
    assert "did you mean 'period'?" in errors
    for more, complaint in (
        ((), "--table needs --remote or --relay"),
        (("--remote", "x", "--tcp", "a:1"), "--tcp does not go with --table"),
        (("--remote", "x", "--detect-period", "1s"), "--detect-period does not go with --table"),
    ):
        code, _, errors = muster("detect", "--table", table, *more)
        assert (code, complaint in errors) == (2, True), errors
    code, _, errors = muster("detect", "--remote", "x")
    assert (code, "Give --cluster or --table" in errors) == (2, True)


@pytest.mark.parametrize("name", ["", "../x", "a b", "-x", "Member"])
def test_a_name_that_no_cluster_has(muster: Run, name: str) -> None:
    code, _, errors = muster("detect", f"--cluster={name}", "--file", "y")
    assert code == 2
    assert "is not a valid name of a cluster" in errors


def status(hub: Repo) -> str:
    """What stands on the ref: status and holder; empty while there is nothing."""
    if REF not in hub.refs():
        return ""
    report = read_report(SUBJECT, hub.show(SUBJECT.path, REF).encode())
    return f"{report.condition['status']} by {report.hold.holder if report.hold else ''}"


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "hub.git", bare=True)


def test_a_name_server_fails_and_recovers(hub: Repo) -> None:
    with dns_server() as server:
        probe = ("--dns", "kubernetes.default.svc", "--dns-server", server.address)
        target = ("--remote", str(hub.path), "--instance", "a")
        with running("detect", *QUICK, *probe, *target, environ=hub.environ) as detector:
            detector.wait_for("reported True: DNS kubernetes.default.svc: 1 addresses")
            server.healthy = False
            detector.wait_for("reported False: DNS kubernetes.default.svc: ")
            assert status(hub) == "False by a"
            server.healthy = True
            wait_until(lambda: status(hub) == "True by a")
    assert status(hub) == "True by "  # the lease was given up
    assert hub.git("rev-list", "--count", REF) == "1"


def test_another_instance_takes_over_from_one_that_was_killed(hub: Repo) -> None:
    with http_server() as server:
        arguments = ("detect", *QUICK, "--http", server.url, "--remote", str(hub.path), "--instance")
        with running(*arguments, "a", environ=hub.environ) as first:
            first.wait_for("reported True")
            with running(*arguments, "b", environ=hub.environ) as second:
                second.wait_for("a reports")
                first.kill()
                second.wait_for("reported True")
                wait_until(lambda: status(hub) == "True by b")
                server.status = 503
                wait_until(lambda: status(hub) == "False by b")


def test_a_command_and_a_file_of_a_work_tree(tmp_path: Path, hub: Repo) -> None:
    flag, file = tmp_path / "healthy", tmp_path / "fleet" / "clusters" / "member1" / "detector.yaml"
    script = f"import os, sys; sys.exit(not os.path.exists({str(flag)!r}))"
    command = shlex.join([sys.executable, "-c", script])
    flag.touch()
    with running("detect", *QUICK, "--command", command, "--file", str(file), environ=hub.environ) as detector:
        detector.wait_for("reported True")
        flag.unlink()
        detector.wait_for("reported False")
    assert read_report(SUBJECT, file.read_bytes()).healthy is False
    assert read_report(SUBJECT, file.read_bytes()).hold is None


def test_a_command_that_is_not_installed_reports_nothing(tmp_path: Path, hub: Repo) -> None:
    arguments = ("--command", "no-such-command-anywhere", "--remote", str(hub.path))
    with running("detect", *QUICK, *arguments, environ=hub.environ) as detector:
        detector.wait_for("no-such-command-anywhere: cannot be run")
    assert hub.refs() == {}


def test_a_remote_that_comes_back(tmp_path: Path, hub: Repo) -> None:
    away = tmp_path / "away.git"
    with http_server() as server:
        arguments = ("--tcp", f"127.0.0.1:{server.port}", "--remote", str(away))
        with running("detect", *QUICK, *arguments, environ=hub.environ) as detector:
            detector.wait_for("does not appear to be a git repository")
            new_repository(away, bare=True)
            detector.wait_for("reported True")


def test_muster_reads_what_is_reported(hub: Repo) -> None:
    """The report and its lease are sound parts of a fleet, and the built-in policy takes the condition over."""
    from datetime import UTC, datetime

    fleet = new_repository(hub.path.parent / "fleet")
    cluster = (
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: member1}\nspec: {syncMode: Pull}\n"
    )
    fleet.commit({"member1.yaml": cluster})
    fleet.git("push", "--quiet", str(hub.path), "main")
    with http_server() as server:
        server.status = 500
        target = ("--http", server.url, "--remote", str(hub.path))
        with running("detect", *QUICK, *target, environ=hub.environ) as detector:
            detector.wait_for("reported False")
    run = muster.evaluate(hub.path, datetime.now(UTC), "main")
    assert [found.message for found in run.findings] == []
    (body,) = [body for body in run.objects if body["kind"] == "Cluster"]
    conditions = {condition["type"]: condition["status"] for condition in body["status"]["conditions"]}
    assert conditions["ServiceDomainNameResolutionReady"] == "False"
