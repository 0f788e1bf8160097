"""Traffic: where the backends of each MultiClusterIngress run, and which of those clusters get no traffic (seed 003).

A Service's clusters are those of the ResourceBinding of Karmada's scheduler, if the repository has it, else those in
the ingress' own reported `status.serviceLocations`. Both lists are computed in full in every run. A cluster is blocked
while it serves a backend and has the action `TrafficControl`: by default even the last one, with a warning. A
DisruptionBudget with `minAvailableBackends` holds a new block if too few clusters would keep serving a backend.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from muster.data.codes import Code
from muster.data.decision import OF_ITSELF, OF_SPEC, Because, Decision, Held, Input, Path
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS, DISRUPTION_BUDGET, MULTI_CLUSTER_INGRESS, RESOURCE_BINDING
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.shared import Shared
from muster.fleet.unread import UnreadError
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.remedies.policy import TRAFFIC_CONTROL, Remedy
from muster.rules.remedies.stage import ACTIONS
from muster.rules.stages import Wide


def lint_ingresses(fleet: Fleet, remedies: Iterable[Remedy]) -> Iterator[Finding]:
    """Yield warnings about Services that Remedies without conditions would leave unserved, unless a budget holds a
    block."""
    if any(budget.spec.get("minAvailableBackends") for budget in fleet.policies(DISRUPTION_BUDGET)):
        return
    immediate = [remedy for remedy in remedies if remedy.immediate and TRAFFIC_CONTROL in remedy.actions]
    for ingress in fleet.of(MULTI_CLUSTER_INGRESS) if immediate else ():
        try:
            located = locate(fleet, ingress)
        except UnreadError:
            continue  # nothing is decided about it either
        blocked = [name for name in located.everywhere if any(remedy.selects(name) for remedy in immediate)]
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
        return {cluster for clusters in self.clusters.values() for cluster in clusters}

    def tree(self) -> list[Tree]:
        """`status.serviceLocations`: sorted by Service, its clusters sorted."""
        return [{"name": name, "clusters": list(clusters)} for name, clusters in sorted(self.clusters.items())]


def backends(ingress: Object) -> list[str]:
    """Return the names of an ingress' Services, sorted. Other backends have no clusters."""
    spec = ingress.spec
    paths = [path for rule in mappings_at(spec, "rules") for path in mappings_at(rule, "http", "paths")]
    named = [dig(spec, "defaultBackend", "service", "name")]
    named.extend(dig(path, "backend", "service", "name") for path in paths)
    return sorted({name for name in named if isinstance(name, str)})


def locate(view: View, ingress: Object) -> Located:
    """Return where an ingress' Services run, without unplaced ones. UnreadError if a binding has an error."""
    reported = {
        str(entry.get("name")): tuple(sorted(_names(entry.get("clusters"))))
        for entry in mappings_at(ingress.body, *LOCATIONS)
    }
    bound = {}
    for service in backends(ingress):
        binding = view.lookup(RESOURCE_BINDING.id(f"{service}-service".lower(), ingress.id.namespace))
        if binding is not None:
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


BLOCKED: Path = ("status", "trafficBlockClusters")
_BECAUSE = Because("traffic", OF_SPEC, "where the clusters are that serve each backend")


def stage(shared: Shared, allowance: Allowance) -> Iterator[Decision | Held | Finding]:
    """Decide both lists of every ingress."""
    yield from each(shared.of(MULTI_CLUSTER_INGRESS), lambda ingress: ingress_traffic(shared, allowance, ingress))


def ingress_traffic(shared: Shared, allowed: Allowance, ingress: Object) -> Iterator[Decision | Held | Finding]:
    """Decide both lists of one ingress."""
    located = locate(shared, ingress)
    wanted = {name for name in located.everywhere if _controlled(shared, name)}
    blocked = wanted & _blocked_before(shared, ingress)
    for cluster in sorted(wanted - blocked):
        held = _held_block(shared, allowed, ingress, located, blocked, cluster)
        if held is None:
            blocked.add(cluster)
        else:
            yield held
    if located.computed:
        yield from _list(ingress, LOCATIONS, located.tree(), _BECAUSE)
    yield from _list(ingress, BLOCKED, sorted(blocked), _because(shared, blocked))
    yield from unserved(ingress, located, blocked)


def _controlled(shared: Shared, cluster: str) -> bool:
    """Does a cluster of that name, of either kind, have the action that blocks traffic?"""
    return any(TRAFFIC_CONTROL in (shared.now(kind.id(cluster), *ACTIONS) or ()) for kind in CLUSTERS)


def _blocked_before(shared: Shared, ingress: Object) -> set[str]:
    before = shared.before(ingress.id, *map(str, BLOCKED))
    return {name for name in before if isinstance(name, str)} if isinstance(before, list) else set()


def _held_block(
    shared: Shared, allowed: Allowance, ingress: Object, located: Located, blocked: set[str], cluster: str
) -> Held | None:
    """Why a new block is held: a backend would have too few clusters, or how many it needs is unknown."""
    if (unread := allowed.unread()) is not None:
        return Held(ingress.id, f"traffic block {cluster}", unread.text, unread.because)
    for kind in CLUSTERS:
        fewest, rule = allowed.min_backends(shared, kind.id(cluster))
        for service, clusters in sorted(located.clusters.items()):
            remaining = len(set(clusters) - blocked - {cluster})
            if rule is not None and cluster in clusters and remaining < fewest:
                reason = (
                    f"{remaining} of {len(clusters)} clusters would go on serving {service!r}, "
                    f"budget {rule.name!r} asks for {fewest}"
                )
                return Held(
                    ingress.id,
                    f"traffic block {cluster}",
                    reason,
                    Because(str(rule), (Input(("spec", "minAvailableBackends"), rule),), reason),
                )
    return None


def _because(shared: Shared, blocked: set[str]) -> Because:
    """The Remedies behind the blocks, as in the clusters' decisions."""
    ids = [kind.id(name) for name in sorted(blocked) for kind in CLUSTERS]
    decisions = [decision for id_ in ids if (decision := shared.decisions(id_).get(ACTIONS)) is not None]
    rules = sorted({decision.because.rule for decision in decisions})
    inputs = dict.fromkeys(
        Input(path, object_ or decision.object) for decision in decisions for path, object_ in decision.because.inputs
    )
    return Because(", ".join(rules) or "traffic", tuple(inputs) or OF_ITSELF)


def _list(ingress: Object, path: Path, value: list[Tree], because: Because) -> Iterator[Decision]:
    """An empty list is written only to override an input."""
    if value or dig(ingress.body, *map(str, path)):
        yield Decision(ingress.id, path, value, because)


STAGE = Wide(
    "traffic",
    stage,
    derives=(((MULTI_CLUSTER_INGRESS,), (("status", "serviceLocations"), ("status", "trafficBlockClusters"))),),
)
