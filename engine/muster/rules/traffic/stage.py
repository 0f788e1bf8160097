"""Traffic: where the backends of each MultiClusterIngress run, and which of those clusters get no traffic (seed 003).

Both lists are computed in full in every run. A cluster is blocked while it serves a backend and has the action
`TrafficControl`: by default even the last one, with a warning. A DisruptionBudget with `minAvailableBackends` holds a
new block if too few clusters would keep serving a backend.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import OF_ITSELF, OF_SPEC, Because, Decision, Held, Input, Path
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS, MULTI_CLUSTER_INGRESS
from muster.data.tree import Tree, dig
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.rules.context import Context
from muster.rules.effects.allowance import Allowance
from muster.rules.remedies.policy import TRAFFIC_CONTROL
from muster.rules.remedies.stage import ACTIONS
from muster.rules.stages import Wide
from muster.rules.traffic.ingresses import LOCATIONS, Located, locate, unserved

BLOCKED: Path = ("status", "trafficBlockClusters")
_BECAUSE = Because("traffic", OF_SPEC, "where the clusters are that serve each backend")


def stage(shared: Shared, context: Context, _now: datetime) -> Iterator[Decision | Held | Finding]:
    """Decide both lists of every ingress."""
    yield from each(
        shared.of(MULTI_CLUSTER_INGRESS), lambda ingress: ingress_traffic(shared, context.told(Allowance), ingress)
    )


def ingress_traffic(shared: Shared, allowed: Allowance, ingress: Object) -> Iterator[Decision | Held | Finding]:
    """Decide both lists of one ingress."""
    located = locate(shared, ingress)
    wanted = {name for name in located.everywhere if _controlled(shared, name)}
    blocked = wanted & _before(shared, ingress)
    for cluster in sorted(wanted - blocked):
        held = _held(shared, allowed, ingress, located, blocked, cluster)
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


def _before(shared: Shared, ingress: Object) -> set[str]:
    before = shared.before(ingress.id, *map(str, BLOCKED))
    return {name for name in before if isinstance(name, str)} if isinstance(before, list) else set()


def _held(
    shared: Shared, allowed: Allowance, ingress: Object, located: Located, blocked: set[str], cluster: str
) -> Held | None:
    """Why a new block is held: a backend would have too few clusters."""
    for kind in CLUSTERS:
        fewest, rule = allowed.min_backends(shared, kind.id(cluster))
        for service, clusters in sorted(located.clusters.items()):
            left = len(set(clusters) - blocked - {cluster})
            if rule is not None and cluster in clusters and left < fewest:
                reason = (
                    f"{left} of {len(clusters)} clusters would go on serving {service!r}, "
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
        Input(path, of or decision.object) for decision in decisions for path, of in decision.because.inputs
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
