"""Traces of real runs, by a receiver of OTLP over HTTP that reads what it is sent."""

import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.features.pulses.test_walkthrough import cluster
from tests.features.watch.test_cli import line_with, watching
from tests.support.forking import muster_command
from tests.support.git import Repo, copy, new_repository


class Receiver(ThreadingHTTPServer):
    """Keeps the spans that it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans, self.resource = list[Any](), dict[str, str]()
        self.moved_to = ""

    @property
    def environ(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server_port}"}

    def below(self, name: str) -> list[str]:
        """The names of the spans below the one of a name."""
        own = [span.span_id for span in self.spans if span.name == name]
        return [span.name for span in self.spans if span.parent_span_id in own]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        if self.server.moved_to:
            self.send_response(307)
            self.send_header("Location", self.server.moved_to)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        assert self.path == "/v1/traces"
        sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        for of in sent.resource_spans:
            self.server.resource |= {one.key: one.value.string_value for one in of.resource.attributes}
            self.server.spans.extend(span for scope in of.scope_spans for span in scope.spans)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Nothing is logged."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a.yaml": cluster("a")})
    return repo


def reconcile(repo: Repo, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*muster_command(repo.environ), "reconcile", "--repo", str(repo.path), *arguments],
        env={**repo.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_is_a_span_with_its_steps_and_the_commands_of_git_below(repo: Repo, receiver: Receiver) -> None:
    done = reconcile(repo, **receiver.environ, OTEL_RESOURCE_ATTRIBUTES="deployment.environment=prod")
    assert (done.returncode, done.stderr) == (0, "")
    assert receiver.resource.items() >= {
        ("service.name", "muster"),
        ("muster.fleet", "fleet"),
        ("deployment.environment", "prod"),
    }
    (run,) = (span for span in receiver.spans if span.name == "run")
    said = {one.key: one.value for one in run.attributes}
    assert said["muster.commit"].string_value == repo.git("rev-parse", "main")
    assert said["muster.transitions"].int_value > 0
    steps = [name for name in receiver.below("run") if not name.startswith("git ")]
    assert steps == sorted(steps, key=["listening", "comparing", "reading", "deciding", "committing", "keeping"].index)
    assert {"listening", "reading", "deciding", "committing"} <= set(steps)
    assert any(name.startswith("git ") for name in receiver.below("committing"))
    assert min(span.start_time_unix_nano for span in receiver.spans) == run.start_time_unix_nano
    assert max(span.end_time_unix_nano for span in receiver.spans) == run.end_time_unix_nano
    assert len({span.trace_id for span in receiver.spans}) == 1
    assert not any(" " in span.name.removeprefix("git ") for span in receiver.spans), "no arguments"


def test_traces_stay_on_the_origin_that_is_named(repo: Repo, receiver: Receiver) -> None:
    with Receiver() as other:
        Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
        receiver.moved_to = f"http://127.0.0.1:{other.server_port}/v1/traces"
        assert reconcile(repo, **receiver.environ, OTEL_EXPORTER_OTLP_HEADERS="token=secret").returncode == 0
        other.shutdown()
    assert other.spans == []


def test_a_run_that_fails_says_so(repo: Repo, receiver: Receiver) -> None:
    repo.git("remote", "add", "origin", "https://ada:secret@127.0.0.1:1/fleet.git")
    assert reconcile(repo, "--push", **receiver.environ).returncode == 4
    (run,) = (span for span in receiver.spans if span.name == "run")
    assert run.status.code == 2
    assert run.status.message
    assert "secret" not in str(receiver.spans)


def test_a_watch_traces_each_run_and_ends_in_time(repo: Repo, receiver: Receiver) -> None:
    with watching(Repo(repo.path, {**repo.environ, **receiver.environ})) as process:
        line_with(process, "a accepted")
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert [span.name for span in receiver.spans].count("run") == 1


def test_a_receiver_that_does_not_answer_costs_a_moment(repo: Repo) -> None:
    began = time.monotonic()
    done = reconcile(repo, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert done.returncode == 0
    assert time.monotonic() - began < 10


def modules_of(repo: Repo, environ: dict[str, str]) -> str:
    """What a `reconcile` in a process of its own prints, and then all modules that it has imported."""
    seen = "import sys; from muster.commandline import run; run(sys.argv[1:]); print([*sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", seen, "reconcile", "--repo", str(repo.path)],
        env={**repo.environ, **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    "environ", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}]
)
def test_where_nobody_asks_nothing_of_it_is_there(repo: Repo, environ: dict[str, str], tmp_path: Path) -> None:
    modules_of(copy(repo.path, tmp_path / "first"), {})  # compiles the expressions: the first run of all imports more
    modules = modules_of(repo, environ)
    assert "muster.features.reconcile.reconcile" in modules
    assert "opentelemetry" not in modules
    assert "prometheus_client" not in modules
    assert modules.count("'muster.") <= 420, "each module costs half a millisecond: import on use"
