"""Refusals of a server that starts, and of one that means it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from muster.agents.kube.apiserver import ApiError, ApiServer, Login
from muster.agents.kube.readiness import PATIENCE_SECONDS, Readiness
from muster.agents.works.inventory import is_outage

FINE = b'{"kind": "x"}'


class Starting:
    """A server that answers each path with the status in `answers`, and others with 200."""

    def __init__(self) -> None:
        self.answers = dict[str, int]()
        self.at_first = dict[str, int]()  # the first answer only
        self.asked = list[str]()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                who = "" if self.headers.get("Authorization") else "anonymous "
                outer.asked.append(f"{who}{path}")
                status = outer.at_first.pop(path, None) or outer.answers.get(path, 200)
                self.send_response(outer.answers.get(f"{who}{path}", status))
                self.send_header("Content-Length", str(len(FINE)))
                self.end_headers()
                self.wfile.write(FINE)

            def log_message(self, *_args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def starting() -> Iterator[tuple[Starting, ApiServer]]:
    made = Starting()
    client = ApiServer(f"http://127.0.0.1:{made.server.server_port}", Login(token="t"))
    yield made, client
    client.close()
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize("status", [401, 403, 500, 503])
@pytest.mark.parametrize("readyz", [500, 503])
def test_what_a_server_that_starts_refuses_is_no_answer(
    starting: tuple[Starting, ApiServer], status: int, readyz: int
) -> None:
    server, client = starting
    server.answers |= {"/x": status, "/readyz": readyz}
    for call in (lambda: client.get_json("/x"), lambda: list(client.list("/x")), lambda: list(client.watch("/x", 1))):
        with pytest.raises(ApiError, match="is not ready") as caught:
            call()
        assert caught.value.status == 0
        assert is_outage(caught.value)
    server.answers["/readyz"] = 200
    with pytest.raises(ApiError) as caught:
        client.get_json("/x")
    assert caught.value.status == status


def test_a_server_may_become_ready_between_a_refusal_and_the_question(starting: tuple[Starting, ApiServer]) -> None:
    server, client = starting
    for call in (lambda: client.get_json("/x"), lambda: list(client.watch("/x", 1))):
        server.at_first["/x"] = 403
        call()
    assert server.asked == ["/x", "/readyz", "/x"] * 2


def test_what_does_not_exist_is_answered_without_another_question(starting: tuple[Starting, ApiServer]) -> None:
    server, client = starting
    server.answers["/x"] = 404
    with pytest.raises(ApiError):
        client.get_json("/x")
    assert server.asked == ["/x"]


def test_where_nobody_may_ask_whether_it_is_ready_an_earlier_answer_tells(
    starting: tuple[Starting, ApiServer],
) -> None:
    server, client = starting
    client.get_json("/known")
    server.answers |= {"/x": 403, "/readyz": 403}
    with pytest.raises(ApiError) as caught:
        client.get_json("/x")
    assert caught.value.status == 403
    server.answers["/known"] = 403  # it knows no roles yet
    with pytest.raises(ApiError) as caught:
        client.get_json("/x")
    assert caught.value.status == 0


def test_a_token_that_is_not_valid_is_said_to_be(starting: tuple[Starting, ApiServer]) -> None:
    server, client = starting
    server.answers |= {"/x": 401, "/readyz": 401, "anonymous /readyz": 200}
    with pytest.raises(ApiError) as caught:
        client.get_json("/x")
    assert caught.value.status == 401


def test_refusals_that_last_count() -> None:
    now = [0.0]
    known = Readiness(lambda _path, *, anonymous: 403, lambda: now[0])
    assert not known.is_ready(403)
    now[0] += PATIENCE_SECONDS - 1
    assert not known.is_ready(403)
    now[0] += 1
    assert known.is_ready(403)
    known.answered("/x")
    assert not known.is_ready(403)
