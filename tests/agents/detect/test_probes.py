"""Probes against real processes and real servers."""

import errno
import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from muster.agents.detect.probes import BoundedProbe, CommandProbe, DnsProbe, HttpProbe, ProbeResult, TcpProbe
from tests.agents.detect.servers import dns_server, http_server
from tests.support.patience import wait_until


def has_reader(fifo: Path) -> bool:
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        assert error.errno == errno.ENXIO
        return False
    return True


LIMIT = 30.0  # patience, for what should answer at once


@pytest.mark.parametrize(("status", "healthy"), [(0, True), (1, False), (7, False)])
def test_a_command_works_if_its_status_is_zero(status: int, healthy: bool) -> None:
    sight = CommandProbe([sys.executable, "-c", f"raise SystemExit({status})"], LIMIT).run()
    assert sight.healthy is healthy
    assert sight.detail.endswith(f"ended with status {status}")


def test_a_command_that_is_not_there_is_no_observation() -> None:
    sight = CommandProbe(["no-such-command-anywhere"], LIMIT).run()
    assert sight.healthy is None
    assert "cannot be run" in sight.detail


def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = f"import subprocess; subprocess.run(['sh', '-c', 'exec 3<>{fifo}; sleep 600'])"
    sight = CommandProbe([sys.executable, "-c", script], 1.0).run()
    assert sight.healthy is False
    assert "no end within 1 seconds" in sight.detail
    wait_until(lambda: not has_reader(fifo))


def test_what_a_command_prints_without_end_goes_nowhere() -> None:
    assert CommandProbe(["yes"], 0.2).run().healthy is False


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (204, True), (302, True), (404, False), (503, False)])
def test_http(status: int, healthy: bool) -> None:
    with http_server() as server:
        server.status = status
        sight = HttpProbe(server.url, LIMIT).run()
    assert sight.healthy is healthy
    assert str(status) in sight.detail


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        refused = (HttpProbe(f"http://127.0.0.1:{port}/", LIMIT).run(), TcpProbe("127.0.0.1", port, LIMIT).run())
    for sight in refused:
        assert sight.healthy is False
        assert "refused" in sight.detail.lower()
        assert "0x" not in sight.detail


def test_a_server_that_accepts_and_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert HttpProbe(f"http://127.0.0.1:{port}/", 0.2).run().healthy is False
        assert TcpProbe("127.0.0.1", port, LIMIT).run().healthy is True


def test_dns() -> None:
    with dns_server() as server:
        probe = DnsProbe("kubernetes.default.svc.cluster.local", ("127.0.0.1", server.port), LIMIT)
        assert probe.run().healthy is True
        assert DnsProbe("nowhere.default", ("127.0.0.1", server.port), LIMIT).run().healthy is False
        server.healthy = False
        assert probe.run().healthy is False


def test_a_dns_server_that_is_silent() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        sight = DnsProbe("kubernetes.default", ("127.0.0.1", silent.getsockname()[1]), 0.2).run()
    assert sight.healthy is False


@pytest.mark.parametrize("name", ["", "a..b", "x" * 300])
def test_a_name_that_is_none(name: str) -> None:
    assert DnsProbe(name, ("127.0.0.1", 9), 0.2).run().healthy is not True


def test_an_answer_that_comes_byte_by_byte_is_too_late() -> None:
    over = threading.Event()

    def dribble(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):  # the probe hangs up
            while not over.wait(0.02):
                connection.send(b"H")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=dribble, args=(listening,))
        server.start()
        probe = BoundedProbe(HttpProbe(f"http://127.0.0.1:{listening.getsockname()[1]}/", 0.2), 0.2)
        try:
            assert probe.run() == ProbeResult(healthy=False, detail="no answer within 0.2 seconds")
            assert probe.run().healthy is False
        finally:
            over.set()
            server.join()


class Faulty:
    """A probe with a fault of its own."""

    def run(self) -> ProbeResult:
        raise ZeroDivisionError("oh")


def test_a_fault_of_the_probe_is_no_observation() -> None:
    assert BoundedProbe(Faulty(), LIMIT).run() == ProbeResult(
        healthy=None, detail="the probe failed: ZeroDivisionError: oh"
    )


def test_a_probe_in_time_is_passed_on() -> None:
    with http_server() as server:
        probe = BoundedProbe(HttpProbe(server.url, LIMIT), LIMIT)
        assert probe.run().healthy is True
        server.status = 500
        assert probe.run().healthy is False


def test_no_secrets_are_told() -> None:
    with http_server() as server:
        url = f"http://ada:secret@127.0.0.1:{server.port}/healthz?token=secret"
        assert HttpProbe(url, LIMIT).run().detail == f"GET {server.url}healthz: status 200"
    told = CommandProbe([sys.executable, "-c", "secret"], LIMIT).run()
    assert told.detail == f"{sys.executable}: ended with status 1"
