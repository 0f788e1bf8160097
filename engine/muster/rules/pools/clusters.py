"""The stage before pools: each pool cluster's own statements, and the policies' conditions.

Power statements and expired waits are decided first, because the policies that sort clusters into buckets read them. A
cluster's manifest is carried over from the last run; its pool may change it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from muster.data.decision import OF_CONDITIONS, Because, Decision, Failed, Input
from muster.data.finding import Finding
from muster.data.kinds import CLUSTER_DEPLOYMENT
from muster.data.times import format_time, second_at
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.faults import attempt
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.stage import authors_of_conditions, of_objects
from muster.rules.policies.in_force import InForce
from muster.rules.pools.ledger import ClusterStatement, Ledger, of_cluster
from muster.rules.pools.manifest import TO_HIBERNATING, TO_RUNNING, carried, timeouts
from muster.rules.pools.model import HIBERNATING, Cluster, PoolKey, instant
from muster.rules.pools.powerstate import power_view
from muster.rules.pools.rules import Rules, rules_of
from muster.rules.pools.survey import clusters_of, pools_of
from muster.rules.pools.timeouts import failed_condition, wait_of
from muster.rules.stages import GoverningObjects, Local
from muster.rules.transitions import unchanged_condition
from muster.rules.unread_authors import of_unread_authors

ASKED = "powerStateSince"
_POWER = Because("pools power state", (Input(("spec", "powerState")), Input(("status", "conditions"))))
_HIBERNATE_AFTER = Because("pools hibernateAfter", (Input(("spec", "hibernateAfter")),))
_TIMEOUT = Because("pools timeout", (Input(("spec", "powerState")),))
_BROKEN = Because("pools", OF_CONDITIONS, "it is broken, and it is being deleted")
_AUTHORS = authors_of_conditions(CLUSTER_DEPLOYMENT)
_STATED = frozenset(("Hibernating", "Ready"))


def stage(
    view: View, now: datetime, in_force: InForce, governing: GoverningObjects
) -> Iterator[ClusterStatement | Failed | Finding]:
    """Decide the statements about every readable ClusterDeployment.

    Policies see a cluster with muster's spec, the reported status, and in `status.muster` the time of muster's last
    power request.
    """
    rules, ledger = rules_of(in_force.settings), Ledger()
    clusters = [cluster for _, cluster in clusters_of(view, now, rules) if cluster is not None and not cluster.frozen]
    if not clusters:
        return
    limits = {pool.key: {str(path[1]): value for path, value in timeouts(pool).items()} for pool in pools_of(governing)}
    one_cluster = _OneCluster(view, ledger, limits, rules, now)
    for cluster in clusters:
        if (fault := attempt(cluster, lambda cluster=cluster: one_cluster.state(cluster))) is not None:  # type: ignore[misc]
            yield fault
    stated_view = view.with_decisions(decision for by_path in ledger.entries.values() for decision in by_path.values())
    judged = [
        _as_policies_see_it(view, cluster, now) for cluster in clusters if not (cluster.deleting and cluster.pool)
    ]
    outcomes = list(of_objects(stated_view, judged, now, in_force))
    # Here and not after the stage: the ledger counts what it drops.
    outcomes += of_unread_authors(stated_view, {obj.id for obj in judged}, governing, _AUTHORS, outcomes)
    for outcome in outcomes:
        if not isinstance(outcome, Decision):
            yield outcome
        elif outcome.path[-1][0] not in _STATED:
            ledger.add(outcome)
    for cluster in clusters:
        yield ledger.stated(cluster.id)


def power_requested_since(view: View, cluster: Cluster, now: datetime) -> datetime:
    """When muster last changed the cluster's power state; now for a cluster new to a pool."""
    return instant(view.previous.get(cluster.id), "status", "muster", ASKED) or now


def _as_policies_see_it(view: View, cluster: Cluster, now: datetime) -> Object:
    target = {ASKED: format_time(power_requested_since(view, cluster, now))}
    status = {**cluster.body.get("status", {}), "muster": target}
    obj = view.objects.get(cluster.id)
    return Object(cluster.id, {**cluster.body, "status": status}, obj.parts if obj is not None else ())


@dataclass(frozen=True, slots=True)
class _OneCluster:
    """States what depends on one cluster alone. `limits`: the timeouts inherited from each pool."""

    view: View
    ledger: Ledger
    limits: Mapping[PoolKey, Tree]
    rules: Rules
    now: datetime

    def state(self, cluster: Cluster) -> None:
        """Carry over a cluster's declared fields, and decide its power conditions, hibernateAfter and timeouts. A
        cluster that is deleted because it is broken keeps that condition."""
        self._carry(cluster)
        self._power(cluster)
        broken = self.view.conditions_before(cluster.id).get("Broken", {})
        if cluster.deleting and broken.get("status") == "True":
            self.ledger.add(unchanged_condition(cluster.id, "Broken", broken, _BROKEN))

    def _carry(self, cluster: Cluster) -> None:
        """Decide again what muster declared about a cluster; only the timeouts follow its pool."""
        fields = carried(self.view.previous.get(cluster.id))
        if cluster.power_requested:
            fields.pop(("spec", "powerState"), None)
        if cluster.declared and cluster.pool in self.limits:
            written = self._declared_spec(cluster)
            for name in (TO_RUNNING, TO_HIBERNATING):
                fields.pop(("spec", name), None)
            fields |= {("spec", name): value for name, value in self._inherited(cluster).items() if name not in written}
        conditions, requested = (
            self.view.conditions_before(cluster.id),
            power_requested_since(self.view, cluster, self.now),
        )
        for path, value in fields.items():
            self.ledger.set(cluster.id, path, value, of_cluster(cluster, path, value, conditions, requested))

    def _power(self, cluster: Cluster) -> None:
        before = self.view.conditions_before(cluster.id)
        power = power_view(cluster, before, self.now, keeps_failures=self.rules.keeps_failures)
        path, wanted = ("status", "conditions", ("Hibernating",)), ("spec", "powerState")
        for type_, stated in {**_fake_power_before(cluster, before), **power.stated}.items():
            self.ledger.add(unchanged_condition(cluster.id, type_, stated, _POWER))
        state = power.state or (self.view.before(cluster.id, "status", "powerState") if cluster.fake else None)
        if state is not None:
            self.ledger.set(cluster.id, ("status", "powerState"), state, _POWER)
        if power.hibernate:
            self.ledger.set(cluster.id, wanted, HIBERNATING, _HIBERNATE_AFTER)
        else:
            self.ledger.wake(cluster.id, wanted, _HIBERNATE_AFTER, power.horizon)
        # Without a pool, the power state is a person's: the time in the cluster's own status counts.
        requested = None if cluster.pool is None else power_requested_since(self.view, cluster, self.now)
        wait = wait_of(cluster, self._limits(cluster), power, requested, self.rules)
        if wait is None:
            return
        if self.now >= wait.deadline:
            self.ledger.set(cluster.id, path, failed_condition(wait, before.get("Hibernating"), self.now), _TIMEOUT)
        else:
            self.ledger.wake(cluster.id, path, _TIMEOUT, second_at(wait.deadline))

    def _limits(self, cluster: Cluster) -> Tree:
        """The timeouts in force: a person's on the cluster, else its pool's."""
        of_cluster_itself = self._declared_spec(cluster)
        written = {
            name: of_cluster_itself[name]
            for name in (TO_RUNNING, TO_HIBERNATING)
            if of_cluster_itself.get(name) is not None
        }
        return {**self._inherited(cluster), **written}

    def _inherited(self, cluster: Cluster) -> Tree:
        return self.limits.get(cluster.pool, {}) if cluster.pool else {}

    def _declared_spec(self, cluster: Cluster) -> Mapping[str, Tree]:
        obj = self.view.objects.get(cluster.id)
        return obj.spec if obj is not None else {}


def _fake_power_before(cluster: Cluster, before: Mapping[str, Tree]) -> dict[str, Tree]:
    """Earlier statements about a fake cluster's power, which has no other source."""
    return {type_: condition for type_, condition in before.items() if cluster.fake and type_ in _STATED}


STAGE = Local("pool clusters", stage, foundation=True)
