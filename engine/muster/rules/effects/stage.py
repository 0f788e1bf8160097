"""The stage: asks TaintPolicies, ClusterTaintPolicies and Remedies what they want of each cluster.

Decided before `budgets`, which counts the clusters that would be disrupted; the stages after it cause the effects
within what is allowed, and ask nobody again.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import Failed
from muster.data.finding import Finding
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.budgets.population import in_service
from muster.rules.conditions.doubt import Doubts
from muster.rules.context import Context
from muster.rules.effects.requested import NOTHING, Acting, Wish, Wished
from muster.rules.failures import Failures
from muster.rules.policies.scopes import Scopes
from muster.rules.remedies.requested import Remedies
from muster.rules.taints.cluster_stage import would_disrupt
from muster.rules.taints.latches import latches
from muster.rules.taints.requested import Taints
from muster.rules.taints.stage import disrupts


def stage(view: View, context: Context, now: datetime) -> Iterator[Wished | Failed | Finding]:
    """Tell what is asked for on each cluster. Of one that is being deleted nothing is."""
    scopes, doubts, failures = Scopes.of(view, context.rules, now), Doubts.of(view, context.rules, now), Failures()
    taints, remedies = Taints(view, now, scopes, doubts, failures), Remedies.of(view, context, scopes, doubts, failures)

    def wished(obj: Object) -> Iterator[Wished]:
        if obj.deleting:
            return
        tainting = taints.wish(obj)
        latching = latches(obj, context.cluster_taints, doubts)
        # Nothing is asked of what is not the fleet's: never accepted, or denied.
        acting = remedies.wish(obj) if in_service(obj) else Acting()
        disrupted = bool(acting.pairs) or any(map(disrupts, tainting.decisions)) or would_disrupt(view, obj, latching)
        wish = Wish(tainting, latching, acting, disrupted)
        if wish != NOTHING:
            yield Wished(obj.id, wish)

    yield from each(view.clusters(), wished)
    yield from failures.seen
