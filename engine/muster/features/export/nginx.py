"""nginx: routes as a configuration to be included in its `http` block.

One upstream per backend, with the servers of blocked clusters marked `down`: they get no requests, and the file still
says where they are. A backend that nobody serves answers 503. Certificates are not rendered: they are in no
repository.
"""

from collections.abc import Iterator
from string import ascii_letters, digits

from muster.features.export.endpoints import Backend, Route, Routing

_HEADER = "# Written by `muster export endpoints`. Include it in nginx's http block.\n"
#: nginx's own bucket holds host names of about this length; beyond it refuses to start.
_LONG_HOST = 40
_BUCKET = 512
_SAFE = frozenset(f"{ascii_letters}{digits}.-")
_FORWARDED = (
    "proxy_set_header Host $http_host;",
    "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
    "proxy_set_header X-Forwarded-Proto $scheme;",
)


def render(routing: Routing, listen: int) -> str:
    """Return the configuration: the same routes give the same bytes."""
    hosts = sorted({route.host for route in routing.routes if not route.default} - {""})
    parts = [_HEADER]
    if max(map(len, hosts), default=0) > _LONG_HOST:
        parts.append(f"server_names_hash_bucket_size {_BUCKET};\n")
    parts.extend(_upstream(backend) for backend in routing.backends if backend.served)
    parts.append(_server(routing, "", listen))
    parts.extend(_server(routing, host, listen) for host in hosts)
    return "\n".join(parts)


def _upstream(backend: Backend) -> str:
    lines = [
        f"    server {server.address}{' down' if server.blocked else ''};"
        f" # {_comment(server.cluster)}{': no traffic' if server.blocked else ''}\n"
        for server in backend.servers
    ]
    return f"upstream {_name(backend)} {{\n{''.join(lines)}}}\n"


def _server(routing: Routing, host: str, listen: int) -> str:
    """One host; the empty one answers for all that are not named."""
    listening = f"{listen} default_server" if not host else str(listen)
    locations = _locations(routing, host)
    if ("", "/") not in locations:
        default = next((route.backend for route in routing.routes if route.default), None)
        locations["", "/"] = default
    body = "".join(_location(*key, backend) for key, backend in sorted(locations.items(), key=lambda item: item[0]))
    return f"server {{\n    listen {listening};\n    server_name {_server_name(host)};\n{body}}}\n"


def _locations(routing: Routing, host: str) -> dict[tuple[str, str], Backend | None]:
    """Backend by modifier and path. Where two routes want the same requests, an exact one wins, then the first."""
    routes = [route for route in routing.routes if route.host == host and not route.default]
    locations: dict[tuple[str, str], Backend | None] = {}
    for route in sorted(routes, key=lambda route: route.path_type != "Exact"):
        for key in _keys(route):
            locations.setdefault(key, route.backend)
    return locations


def _keys(route: Route) -> Iterator[tuple[str, str]]:
    """Modifier and path of the locations that a route needs: a Prefix speaks of whole elements of the path."""
    if route.path_type == "Exact":
        yield "=", route.path
    elif route.path_type == "ImplementationSpecific":
        yield "", route.path
    else:
        base = route.path.rstrip("/")
        if base:
            yield "=", base
        yield "", f"{base}/"


def _location(modifier: str, path: str, backend: Backend | None) -> str:
    head = f"    location {modifier + ' ' if modifier else ''}{_quoted(path)} {{"
    if backend is None:
        return f"{head} return 404; }}\n"
    if not backend.served:
        return f"{head} return 503; }} # {_name(backend)}: no cluster serves it\n"
    lines = (f"proxy_pass http://{_name(backend)};", *_FORWARDED)
    return f"{head}\n" + "".join(f"        {line}\n" for line in lines) + "    }\n"


def _name(backend: Backend) -> str:
    """The upstream's name: unique, because no underscore is left in the names that it joins."""
    parts = (backend.ingress.namespace, backend.ingress.name, backend.service, backend.port)
    return "_".join("".join(map(_escaped, part)) for part in parts if part)


def _escaped(character: str) -> str:
    return character if character in _SAFE else f"-{ord(character):x}-"


def _server_name(host: str) -> str:
    """`*.` stands for exactly one label, where nginx's own wildcard would take several."""
    if host.startswith("*."):
        return f'"~^[^.]+{host[1:].replace(".", "[.]")}$"'
    return host or "_"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _comment(text: str) -> str:
    return "".join(character if " " <= character <= "~" else "?" for character in text)
