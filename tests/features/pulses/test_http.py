"""The HTTP sink against a real server that takes, fails, hangs, redirects and recovers."""

import itertools
import json
import socket
import threading
import time
from datetime import timedelta

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event

from muster.data.tree import Tree
from muster.features.pulses.http import HttpSink, origin
from muster.features.pulses.sinks import DeliveryError, RetryPatience, SinkSettings, deliver
from tests.features.pulses.receiver import receiving

EVENT: Tree = {
    "specversion": "1.0",
    "id": "5b0c1f4e-0000-5000-8000-000000000001",
    "source": "muster",
    "type": "com.redhat.hyperfleet.managedcluster.reconcile",
    "subject": "ManagedCluster/prod-eu-1",
    "time": "2026-01-01T12:00:00Z",
    "datacontenttype": "application/json",
    "data": {"kind": "ManagedCluster", "name": "prod-eu-1", "generation": 3, "reason": "ttl-ready"},
}


def sink(url: str, mode: str = "structured", seconds: float = 5.0, authorization: str = "") -> HttpSink:
    return HttpSink(url, mode=mode, timeout=timedelta(seconds=seconds), authorization=authorization)


def settings(attempts: int) -> SinkSettings:
    return SinkSettings("s", "", "structured", timedelta(), attempts, timedelta(seconds=1), "", "", "")


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_the_receiver_gets_the_event(mode: str) -> None:
    with receiving() as receiver:
        sink(receiver.url, mode).send(EVENT)
    (request,) = receiver.requests
    got = from_http_event(HTTPMessage(request.headers, request.body))
    assert got.get_id() == EVENT["id"]
    assert got.get_data() == EVENT["data"]
    assert request.headers["content-type"] == (
        "application/json" if mode == "binary" else "application/cloudevents+json"
    )


def test_one_connection_carries_many_events() -> None:
    with receiving((200, {})) as receiver:
        one = sink(receiver.url)
        for _ in range(3):
            one.send(EVENT)
        one.close()
    assert (len(receiver.requests), receiver.connections) == (3, 1)


def test_a_server_that_recovers_gets_the_event_in_the_end() -> None:
    pauses: list[float] = []
    with receiving((503, {}), (429, {"Retry-After": "7"}), (502, {}), (202, {})) as receiver:
        deliver(sink(receiver.url), settings(4), EVENT, RetryPatience(pauses.append, lambda: 0.5))
    assert len(receiver.requests) == 4
    assert pauses == [1.0, 7.0, 4.0]
    assert {json.loads(request.body)["id"] for request in receiver.requests} == {EVENT["id"]}


def test_it_is_given_up_after_the_last_attempt() -> None:
    with receiving((500, {})) as receiver, pytest.raises(DeliveryError, match="answered 500"):
        deliver(sink(receiver.url), settings(3), EVENT, RetryPatience(lambda _: None, lambda: 0.5))
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 410, 413])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    with receiving((status, {})) as receiver, pytest.raises(DeliveryError, match=f"answered {status}") as caught:
        deliver(sink(receiver.url), settings(3), EVENT, RetryPatience(lambda _: None, lambda: 0.5))
    assert not caught.value.again
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 0"])
def test_a_server_that_drips_is_left_in_time(said: bytes) -> None:
    """A byte now and then keeps a socket's own time-out from ever passing. What is left of the connection ends, too."""
    ended = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1 << 16)
            for byte in itertools.chain(said, itertools.repeat(ord("x"), 1000)):
                try:
                    connection.sendall(bytes((byte,)))
                except OSError:
                    break
                time.sleep(0.02)
        ended.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        began = time.monotonic()
        with pytest.raises(DeliveryError, match="no answer within 0.3 seconds") as caught:
            sink(f"http://127.0.0.1:{server.getsockname()[1]}", seconds=0.3).send(EVENT)
        assert time.monotonic() - began < 5
        assert caught.value.unreachable
        assert ended.wait(5)


def test_a_server_that_hangs_is_left() -> None:
    with receiving(None) as receiver, pytest.raises(DeliveryError) as caught:
        sink(receiver.url, seconds=0.2).send(EVENT)
    assert caught.value.unreachable


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        with pytest.raises(DeliveryError, match="refused") as caught:
            sink(url).send(EVENT)
    assert caught.value.unreachable


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirection_stays_on_its_origin(status: int) -> None:
    """Another host or port gets neither the event nor the credentials: nobody gave it as a sink."""
    with receiving((204, {})) as there, receiving((status, {"Location": there.url})) as here:
        with pytest.raises(DeliveryError, match="which is another origin") as caught:
            sink(here.url, authorization="Bearer secret").send(EVENT)
        assert not caught.value.again
    assert (len(here.requests), there.requests) == (1, [])


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("whole", [False, True])
def test_a_redirection_that_keeps_the_method_is_followed(status: int, whole: bool) -> None:
    with receiving() as here:
        there = f"{here.url.removesuffix('/events')}/elsewhere" if whole else "/elsewhere"
        here.answers = [(status, {"Location": there}), (204, {})]
        sink(here.url, authorization="Bearer secret").send(EVENT)
    assert [request.path for request in here.requests] == ["/events", "/elsewhere"]
    assert [json.loads(request.body)["id"] for request in here.requests] == [EVENT["id"]] * 2
    assert here.requests[1].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://a/x", "http://a:80/y", True),
        ("https://A/x", "https://a:443/y", True),
        ("http://u:p@a/x", "http://a/x", True),
        ("http://a/", "https://a/", False),
        ("http://a/", "http://a:8080/", False),
        ("http://a/", "http://a.b/", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(one: str, other: str, same: bool) -> None:
    assert (origin(one) == origin(other)) is same


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirection_that_drops_the_event_is_an_error(status: int) -> None:
    text = r"points to http://login\.example/"
    with (
        receiving((status, {"Location": "http://login.example/"})) as here,
        pytest.raises(DeliveryError, match=text) as caught,
    ):
        sink(here.url).send(EVENT)
    assert not caught.value.again


def test_redirections_in_a_circle_end() -> None:
    with receiving((307, {"Location": "/events"})) as here, pytest.raises(DeliveryError, match="more than 5 times"):
        sink(here.url).send(EVENT)
    assert len(here.requests) == 6


def test_a_redirection_to_another_scheme_is_an_error() -> None:
    with (
        receiving((307, {"Location": "file:///etc/passwd"})) as here,
        pytest.raises(DeliveryError, match="which is another origin"),
    ):
        sink(here.url).send(EVENT)


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    with receiving() as receiver:
        url = receiver.url.replace("http:", "https:")
        with pytest.raises(DeliveryError) as caught:
            sink(url).send(EVENT)
    assert caught.value.unreachable
    assert receiver.requests == []
