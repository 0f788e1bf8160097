"""The configuration as a text, and in a real nginx over HTTP."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.data.kinds import MULTI_CLUSTER_INGRESS
from muster.features.export.endpoints import Backend, BackendServer, Route, Routing
from muster.features.export.nginx import render
from tests.agents.detect.servers import http_server
from tests.support.nginx import needs_nginx, nginx
from tests.support.patience import wait_until

INGRESS = MULTI_CLUSTER_INGRESS.id("web", "shop")
HOST = "shop.example.com"


def backend(*servers: BackendServer, service: str = "web") -> Backend:
    return Backend(INGRESS, service, "http", servers)


def one_route(*servers: BackendServer) -> Routing:
    return Routing((Route(HOST, "/", "Prefix", backend(*servers)),), ())


def test_the_text() -> None:
    text = render(
        one_route(BackendServer("member1", "10.0.0.1:8080", True), BackendServer("member2", "10.0.1.1:8080", False)), 80
    )
    assert (
        text
        == """\
# Written by `muster export endpoints`. Include it in nginx's http block.

upstream shop_web_web_http {
    server 10.0.0.1:8080 down; # member1: no traffic
    server 10.0.1.1:8080; # member2
}

server {
    listen 80 default_server;
    server_name _;
    location "/" { return 404; }
}

server {
    listen 80;
    server_name shop.example.com;
    location "/" {
        proxy_pass http://shop_web_web_http;
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}
"""
    )


@needs_nginx
def test_a_blocked_cluster_gets_no_requests_until_it_is_free_again(tmp_path: Path) -> None:
    with http_server(b"a") as first, http_server(b"b") as second, nginx(tmp_path / "nginx") as balancer:

        def load(*blocked: str) -> None:
            servers = [BackendServer(n, f"127.0.0.1:{s.port}", n in blocked) for n, s in (("a", first), ("b", second))]
            balancer.load(render(one_route(*servers), balancer.port))

        load()
        assert balancer.answers(HOST) == {"a", "b"}
        load("a")
        wait_until(lambda: balancer.answers(HOST) == {"b"})
        load()
        wait_until(lambda: balancer.answers(HOST) == {"a", "b"})
        load("a", "b")
        wait_until(lambda: balancer.get(HOST)[0] == 503)


@needs_nginx
def test_hosts_and_paths(tmp_path: Path) -> None:
    names = ("any", "exact", "prefix", "deep", "impl", "wild", "default")
    with ExitStack() as stack, nginx(tmp_path / "nginx") as balancer:
        servers = {name: stack.enter_context(http_server(name.encode())) for name in names}
        behind = {
            name: backend(BackendServer("a", f"127.0.0.1:{server.port}", False), service=name)
            for name, server in servers.items()
        }
        routes = (
            Route("", "/any", "Prefix", behind["any"]),
            Route(HOST, "/cart", "Prefix", behind["prefix"]),
            Route(HOST, "/cart", "Exact", behind["exact"]),
            Route(HOST, "/cart/deep/", "Prefix", behind["deep"]),
            Route(HOST, "/impl", "ImplementationSpecific", behind["impl"]),
            Route(HOST, '/od"d\\ ; ${x}', "Exact", behind["exact"]),
            Route("*.example.com", "/", "Prefix", behind["wild"]),
            Route("", "/", "Prefix", behind["default"], default=True),
            Route("*.example.com", "/", "Prefix", behind["default"]),  # too late
        )
        balancer.load(render(Routing(routes, ()), balancer.port))
        asked = {
            (HOST, "/cart"): "exact",
            (HOST, "/cart/"): "prefix",
            (HOST, "/cart/x"): "prefix",
            (HOST, "/cartwheel"): "default",
            (HOST, "/cart/deep"): "deep",
            (HOST, "/cart/deep/x"): "deep",
            (HOST, "/implement"): "impl",
            (HOST, "/od%22d%5C%20;%20$%7Bx%7D"): "exact",
            (HOST, "/"): "default",
            ("other.example.com", "/cart"): "wild",
            ("a.b.example.com", "/cart"): "default",
            ("elsewhere.org", "/any/x"): "any",
            ("elsewhere.org", "/"): "default",
        }
        assert {request: balancer.get(*request)[1] for request in asked} == asked


TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\u2028\u2029"), max_size=30)


@needs_nginx
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    paths=st.lists(st.tuples(TEXT, st.sampled_from(["Exact", "Prefix", "ImplementationSpecific"])), max_size=4),
    cluster=st.text(max_size=20),
    port=st.text(max_size=15),
    host=st.integers(1, 60),
)
def test_nothing_in_a_route_breaks_the_configuration(
    tmp_path_factory: pytest.TempPathFactory, paths: list[tuple[str, str]], cluster: str, port: str, host: int
) -> None:
    behind = Backend(INGRESS, "web", port, (BackendServer(cluster, "127.0.0.1:9", False),))
    name = ".".join(["x" * host] * 3)
    routes = tuple(Route(name, f"/{path}", type_, behind) for path, type_ in paths)  # type: ignore[arg-type]
    with nginx(tmp_path_factory.mktemp("nginx") / "nginx") as balancer:
        balancer.load(render(Routing(routes, ()), balancer.port))
