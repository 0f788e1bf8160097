"""Where requests go: the routes of MultiClusterIngresses, and the addresses behind them, cluster by cluster.

This is what a load balancer is told (seed 003: it must drop the backends of the clusters in
`status.trafficBlockClusters`). Addresses come from EndpointSlices as Karmada collects them: the annotation
`endpointslice.karmada.io/provision-cluster` names the cluster, the label `kubernetes.io/service-name` the Service, with
`derived-` before the names of imported ones. Only clusters of the ingress' `serviceLocations` count.

Load balancers: the contract of a plug-in, and which ones there are.

Karmada's multicluster-cloud-provider leaves the load balancer to each cloud; here it is a function from routes to a
configuration. One more is a function of that shape in any installed package, named in its entry points:

    [project.entry-points."muster.load_balancers"]
    haproxy = "my_package.haproxy:render"

It must leave out, or mark as out of service, every `Server` that is `blocked`; who reloads the load balancer is not its
business.
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, Literal, TypeAlias

from muster.data.ids import ObjectId
from muster.data.kinds import ENDPOINT_SLICE
from muster.data.names import is_label
from muster.data.printable import has_control
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object

PROVISION_CLUSTER = "endpointslice.karmada.io/provision-cluster"
SERVICE_NAME = "kubernetes.io/service-name"
_IMPORTED = "derived-"

PathType = Literal["Exact", "Prefix", "ImplementationSpecific"]


def _is_host(text: str) -> bool:
    return all(map(is_label, text.removeprefix("*.").split(".")))


@dataclass(frozen=True, slots=True, order=True)
class BackendServer:
    """One address of a backend, `host:port` with an IPv6 host in brackets; `blocked`: its cluster gets no traffic."""

    cluster: str
    address: str
    blocked: bool


@dataclass(frozen=True, slots=True)
class Backend:
    """A Service behind an ingress, with its servers in all clusters, sorted. `port` is a name, a number or empty."""

    ingress: ObjectId
    service: str
    port: str
    servers: tuple[BackendServer, ...]

    @property
    def served(self) -> bool:
        """Whether anybody may be asked."""
        return any(not server.blocked for server in self.servers)


@dataclass(frozen=True, slots=True)
class Route:
    """Requests to a host (empty: any, `*.` stands for one label) and path, and who serves them.

    `default` routes take what no other route of any host does.
    """

    host: str
    path: str
    path_type: PathType
    backend: Backend
    default: bool = False


@dataclass(frozen=True, slots=True)
class Routing:
    """All routes in the order in which they were written, and what could not be routed, as sentences."""

    routes: tuple[Route, ...]
    problems: tuple[str, ...]

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Every backend once, by ingress, Service and port."""
        return tuple(
            sorted(
                dict.fromkeys(route.backend for route in self.routes),
                key=lambda backend: (backend.ingress, backend.service, backend.port),
            )
        )


def routing(fleet: Fleet, ingresses: Iterable[Object]) -> Routing:
    """Return how requests to these ingresses go, as of the decisions in `fleet`."""
    slices = _slices(fleet)
    problems: dict[str, None] = {}
    routes = [route for ingress in ingresses for route in _routes(fleet, ingress, slices, problems)]
    return Routing(tuple(routes), tuple(problems))


_Slices = Mapping[tuple[str, str], list[tuple[str, Object]]]


def _slices(fleet: Fleet) -> _Slices:
    """EndpointSlices with their cluster, by namespace and Service."""
    slices: dict[tuple[str, str], list[tuple[str, Object]]] = {}
    for obj in fleet.of(ENDPOINT_SLICE):
        cluster, service = obj.annotations.get(PROVISION_CLUSTER), obj.labels.get(SERVICE_NAME)
        if cluster and service:
            key = (obj.id.namespace, service.removeprefix(_IMPORTED))
            slices.setdefault(key, []).append((cluster, obj))
    return slices


def _routes(fleet: Fleet, ingress: Object, slices: _Slices, problems: dict[str, None]) -> Iterator[Route]:
    status = mapping_at(fleet.whole(ingress.id), "status")
    lookup = _Lookup(ingress.id, status, slices, problems)
    for rule in mappings_at(ingress.spec, "rules"):
        host = str(rule.get("host") or "").lower()
        if host and not _is_host(host):
            problems[f"{ingress.id}: {host!r} is no host name"] = None
            continue
        for path in mappings_at(rule, "http", "paths"):
            text = str(path.get("path") or "/")
            if not text.startswith("/") or has_control(text):
                problems[f"{ingress.id}: {text!r} is no path of a request"] = None
            elif backend := lookup.backend(path.get("backend")):
                yield Route(host, text, path["pathType"], backend)
    if default := lookup.backend(ingress.spec.get("defaultBackend")):
        yield Route("", "/", "Prefix", default, default=True)


class _Lookup:
    """Finds the servers of one ingress' backends."""

    def __init__(self, ingress: ObjectId, status: Tree, slices: _Slices, problems: dict[str, None]) -> None:
        self._ingress, self._slices, self._problems = ingress, slices, problems
        self._blocked = frozenset(status.get("trafficBlockClusters") or ())
        self._clusters = {
            location["name"]: frozenset(location.get("clusters") or ())
            for location in mappings_at(status, "serviceLocations")
        }

    def backend(self, tree: Tree) -> Backend | None:
        """The backend that an ingress names; None where it names no Service."""
        service = dig(tree, "service", "name")
        if not isinstance(service, str):
            return None
        port = str(dig(tree, "service", "port", "name") or dig(tree, "service", "port", "number") or "")
        located = self._clusters.get(service, frozenset())
        servers = {
            BackendServer(cluster, address, cluster in self._blocked)
            for cluster, obj in self._slices.get((self._ingress.namespace, service), ())
            if cluster in located
            for address in self._addresses(obj, port)
        }
        for cluster in sorted(located - {server.cluster for server in servers}):
            self._complain(f"Service {service!r} has no ready address in cluster {cluster!r}")
        return Backend(self._ingress, service, port, tuple(sorted(servers)))

    def _addresses(self, obj: Object, port: str) -> Iterator[str]:
        number = _port(mappings_at(obj.body, "ports"), port)
        if number is None:
            self._complain(f"{obj.id} has no port {port!r}")
            return
        for endpoint in mappings_at(obj.body, "endpoints"):
            if dig(endpoint, "conditions", "ready") is False:
                continue
            host = _host(endpoint["addresses"][0])
            if host:
                yield f"{host}:{number}"
            else:
                self._complain(f"{obj.id}: {endpoint['addresses'][0]!r} is no address")

    def _complain(self, text: str) -> None:
        self._problems[f"{self._ingress}: {text}"] = None


def _port(ports: list[Tree], wanted: str) -> int | None:
    """The number behind the port that an ingress names.

    An ingress counts the Service's ports, a slice the pods': only names are the same in both. Of a single port it is
    clear which is meant.
    """
    tcp = [port for port in ports if port.get("protocol", "TCP") == "TCP" and port.get("port")]
    named = [port["port"] for port in tcp if wanted in (port.get("name") or "", str(port["port"]))]
    matching = named or [port["port"] for port in tcp if len(tcp) == 1 and (wanted.isdigit() or not wanted)]
    return int(matching[0]) if matching else None


def _host(text: str) -> str:
    """An address as it stands before `:port`; empty where it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text if _is_host(text) and not text.startswith("*") else ""
    if address.version == 4:
        return str(address)
    return "" if "%" in text else f"[{address}]"


#: Returns the configuration for these routes, listening on the port.
LoadBalancer: TypeAlias = Callable[[Routing, int], str]

GROUP: Final = "muster.load_balancers"
_BUILT_IN: Final[Mapping[str, str]] = {"nginx": "muster.features.export.nginx:render"}


def load_balancers() -> list[str]:
    """Return the names of all, sorted."""
    return sorted({*_BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def load_balancer(name: str) -> LoadBalancer:
    """Return the one of that name; KeyError where there is none. An installed one goes before a built-in one."""
    for point in entry_points(group=GROUP, name=name):
        balancer: LoadBalancer = point.load()
        return balancer
    module, _, function = _BUILT_IN[name].partition(":")
    built_in: Any = getattr(import_module(module), function)
    return built_in  # type: ignore[no-any-return]
