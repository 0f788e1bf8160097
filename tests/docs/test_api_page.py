"""docs/api.md: its paths are those of the OpenAPI document, and its nginx lets in whom the sign-on lets in."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import urllib3

from muster.features.api.routes import document
from tests.features.api.test_routes import TOKEN, watched
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import new_repository
from tests.support.nginx import Nginx, needs_nginx, nginx

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


def test_the_paths() -> None:
    paths = {path.removeprefix("/api/v1/") for path in json.loads(document())["paths"]}
    shown = re.findall(r"^\| `([a-zA-Z/.]+)` \|", PAGE, re.MULTILINE)
    assert {path.replace("KIND", "{kind}").replace("NAME", "{name}") for path in shown} == paths


class SignOn(BaseHTTPRequestHandler):
    """Answers as oauth2-proxy: 202 at /oauth2/auth to a session's cookie, else 401; and a page to sign in."""

    def do_GET(self) -> None:
        signed_in = self.headers.get("Cookie") == "_oauth2_proxy=ada"
        body = b"sign in" if self.path.startswith("/oauth2/sign_in") else b""
        self.send_response(200 if body else 202 if signed_in else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def sign_on() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), SignOn)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@needs_nginx
def test_single_sign_on(tmp_path: Path, sign_on: int) -> None:
    (config,) = re.findall(r"^```nginx\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"cluster.yaml": cluster("a")})
    with watched(tmp_path, repo) as desk, nginx(tmp_path / "nginx") as proxy:
        config = config.replace("listen 8443", f"listen 127.0.0.1:{proxy.port}")
        config = config.replace("127.0.0.1:4180", f"127.0.0.1:{sign_on}")
        proxy.load(config.replace("http://127.0.0.1:8080", desk.url).replace("TOKEN-OF-MUSTER", TOKEN))
        session = {"Cookie": "_oauth2_proxy=ada"}
        (item,) = _ask(proxy, "/api/v1/objects/clusters", session).json()["items"]
        assert item["metadata"]["name"] == "a"
        assert b"<html" in _ask(proxy, "/", session).data
        for stranger in ({}, {"Cookie": "_oauth2_proxy=eve"}, {"Authorization": f"Bearer {TOKEN}"}):
            assert _ask(proxy, "/api/v1/objects/clusters", stranger).data == b"sign in"
        assert _ask(proxy, "/oauth2/auth", session).status == 404, "internal"


def _ask(proxy: Nginx, path: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
    return urllib3.request("GET", f"http://127.0.0.1:{proxy.port}{path}", headers=headers, retries=False, timeout=60)
