"""What Remedies that act at once would leave unserved."""

from collections.abc import Iterable, Iterator

from muster.data.finding import Finding
from muster.data.kinds import DISRUPTION_BUDGET, MULTI_CLUSTER_INGRESS
from muster.fleet.fleet import Fleet
from muster.rules.remedies.policy import TRAFFIC_CONTROL, Remedy
from muster.rules.traffic.ingresses import locate, unserved


def lint_ingresses(fleet: Fleet, remedies: Iterable[Remedy]) -> Iterator[Finding]:
    """Yield warnings for what Remedies that act at once would leave unserved, where no budget holds a block back."""
    if any(budget.spec.get("minAvailableBackends") for budget in fleet.policies(DISRUPTION_BUDGET)):
        return
    immediate = [remedy for remedy in remedies if remedy.immediate and TRAFFIC_CONTROL in remedy.actions]
    for ingress in fleet.of(MULTI_CLUSTER_INGRESS) if immediate else ():
        located = locate(fleet, ingress)
        blocked = [name for name in located.everywhere if any(remedy.speaks_of(name) for remedy in immediate)]
        yield from unserved(ingress, located, blocked)
