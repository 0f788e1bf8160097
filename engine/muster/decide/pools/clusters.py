"""One pass over clusters: what is stated of their power, which waits are over, and what policies say of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from muster.decide.conditions import object_conditions
from muster.decide.context import Context
from muster.decide.failures import Failed, Failures
from muster.decide.pools.ledger import Ledger
from muster.decide.pools.manifest import TO_HIBERNATING, TO_RUNNING, timeouts
from muster.decide.pools.model import HIBERNATING, Cluster, instant
from muster.decide.pools.powerstate import power_view
from muster.decide.pools.rules import Rules
from muster.decide.pools.survey import Survey
from muster.decide.pools.timeouts import failed_condition, wait_of
from muster.fleet.objects import Object
from muster.model.decision import OF_CONDITIONS, Because, Input
from muster.model.kinds import CONDITION_POLICY
from muster.model.times import format_time, second_at
from muster.model.tree import Tree
from muster.policy.ruled import Ruled
from muster.policy.scopes import Scopes

ASKED = "powerStateSince"
_POWER = Because("pools power state", (Input(("spec", "powerState")), Input(("status", "conditions"))))
_HIBERNATE_AFTER = Because("pools hibernateAfter", (Input(("spec", "hibernateAfter")),))
_TIMEOUT = Because("pools timeout", (Input(("spec", "powerState")),))
_BROKEN = Because("pools", OF_CONDITIONS, "it is deleted because it is broken")
_STATED = frozenset(("Hibernating", "Ready"))


@dataclass(frozen=True, slots=True)
class ClusterPass:
    """What is the same for every cluster of a run."""

    fleet: Ruled
    context: Context
    view: Survey
    now: datetime
    rules: Rules

    def states(self, ledger: Ledger) -> None:
        """Decide power states' conditions, hibernateAfter and timeouts of every cluster that can be read."""
        inherited = {
            pool.key: {str(path[1]): value for path, value in timeouts(pool).items()} for pool in self.view.pools
        }
        for cluster in self.view.clusters.values():
            if not cluster.frozen:
                limits = inherited.get(cluster.pool, {}) if cluster.pool else {}
                self._state(ledger, cluster, limits)

    def asked(self, cluster: Cluster) -> datetime:
        """When muster last changed the cluster's power state; for one of a pool that it has just met, now."""
        return instant(self.fleet.previous.get(cluster.id), "status", "muster", ASKED) or self.now

    def _state(self, ledger: Ledger, cluster: Cluster, inherited: Tree) -> None:
        before = self.fleet.conditions_before(cluster.id)
        power = power_view(cluster, before, self.now, keeps_failures=self.rules.keeps_failures)
        path, wanted = ("status", "conditions", ("Hibernating",)), ("spec", "powerState")
        stated = {**self._stated_before(cluster, before), **power.stated}
        for type_, said in stated.items():
            value = {name: part for name, part in said.items() if name != "type"}
            ledger.set(cluster.id, ("status", "conditions", (type_,)), value, _POWER)
        state = power.state or (self.fleet.before(cluster.id, "status", "powerState") if cluster.fake else None)
        if state is not None:
            ledger.set(cluster.id, ("status", "powerState"), state, _POWER)
        if power.hibernate:
            ledger.set(cluster.id, wanted, HIBERNATING, _HIBERNATE_AFTER)
        else:
            ledger.wake(cluster.id, wanted, _HIBERNATE_AFTER, power.horizon)
        # Of a cluster without a pool the power state is a person's: it counts from what the cluster itself says.
        asked = None if cluster.pool is None else self.asked(cluster)
        wait = wait_of(cluster, self._limits(cluster, inherited), power, asked, self.rules)
        if wait is None:
            return
        if self.now >= wait.deadline:
            ledger.set(cluster.id, path, failed_condition(wait, before.get("Hibernating"), self.now), _TIMEOUT)
        else:
            ledger.wake(cluster.id, path, _TIMEOUT, second_at(wait.deadline))

    @staticmethod
    def _stated_before(cluster: Cluster, before: Mapping[str, Tree]) -> dict[str, Tree]:
        """What muster goes on to say of a fake cluster's power, for nobody else does."""
        return {type_: said for type_, said in before.items() if cluster.fake and type_ in _STATED}

    def _limits(self, cluster: Cluster, inherited: Tree) -> Tree:
        """The timeouts that apply: what a person wrote on the cluster, else what its pool says now."""
        obj = self.fleet.objects.get(cluster.id)
        own = {
            name: value
            for name in (TO_RUNNING, TO_HIBERNATING)
            if obj is not None and (value := obj.spec.get(name)) is not None
        }
        return {**inherited, **own}

    def judge(self, ledger: Ledger) -> Iterator[Failed]:
        """Decide what ConditionPolicies say of every cluster, and yield what failed while they were asked.

        Policies see the cluster with muster's spec in it, the reported status, and as `status.muster` when muster last
        asked for a power state.
        """
        fleet = self.fleet.with_outcomes(d for entries in ledger.entries.values() for d in entries.values())
        scopes, failures = Scopes.of(fleet, self.context.rules, self.now), Failures()
        kept = self.context.shared.uncertain(CONDITION_POLICY)
        for cluster in self.view.clusters.values():
            if cluster.frozen:
                continue
            if cluster.deleting:
                self._keep_broken(ledger, cluster)
                continue
            for decision in object_conditions(scopes, self._seen(cluster), self.now, failures, kept=kept):
                if decision.path[-1][0] not in _STATED:
                    ledger.add(decision)
        yield from failures.seen

    def _keep_broken(self, ledger: Ledger, cluster: Cluster) -> None:
        """A cluster that is deleted because it is broken goes on to say why."""
        before = self.fleet.conditions_before(cluster.id).get("Broken", {})
        if before.get("status") == "True":
            value = {name: part for name, part in before.items() if name != "type"}
            ledger.set(cluster.id, ("status", "conditions", ("Broken",)), value, _BROKEN)

    def _seen(self, cluster: Cluster) -> Object:
        status = {**cluster.body.get("status", {}), "muster": {ASKED: format_time(self.asked(cluster))}}
        obj = self.fleet.objects.get(cluster.id)
        return Object(cluster.id, {**cluster.body, "status": status}, obj.parts if obj is not None else ())
