"""Every kind of exchange with every kind of peer that does not let it end: it ends at its deadline, and says so."""

import json
import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from muster.agents.detect.probes import HttpProbe, TcpProbe
from muster.agents.heartbeat import availability, heartbeat
from muster.agents.heartbeat import cli as heartbeat_cli
from muster.agents.heartbeat.facts import read_facts, read_objects
from muster.agents.hub.relayed_ref import Credentials, RelayedRef
from muster.agents.kube import plugin
from muster.agents.kube.apiserver import ApiServer, Login
from muster.agents.kube.plugin import LoginPlugin
from muster.features.notify.mail import MailSink
from muster.features.plan.commenting import Api
from muster.features.pulses.amqp import AmqpSink
from muster.features.pulses.http import HttpSink
from muster.git.clock import wall_clock
from muster.git.push import list_remote_refs, scratch_repository
from muster.net.deadline import Deadline
from tests.support import slow_peers
from tests.support.commandline import Run, muster
from tests.support.git import new_repository
from tests.support.slow_peers import Script, peer, within

__all__ = ["muster"]  # a fixture
LIMIT = 0.6
#: On a busy machine. A peer that starts a time limit again with each piece is never done.
SLACK = 20.0
EVENT = {
    "id": "1",
    "source": "muster",
    "type": "t",
    "specversion": "1.0",
    "time": "2026-01-01T00:00:00Z",
    "subject": "s",
    "data": {"text": "t", "severity": "info"},
}

Exchange = Callable[[int], object]


def mail(scheme: str) -> Exchange:
    return lambda port: MailSink(
        f"{scheme}://127.0.0.1:{port}", sender="a@b", to=["c@d"], timeout=timedelta(seconds=LIMIT)
    ).send(EVENT)


def webhook(scheme: str) -> Exchange:
    def send(port: int) -> None:
        sink = HttpSink(f"{scheme}://127.0.0.1:{port}", mode="structured", timeout=timedelta(seconds=LIMIT))
        try:
            sink.send(EVENT)
        finally:
            sink.close()

    return send


def amqp(scheme: str) -> Exchange:
    def send(port: int) -> None:
        pytest.importorskip("pika")
        sink = AmqpSink(f"{scheme}://127.0.0.1:{port}", mode="structured", timeout=timedelta(seconds=LIMIT))
        try:
            sink.send(EVENT)
        finally:
            sink.close()

    return send


def asked(call: Callable[[ApiServer], object], scheme: str = "http") -> Exchange:
    def ask(port: int) -> object:
        server = ApiServer(f"{scheme}://127.0.0.1:{port}", limit_seconds=LIMIT, list_seconds=LIMIT, verify=False)
        try:
            return call(server)
        finally:
            server.close()

    return ask


def facts(server: ApiServer) -> object:
    deadline = Deadline.after(LIMIT)
    found = read_facts(lambda path: server.get_json(path, deadline))
    read_objects(lambda path: server.get_json(path, deadline), "c", ["ns"])
    return f"{deadline.missed}: {found}"


def relayed(port: int) -> object:
    return RelayedRef(f"http://127.0.0.1:{port}", "c", LIMIT, Credentials(), wall_clock).look()


def comment(port: int) -> object:
    return list(Api(f"http://127.0.0.1:{port}", {}, Deadline.after(LIMIT)).pages("/x"))


def git(url: str) -> Exchange:
    def ask(port: int) -> object:
        environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_PROXY_COMMAND": ""}
        with scratch_repository(environ, ".") as scratch:
            return list(list_remote_refs(scratch, url.format(port=port), (), LIMIT))

    return ask


def git_by_ssh(port: int) -> object:
    """The program that git starts for SSH gives what the peer says to git."""
    program = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3'"
    environ = {**os.environ, "GIT_SSH_COMMAND": program, "GIT_SSH_VARIANT": "simple"}
    with scratch_repository(environ, ".") as scratch:
        return list(list_remote_refs(scratch, "ssh://git@127.0.0.1/x.git", (), LIMIT))


def traces(scheme: str) -> Exchange:
    def send(port: int) -> object:
        pytest.importorskip("opentelemetry.sdk")
        from muster.features.metrics import tracing

        with pytest.MonkeyPatch.context() as patch, tracing._Session() as session:
            patch.setattr(tracing, "_TIMEOUT_SECONDS", LIMIT)
            return session.post(f"{scheme}://127.0.0.1:{port}", data=b"x", timeout=60, verify=False)

    return send


HTTP: dict[str, Script] = {
    "silent": slow_peers.silent,
    "head": slow_peers.HEAD,
    "continues": slow_peers.CONTINUES,
    "greeting": slow_peers.GREETING,
}
READS: dict[str, Script] = {**HTTP, "body": slow_peers.BODY, "chunks": slow_peers.CHUNKS}
REPLIES = {name: script for name, script in READS.items() if name != "greeting"}
PAGES: dict[str, Script] = {**READS, "pages": slow_peers.paged}
SECURE: dict[str, Script] = {"silent": slow_peers.silent, "handshake": slow_peers.TLS}
MAIL: dict[str, Script] = {
    "silent": slow_peers.silent,
    "greeting": slow_peers.GREETING,
    "greetings": slow_peers.GREETINGS,
    "replies": slow_peers.REPLIES,
}

EXCHANGES: dict[str, tuple[Exchange, dict[str, Script], str]] = {
    "mail": (mail("smtp"), MAIL, "127.0.0.1: no answer within 0.6 seconds"),
    "mail over TLS": (mail("smtps"), SECURE, "127.0.0.1: no answer within 0.6 seconds"),
    "webhook": (webhook("http"), HTTP, "no answer within 0.6 seconds"),
    "webhook over TLS": (webhook("https"), SECURE, "no answer within 0.6 seconds"),
    "RabbitMQ": (amqp("amqp"), {"silent": slow_peers.silent, "start": slow_peers.AMQP}, "no answer within 0.6 seconds"),
    "RabbitMQ over TLS": (amqp("amqps"), SECURE, "no answer within 0.6 seconds"),
    "an object": (asked(lambda server: server.get_json("/x")), READS, "does not answer: no answer within 0.6 seconds"),
    "a collection": (asked(lambda server: list(server.list("/x"))), PAGES, "no answer within 0.6 seconds"),
    "a watch": (asked(lambda server: list(server.watch("/x", 0.1))), READS, "no answer within 0.7 seconds"),
    "an object over TLS": (asked(lambda server: server.get_json("/x"), "https"), SECURE, "no answer within 0.6 s"),
    "facts": (asked(facts), PAGES, "no answer within 0.6 seconds: {}"),
    "a relay": (relayed, READS, "the relay does not answer"),
    "a forge": (comment, READS, "does not answer"),
    "traces": (traces("http"), READS, "imed out"),
    "traces over TLS": (traces("https"), SECURE, "imed out"),
    "git over HTTP": (git("http://127.0.0.1:{port}/x.git"), REPLIES, "git ls-remote: no answer within 0.6 seconds"),
    "git over TLS": (git("https://127.0.0.1:{port}/x.git"), SECURE, "git ls-remote: no answer within 0.6 seconds"),
    "git's own protocol": (
        git("git://127.0.0.1:{port}/x.git"),
        {"silent": slow_peers.silent, "reply": slow_peers.GIT},
        "git ls-remote: no answer within 0.6 seconds",
    ),
    "git over SSH": (
        git_by_ssh,
        {"silent": slow_peers.silent, "reply": slow_peers.GIT},
        "git ls-remote: no answer within 0.6 seconds",
    ),
    "an HTTP probe": (lambda port: HttpProbe(f"http://127.0.0.1:{port}/", LIMIT).run(), HTTP, "no answer within 0.6 s"),
    "an HTTP probe over TLS": (
        lambda port: HttpProbe(f"https://127.0.0.1:{port}/", LIMIT).run(),
        SECURE,
        "no answer within 0.6 seconds",
    ),
    "a TCP probe": (lambda port: TcpProbe("127.0.0.1", port, LIMIT).run(), {"silent": slow_peers.silent}, "connected"),
}


@pytest.mark.parametrize(
    ("exchange", "script"), [(one, other) for one, (_, scripts, _) in EXCHANGES.items() for other in scripts]
)
def test_an_exchange_ends_at_its_deadline(exchange: str, script: str) -> None:
    call, scripts, said = EXCHANGES[exchange]
    with peer(scripts[script]) as port:
        assert said in within(LIMIT + SLACK, lambda: call(port))


def test_a_login_plugin_that_drips_is_killed_with_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(plugin, "_LIMIT_SECONDS", LIMIT)
    program = tmp_path / "login"
    drip = "while :; do printf x; sleep 0.1; done"
    program.write_text(f"#!/bin/sh\n({drip}) & {drip}\n")
    program.chmod(0o755)
    server = ApiServer("http://127.0.0.1:1", Login(plugin=LoginPlugin((str(program),), {}, "v")))
    assert (
        within(LIMIT + SLACK, lambda: server.get_json("/x")) == "the login plugin login did not end within 0.6 seconds"
    )


@pytest.mark.parametrize("script", [slow_peers.paged, slow_peers.CHUNKS])
@pytest.mark.parametrize("more", [(), ("--works",)])
def test_a_lease_is_renewed_whatever_the_api_server_does(
    tmp_path: Path, muster: Run, monkeypatch: pytest.MonkeyPatch, script: Script, more: tuple[str, ...]
) -> None:
    for module, name in ((heartbeat_cli, "_FACTS_SECONDS"), (availability, "FAILURE_THRESHOLD_SECONDS")):
        monkeypatch.setattr(module, name, LIMIT)
    monkeypatch.setattr(heartbeat_cli, "ApiServer", partial(ApiServer, limit_seconds=LIMIT, list_seconds=LIMIT))
    monkeypatch.setattr(heartbeat, "RETRY_SECONDS", LIMIT)
    seed = new_repository(tmp_path / "seed")
    cluster = {
        "kind": "ManagedCluster",
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "metadata": {"name": "edge"},
        "spec": {"hubAcceptsClient": True},
    }
    seed.commit(
        {
            "fleet.yaml": "{apiVersion: muster.dev/v1alpha1, kind: Fleet, metadata: {name: f}}\n",
            "clusters/edge.yaml": json.dumps(cluster),
        }
    )
    muster("reconcile", "--repo", str(seed.path))
    hub = new_repository(tmp_path / "fleet.git", bare=True)
    seed.git("push", "--quiet", str(hub.path), "main")
    with peer(script) as port:
        asked = ("--cluster", "edge", "--remote", str(hub.path), "--api-server", f"http://127.0.0.1:{port}")
        code, out, err = muster("heartbeat", *asked, *more)
        assert (code, "renewed" in out) == (0, True), (out, err)
        seed.git("fetch", "--quiet", str(hub.path), "agents/edge")
        assert "renewTime" in seed.git("show", "FETCH_HEAD:lease.yaml")
