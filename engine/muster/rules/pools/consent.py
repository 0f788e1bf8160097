"""Consent: the clusters that a pool would delete, where a person has to approve that first (`Fleet.spec.approval`).

All that would go sooner or later is proposed at once, whatever `maxConcurrent` says; of that, what is approved goes as
if nothing else could. So a cluster that waits takes up its place in the pool, and nobody else's turn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from muster.data.decision import Because, Held, Input, Wait
from muster.data.ids import ObjectId
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import DELETION
from muster.rules.pools.model import Cluster, Pool
from muster.rules.pools.scaling import Plan

#: Makes a plan for a pool, from those clusters that may be deleted.
MakePlan = Callable[[Pool, Callable[[Cluster], bool]], Plan]
_TURN = "its deletion is approved, and waits for its turn (spec.maxConcurrent of its pool)"


@dataclass(slots=True)
class Consent:
    """What of the deletions of one pass waits for somebody, by cluster; those that happen are not among them."""

    view: View
    allowance: Allowance
    waits: dict[ObjectId, Wait] = field(default_factory=dict)
    because: Because = field(default=Because("pools", (Input(("spec", "maxConcurrent")),), _TURN))

    def within(self, pool: Pool, make: MakePlan) -> Plan:
        """Return the plan for a pool in which nothing goes that is not approved."""
        if not self.allowance.approvals.topic(DELETION):
            return make(pool, lambda _: True)
        self.because = self.because._replace(inputs=(Input(("spec", "maxConcurrent"), pool.id),))
        wanted = make(replace(pool, max_concurrent=None), lambda _: True).delete
        approved = {cluster.id for cluster in wanted if self.approved(cluster)}
        step = make(pool, lambda cluster: cluster.id in approved)
        for cluster in step.delete:
            self.waits.pop(cluster.id, None)
        return step

    def approved(self, cluster: Cluster) -> bool:
        """Whether a cluster that is to go may; remembers since when it waits."""
        wait = self.allowance.approvals.wait(self.view, cluster.id, DELETION, self.allowance.now)
        if wait is not None:
            self.waits[cluster.id] = wait
        return wait is None or wait.approved

    def held(self) -> Iterator[Held]:
        """The deletions that wait: for approval, or for their turn."""
        for id_, wait in sorted(self.waits.items()):
            if wait.approved:
                yield Held(id_, DELETION, _TURN, self.because, wait=wait)
            else:
                yield self.allowance.approvals.held(id_, DELETION, wait)
