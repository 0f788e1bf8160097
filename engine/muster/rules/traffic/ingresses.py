"""MultiClusterIngresses: their Services, and the clusters on which these run (seed 003).

A Service's clusters are those of the ResourceBinding of Karmada's scheduler, if the repository has it, else those in
the ingress' own reported `status.serviceLocations`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import DISRUPTION_BUDGET, MULTI_CLUSTER_INGRESS, RESOURCE_BINDING
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.view import View
from muster.rules.remedies.policy import TRAFFIC_CONTROL, Remedy


def lint_ingresses(fleet: Fleet, remedies: Iterable[Remedy]) -> Iterator[Finding]:
    """Yield warnings about Services that Remedies without conditions would leave unserved, unless a budget holds a
    block."""
    if any(budget.spec.get("minAvailableBackends") for budget in fleet.policies(DISRUPTION_BUDGET)):
        return
    immediate = [remedy for remedy in remedies if remedy.immediate and TRAFFIC_CONTROL in remedy.actions]
    for ingress in fleet.of(MULTI_CLUSTER_INGRESS) if immediate else ():
        located = locate(fleet, ingress)
        blocked = [name for name in located.everywhere if any(remedy.speaks_of(name) for remedy in immediate)]
        yield from unserved(ingress, located, blocked)


LOCATIONS = ("status", "serviceLocations")


@dataclass(frozen=True, slots=True)
class Located:
    """The clusters of each Service by its name; `computed`: was any read from a ResourceBinding?"""

    clusters: Mapping[str, tuple[str, ...]]
    computed: bool

    @property
    def everywhere(self) -> set[str]:
        """All clusters that serve anything."""
        return {cluster for found in self.clusters.values() for cluster in found}

    def tree(self) -> list[Tree]:
        """`status.serviceLocations`: sorted by Service, its clusters sorted."""
        return [{"name": name, "clusters": list(found)} for name, found in sorted(self.clusters.items())]


def backends(ingress: Object) -> list[str]:
    """Return the names of an ingress' Services, sorted. Other backends have no clusters."""
    spec = ingress.spec
    paths = [path for rule in mappings_at(spec, "rules") for path in mappings_at(rule, "http", "paths")]
    named = [dig(spec, "defaultBackend", "service", "name")]
    named.extend(dig(path, "backend", "service", "name") for path in paths)
    return sorted({name for name in named if isinstance(name, str)})


def locate(view: View, ingress: Object) -> Located:
    """Return where an ingress' Services run, without unplaced ones."""
    reported = {
        str(entry.get("name")): tuple(sorted(_names(entry.get("clusters"))))
        for entry in mappings_at(ingress.body, *LOCATIONS)
    }
    bound = {}
    for service in backends(ingress):
        binding = view.objects.get(RESOURCE_BINDING.id(f"{service}-service".lower(), ingress.id.namespace))
        if binding is not None and binding.id not in view.broken:
            bound[service] = tuple(sorted(_bound_clusters(binding)))
    return Located({**reported, **bound}, bool(bound))


def _bound_clusters(binding: Object) -> set[str]:
    """The clusters of a binding, and of the bindings that require it."""
    lists = [mappings_at(binding.spec, "clusters")]
    lists.extend(mappings_at(required, "clusters") for required in mappings_at(binding.spec, "requiredBy"))
    return {name for clusters in lists for name in _names([cluster.get("name") for cluster in clusters])}


def _names(values: Tree) -> set[str]:
    return {value for value in values if isinstance(value, str)} if isinstance(values, list) else set()


def unserved(ingress: Object, located: Located, blocked: Collection[str]) -> Iterator[Finding]:
    """Yield a warning for each Service whose clusters are all blocked."""
    for service, clusters in sorted(located.clusters.items()):
        if clusters and set(clusters) <= set(blocked):
            message = f"every cluster that serves {service!r} gets no traffic: {', '.join(clusters)}"
            hint = "a DisruptionBudget with minAvailableBackends: 1 keeps the last one serving"
            yield finding_at(ingress, ("spec",), Code.BACKEND_WITHOUT_CLUSTER, message, hint)
