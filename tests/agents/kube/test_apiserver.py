"""Requests: through proxies, with certificates that are renewed, to a server that refuses, and to a real one."""

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from muster.agents.kube.apiserver import PAGE, ApiError, ApiServer, Login, environment_proxy
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.agents.kube.plugin import LoginPlugin
from tests.support.authority import new_authority, server_certificate
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub


class Echo:
    """A server whose answer says how it was asked. It refuses tokens in `refused`, and ends watches mid-line."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.refused = set[str]()
        self.connections = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            def do_GET(self) -> None:
                token = self.headers.get("Authorization", "")
                status = 401 if token.removeprefix("Bearer ") in outer.refused else 200
                peer = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
                body: Any = {"path": self.path, "authorization": token, "serial": (peer or {}).get("serialNumber")}
                if self.path == "/list":
                    body = []
                data = b'{"type": "BOOKMARK"}\n\n[]\n{"type' if "watch" in self.path else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    made = Echo()
    yield made
    made.close()


def test_a_connection_is_kept(echo: Echo) -> None:
    server = ApiServer(echo.url, Login(token="t"))
    assert [server.get_json("/a")["authorization"] for _ in range(5)] == ["Bearer t"] * 5
    assert echo.connections == 1
    server.close()


def test_a_plugin_is_asked_once_more_if_its_token_is_refused(echo: Echo, tmp_path: Path) -> None:
    program = tmp_path / "login"
    program.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/runs; n=$(wc -l < {tmp_path}/runs)\n"
        'echo \'{"apiVersion": "v", "kind": "ExecCredential", "status": {"token": "\'$n\'"}}\'\n'
    )
    program.chmod(0o755)
    server = ApiServer(echo.url, Login(plugin=LoginPlugin((str(program),), {}, "v")))
    assert server.get_json("/")["authorization"] == "Bearer 1"
    echo.refused |= {"1"}
    assert server.get_json("/")["authorization"] == "Bearer 2"
    echo.refused |= {"2", "3"}
    with pytest.raises(ApiError) as caught:
        server.get_json("/")
    assert caught.value.status == 401
    assert len((tmp_path / "runs").read_text().split()) == 3
    server.close()


def test_a_login_that_fails_is_no_answer(echo: Echo, tmp_path: Path) -> None:
    server = ApiServer(echo.url, Login(token_file=tmp_path / "missing"))
    code, why = server.get("/livez")
    assert (code, "the token cannot be read" in why) == (0, True)
    assert ApiServer("http://127.0.0.1:1").get("/livez")[0] == 0
    assert "PySocks" in ApiServer(echo.url, proxy="socks5://127.0.0.1:1").get("/livez")[1]


def test_what_is_not_an_object_and_a_watch_that_breaks(echo: Echo) -> None:
    server = ApiServer(echo.url, Login(password=("ann", "secret")))
    assert server.get_json("/a")["authorization"] == "Basic YW5uOnNlY3JldA=="
    with pytest.raises(ApiError, match="not an object"):
        server.get_json("/list")
    assert list(server.watch("/pods", 5)) == [{"type": "BOOKMARK"}]
    echo.refused |= {"Basic YW5uOnNlY3JldA=="}
    with pytest.raises(ApiError, match="status 401"):
        list(server.watch("/pods", 5))
    server.close()


@pytest.fixture
def tls_echo(tmp_path: Path) -> Iterator[Echo]:
    certificate, key = server_certificate(tmp_path, "inside.example")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_OPTIONAL
    made = Echo(context)
    yield made
    made.close()


def test_the_name_in_the_certificate(tls_echo: Echo, tmp_path: Path) -> None:
    authority = tmp_path / "server.crt"
    named = ApiServer(tls_echo.url, authority=authority, server_name="inside.example")
    assert named.get("/")[0] == 200
    assert ApiServer(tls_echo.url, authority=authority).get("/")[0] == 0
    assert ApiServer(tls_echo.url, authority=authority, server_name="another.example").get("/")[0] == 0
    assert ApiServer(tls_echo.url, verify=False).get("/")[0] == 200
    assert "certificate cannot be used" in ApiServer(tls_echo.url, authority=b"x").get("/")[1]


def test_certificates_that_are_renewed_in_place(tls_echo: Echo, tmp_path: Path) -> None:
    paths = {"certificate": tmp_path / "server.crt", "key": tmp_path / "server.key"}
    copies = {name: tmp_path / f"{name}.pem" for name in paths}
    for name, path in paths.items():
        copies[name].write_bytes(path.read_bytes())
    server = ApiServer(tls_echo.url, Login(certificate=copies["certificate"], key=copies["key"]), verify=False)
    assert server.get_json("/")["serial"] == "02"
    before = tls_echo.connections
    assert server.get_json("/")["serial"] == "02"
    assert tls_echo.connections == before
    authority, key = new_authority(tmp_path / "other")
    copies["certificate"].write_bytes(authority.read_bytes())
    copies["key"].write_bytes(key.read_bytes())
    assert server.get("/")[0] == 0, "the server does not know the new one"


def test_a_proxy(echo: Echo) -> None:
    server = ApiServer("http://cluster.invalid:6443", proxy=echo.url)
    assert server.get_json("/livez")["path"] == "http://cluster.invalid:6443/livez"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example:6443", "http://proxy:1"),
        ("http://api.example:6443", ""),
        ("https://10.1.2.3", ""),
        ("https://10.2.2.3", "http://proxy:1"),
        ("https://a.inside", ""),
        ("https://127.0.0.1:6443", ""),
        ("https://localhost:6443", ""),
        ("https://[::1]:6443", ""),
    ],
)
def test_the_proxy_of_the_environment(url: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    monkeypatch.setenv("no_proxy", "nonsense/x, 10.1.0.0/16,.inside")
    assert environment_proxy(url) == expected


@needs_hub
def test_a_real_server(hub: Hub) -> None:
    server = from_kubeconfig(hub.kubeconfig)
    maps = "/api/v1/namespaces/default/configmaps"
    assert server.get("/livez")[0] == 200
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-test"}, "data": {"a": "1"}}
    made = server.apply(f"{maps}/kube-test", body, "muster", dry_run=True)
    with pytest.raises(ApiError) as caught:
        server.get_json(f"{maps}/kube-test")
    assert (caught.value.status, "not found" in str(caught.value)) == (404, True)
    made = server.apply(f"{maps}/kube-test", body, "muster")
    with pytest.raises(ApiError, match="conflict") as caught:
        server.apply(f"{maps}/kube-test", {**body, "data": {"a": "2"}}, "another", force=False)
    assert caught.value.status == 409
    with pytest.raises(ApiError, match="unknown field|field not declared"):
        server.apply(f"{maps}/kube-test", {**body, "datum": {}}, "muster")
    server.apply(f"{maps}/kube-test", {**body, "data": {"a": "2"}}, "muster")
    events = server.watch(maps, 1, resourceVersion=made["metadata"]["resourceVersion"])
    assert [(event["type"], event["object"]["data"]) for event in events] == [("MODIFIED", {"a": "2"})]
    with pytest.raises(ApiError) as caught:
        server.delete(f"{maps}/kube-test", "another-uid")
    assert caught.value.status == 409
    server.delete(f"{maps}/kube-test", made["metadata"]["uid"], propagation="Background")
    server.close()


@needs_hub
def test_a_collection_of_several_pages(hub: Hub) -> None:
    server = from_kubeconfig(hub.kubeconfig)
    path = "/api/v1/namespaces/kube-pages/configmaps"
    hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-pages"}})
    for number in range(PAGE + 3):
        server.request("POST", path, body={"metadata": {"name": f"m{number}"}})
    names = {body["metadata"]["name"] for body in server.list(path)}
    assert names == {f"m{number}" for number in range(PAGE + 3)}
    server.close()
