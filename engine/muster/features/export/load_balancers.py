"""Load balancers: the contract of a plug-in, and which ones there are.

Karmada's multicluster-cloud-provider leaves the load balancer to each cloud; here it is a function from routes to a
configuration. One more is a function of that shape in any installed package, named in its entry points:

    [project.entry-points."muster.load_balancers"]
    haproxy = "my_package.haproxy:render"

It must leave out, or mark as out of service, every `Server` that is `blocked`; who reloads the load balancer is not its
business.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, TypeAlias

from muster.features.export.endpoints import Routing

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
        found: LoadBalancer = point.load()
        return found
    module, _, function = _BUILT_IN[name].partition(":")
    built_in: Any = getattr(import_module(module), function)
    return built_in  # type: ignore[no-any-return]
