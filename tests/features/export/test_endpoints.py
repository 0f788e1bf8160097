"""From ingresses and EndpointSlices to routes and servers."""

from pathlib import Path

import pytest

import muster
from muster.data.kinds import MULTI_CLUSTER_INGRESS
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.export.endpoints import BackendServer, Routing, routing
from tests.support import ingress as files

NOW = parse_time("2026-01-01T00:00:00Z")
WEB = {"rules": [files.rule("shop.example.com", ("/", "Prefix", files.backend("web")))]}


def routed(tmp_path: Path, *documents: str) -> Routing:
    for number, text in enumerate(documents):
        (tmp_path / f"{number}.yaml").write_text(text)
    run = muster.evaluate(tmp_path, NOW)
    assert [str(found.message) for found in run.findings if found.code != "MUS410"] == []
    return routing(run.fleet, run.fleet.of(MULTI_CLUSTER_INGRESS))


def on(*clusters: str, blocked: tuple[str, ...] = ()) -> Tree:
    return {"serviceLocations": [files.located("web", *clusters)], "trafficBlockClusters": list(blocked)}


def servers(routes: Routing) -> list[BackendServer]:
    return [server for backend in routes.backends for server in backend.servers]


def test_servers_of_every_located_cluster_and_of_no_other(tmp_path: Path) -> None:
    found = routed(
        tmp_path,
        files.ingress(WEB, on("a", "b")),
        *(files.endpoint_slice(name, "web", [("http", 8080)], [f"10.0.0.{n}"]) for n, name in enumerate("abc")),
    )
    assert servers(found) == [BackendServer("a", "10.0.0.0:8080", False), BackendServer("b", "10.0.0.1:8080", False)]
    assert found.problems == ()


def test_clusters_with_a_remedy_are_blocked(tmp_path: Path) -> None:
    found = routed(
        tmp_path,
        files.cluster("a"),
        files.cluster("b"),
        files.remedy("upgrade", "b"),
        files.ingress(WEB, {"serviceLocations": [files.located("web", "a", "b")]}),
        *(files.endpoint_slice(name, "web", [("http", 8080)], [f"10.0.0.{n}"]) for n, name in enumerate("ab")),
    )
    assert [(server.cluster, server.blocked) for server in servers(found)] == [("a", False), ("b", True)]


@pytest.mark.parametrize(
    ("wanted", "ports", "number"),
    [
        ("http", [("http", 8080), ("metrics", 9090)], 8080),
        (9090, [("http", 8080), ("metrics", 9090)], 9090),
        (80, [("http", 8080)], 8080),  # the Service's port 80 leads to the pods' only port
        (80, [("http", 8080), ("metrics", 9090)], None),
        ("grpc", [("http", 8080)], None),
    ],
)
def test_which_port(tmp_path: Path, wanted: int | str, ports: list[tuple[str, int]], number: int | None) -> None:
    spec = {"defaultBackend": files.backend("web", wanted)}
    found = routed(tmp_path, files.ingress(spec, on("a")), files.endpoint_slice("a", "web", ports))
    assert [server.address for server in servers(found)] == ([f"127.0.0.1:{number}"] if number else [])
    assert bool(found.problems) == (number is None)


@pytest.mark.parametrize(
    ("type_", "address", "ready", "expected"),
    [
        ("IPv6", "2001:DB8::1", None, "[2001:db8::1]:80"),
        ("FQDN", "web.example.com", True, "web.example.com:80"),
        ("IPv4", "10.0.0.1", False, None),
        ("IPv4", "10.0.0.1; return 200", None, None),
        ("FQDN", "*.example.com", None, None),
    ],
)
def test_addresses(tmp_path: Path, type_: str, address: str, ready: bool | None, expected: str | None) -> None:
    slice_ = files.endpoint_slice("a", "web", [("http", 80)], [address], ready=ready, type_=type_)
    found = routed(tmp_path, files.ingress(WEB, on("a")), slice_)
    assert [server.address for server in servers(found)] == ([expected] if expected else [])
    assert any("has no ready address" in problem for problem in found.problems) == (expected is None)


def test_what_cannot_be_routed_is_said_and_the_rest_is_routed(tmp_path: Path) -> None:
    paths = (("/ok", "Prefix", files.backend("web")), ("no", "Exact", files.backend("web")))
    spec = {"rules": [files.rule("a b.example.com", *paths), files.rule("b.example.com", *paths)]}
    found = routed(tmp_path, files.ingress(spec, on("a")), files.endpoint_slice("a", "web", [("http", 80)]))
    assert [(route.host, route.path) for route in found.routes] == [("b.example.com", "/ok")]
    assert found.problems == (
        "MultiClusterIngress/shop/web: 'a b.example.com' is no host name",
        "MultiClusterIngress/shop/web: 'no' is no path of a request",
    )
