"""One pass over one pool: from its clusters and claims to what is created, assigned, resumed and deleted.

The order is upstream's: links first, then the status counts, then assignment, size and power. Counts are those before
this pass acts, except for a pool that is being deleted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice

from muster.data.decision import Because, Held, Input, Outcome
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT
from muster.data.times import format_time
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass
from muster.fleet.shared import Shared
from muster.rules.effects.allowance import Allowance
from muster.rules.pools import conditions
from muster.rules.pools import conditions as words
from muster.rules.pools.buckets import Buckets, classify, shown_bucket
from muster.rules.pools.claims import ASSIGNED, NO_CLUSTERS, ClaimLinks, assign, repair
from muster.rules.pools.inventory import Dependencies, Inventory, Stock, reserve, synchronize
from muster.rules.pools.ledger import Ledger
from muster.rules.pools.manifest import hub_version, matching, new_manifest, reference_to, version_of
from muster.rules.pools.model import RUNNING, Claim, Cluster, Pool, text, whole
from muster.rules.pools.powerstate import power_states
from muster.rules.pools.rules import Rules
from muster.rules.pools.scaling import (
    EFFECT,
    DeletionApprovals,
    PassLimits,
    Plan,
    ReplacementHold,
    free_ordinals,
    held_by_budget,
    ordinal_of,
    plan,
    stem,
    wind_down,
)
from muster.rules.pools.survey import Survey
from muster.rules.pools.timeouts import Streak
from muster.rules.transitions import condition_decision, unchanged_condition

_KEPT_CONDITIONS = (words.CAPACITY, words.DEPENDENCIES, words.CURRENT, words.INVENTORY, words.DELETION)
#: How many failed clusters a pool records.
_MOST_FAILURES = 5
_NO_HIBERNATION = ("openstack", "vsphere")


@dataclass(slots=True)
class PoolsPass:
    """What the pools of a run share. Each pass updates `ledger`, `stock`, `taken` (names of clusters) and `owners` (the
    subjects that may use a cluster, by its name) for the next."""

    fleet: Shared
    view: Survey
    ledger: Ledger
    stock: Stock
    dependencies: Dependencies
    allowance: Allowance
    taken: set[str]
    owners: dict[str, Tree]
    now: datetime
    rules: Rules

    def decided(self, id_: ObjectId) -> Mapping[str, Tree]:
        """A cluster's conditions by type, as this run has decided them."""
        entries = self.ledger.entries.get(id_, {})
        return {
            path[2][0]: decision.value
            for path, decision in entries.items()
            if len(path) == 3 and path[1] == "conditions" and decision.value is not None
        }


def pass_over(pools_pass: PoolsPass, pool: Pool) -> Iterator[Outcome]:
    """Decide one pass over a pool; yield held effects and findings."""
    always_running = any(name in _NO_HIBERNATION for name in mapping_at(pool.spec, "platform"))
    if always_running and pool.running_count != pool.size and not pool.deleting:
        _PoolPass(pools_pass, pool).keep()
        yield conditions.hibernation_unsupported(pools_pass.fleet.objects[pool.id], pool.running_count, pool.size)
    else:
        yield from _PoolPass(pools_pass, pool).run()


class _PoolPass:
    """The steps of one pass over one pool."""

    def __init__(self, pools_pass: PoolsPass, pool: Pool) -> None:
        self.pools_pass, self.pool, self.ledger, self.rules = pools_pass, pool, pools_pass.ledger, pools_pass.rules
        self.because = Because(f"ClusterPool/{pool.key.namespace}/{pool.key.name}", (Input(("spec",), pool.id),))
        self.version = version_of(pool.spec)
        self.hub = hub_version(pools_pass.fleet, pool, self.clusters, self.version)
        self.stem = stem(pool.key, unique=pools_pass.view.namesakes.get(pool.id.name, 0) < 2)
        self.before = pools_pass.fleet.conditions_before(pool.id)
        self.streak = Streak.read(pools_pass.fleet.before(pool.id, "status", "muster", "replacements"))
        self.holds: dict[str, ReplacementHold] = {}
        self.consent = DeletionApprovals(pools_pass.fleet, pools_pass.allowance)
        self.broken: frozenset[str] = frozenset()
        self.decided = {cluster.id: pools_pass.decided(cluster.id) for cluster in self.clusters}

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        return self.pools_pass.view.of_pool.get(self.pool.key, ())

    def run(self) -> Iterator[Outcome]:
        clusters, claims = self.clusters, self.pools_pass.view.claims_on.get(self.pool.key, ())
        versions = matching(self.version, self.hub)
        buckets = classify(self.pool, clusters, versions, lambda id_: self.decided[id_])
        self.broken = frozenset(cluster.name for cluster in buckets.broken)
        if self.pool.deleting:
            self._wind_down(buckets)
            yield from self.consent.held()
            return
        links, stale = repair(buckets, claims, self.rules), buckets.stale
        buckets = _after(buckets, links)
        inventory = synchronize(self.pools_pass.stock, self.pool, buckets, self.pools_pass.view.names)
        self._count(buckets)
        self._set_condition(words.capacity(self.pool, buckets))
        links = assign(links, stale, self.rules)
        self._link(links)
        served = _after(buckets, links)
        missing = self.pools_pass.dependencies.missing(self.pool)
        free = None if inventory is None else len(inventory.free)
        step = self.consent.within(
            self.pool,
            lambda pool, may_go: plan(
                pool, served, len(links.waiting), PassLimits(bool(missing), free, self._replaceable, may_go), self.rules
            ),
        )
        born = list(self._create(step, inventory))
        self._delete(step.delete)
        if not (step.blocked and self.rules.starved_by_dependencies):
            deleted = [cluster.name for cluster in step.delete]
            self._power(power_states(self.pool, served, deleted, born, len(links.waiting), self.rules))
            self._set_condition(words.current(stale, deleted))
        self._set_limit_conditions(step, missing, inventory)
        self._record(step, links, born)
        yield from self._held_replacements(step)
        yield from self.consent.held()

    def keep(self) -> None:
        for name in ("size", "standby", "ready"):
            self._set(("status", name), self.pools_pass.fleet.before(self.pool.id, "status", name))
        book = mapping_at(self.pools_pass.fleet.previous.get(self.pool.id), "status", "muster")
        names = ("nextOrdinal", "buckets", "replacements", "failures", "hubVersion")
        self._book({name: book[name] for name in names if name in book})
        self._keep_conditions()

    # -- claims and clusters

    def _link(self, links: ClaimLinks) -> None:
        for claim, cluster in links.to_claim:
            self.ledger.set(claim.id, ("spec", "namespace"), cluster.name, self.because)
            self._set_claim_condition(claim, ASSIGNED)
        for claim in links.waiting:
            self._set_claim_condition(claim, NO_CLUSTERS)
        for claim, cluster in links.to_cluster:
            fields = {path: d.value for path, d in self.ledger.entries.get(cluster.id, {}).items()}
            reference = reference_to(fields, cluster.body, self.pool.key)
            reference |= {"claimName": claim.name, "claimedTimestamp": format_time(self.pools_pass.now)}
            self.ledger.set(cluster.id, ("spec", "clusterPoolRef"), reference, self.because)
            self._set_power(cluster.id, RUNNING)

    def _create(self, step: Plan, inventory: Inventory | None) -> Iterator[str]:
        free = free_ordinals(self.stem, self._next_ordinal(), self.pools_pass.taken)
        for index, (_, name) in enumerate(islice(free, step.create)):
            customization = text(self.pool.spec, "customizationRef", "name")
            if inventory is not None:
                item = self.pools_pass.stock.items[inventory.free[index].id]
                reserve(self.pools_pass.stock, item, name, self.pool)
                customization = item.id.name
            fields = new_manifest(self.pool, name, self.version, customization, self.pools_pass.now)
            self.ledger.set_all(CLUSTER_DEPLOYMENT.id(name, name), fields, self.because)
            self.pools_pass.taken.add(name)
            yield name

    def _next_ordinal(self) -> int:
        recorded = whole(self.pools_pass.fleet.before(self.pool.id, "status", "muster"), "nextOrdinal") or 1
        return max((recorded, *(ordinal_of(cluster.name, self.stem) + 1 for cluster in self.clusters)))

    def _delete(self, clusters: Iterable[Cluster]) -> None:
        for cluster in clusters:
            self.ledger.set(
                cluster.id, ("metadata", "deletionTimestamp"), format_time(self.pools_pass.now), self.because
            )

    def _power(self, states: Mapping[str, str]) -> None:
        for name, state in states.items():
            self._set_power(CLUSTER_DEPLOYMENT.id(name, name), state)

    def _set_power(self, id_: ObjectId, state: str) -> None:
        self.ledger.set(id_, ("spec", "powerState"), state, self.because)

    # -- what may be replaced

    def _replaceable(self, cluster: Cluster) -> bool:
        """May a broken or stale cluster be replaced now? Records why not."""
        if cluster.name in self.broken and not self.streak.may_replace(cluster, self.pools_pass.now, self.rules):
            due = self.streak.next_at(self.rules)
            self.holds[cluster.name] = ReplacementHold(
                "BackingOff", conditions.backing_off(self.streak.failures, due), due
            )
        elif (
            hold := held_by_budget(self.pools_pass.fleet, self.pools_pass.allowance, cluster, self.rules)
        ) is not None:
            self.holds[cluster.name] = hold
        return cluster.name not in self.holds

    def _held_replacements(self, step: Plan) -> Iterator[Held]:
        for cluster in step.held:
            hold = self.holds[cluster.name]
            yield Held(cluster.id, EFFECT, hold.message, self.because, hold.until)

    # -- what people see

    def _count(self, buckets: Buckets) -> None:
        counts = {"size": buckets.unclaimed, "standby": len(buckets.standby), "ready": len(buckets.assignable)}
        for name, number in counts.items():
            self._set(("status", name), number)

    def _set_condition(self, condition: words.PoolCondition, horizon: datetime | None = None) -> None:
        pools_pass = self.pools_pass
        self.ledger.add(
            condition_decision(
                pools_pass.fleet, self.pool.id, condition.type, condition[1:], self.because, pools_pass.now, horizon
            )
        )

    def _set_claim_condition(self, claim: Claim, condition: words.PoolCondition) -> None:
        self.ledger.add(
            condition_decision(
                self.pools_pass.fleet, claim.id, condition.type, condition[1:], self.because, self.pools_pass.now
            )
        )

    def _set_limit_conditions(self, step: Plan, missing: str, inventory: Inventory | None) -> None:
        if step.needed or self.rules.checks_dependencies_always:
            self._set_condition(words.dependencies(missing))
        if inventory is not None:
            self._set_condition(words.inventory(inventory))
        if step.held:
            until = [hold.until for hold in self.holds.values() if hold.until is not None]
            first = self.holds[step.held[0].name]
            names = ", ".join(sorted(cluster.name for cluster in step.held))
            self._set_condition(words.held(first.reason, f"{names}: {first.message}"), min(until, default=None))
        self._keep_conditions()

    def _keep_conditions(self) -> None:
        """Conditions that this pass did not decide stay."""
        for type_ in _KEPT_CONDITIONS:
            path = ("status", "conditions", (type_,))
            if type_ in self.before and self.ledger.value(self.pool.id, path) is None:
                self.ledger.add(unchanged_condition(self.pool.id, type_, self.before[type_], self.because))

    def _record(self, step: Plan, links: ClaimLinks, born: list[str]) -> None:
        following = max((self._next_ordinal(), *(ordinal_of(name, self.stem) + 1 for name in born)))
        streak = self.streak.served(cluster for _, cluster in links.to_cluster)
        streak = streak.after(step.replaced, self.pools_pass.now, self.rules)
        record: Tree = {"nextOrdinal": following, "buckets": self._bucket_counts()}
        if (row := streak.tree()) is not None:
            record["replacements"] = row
        if failures := [
            *self._failures(),
            *(self._failure(cluster) for cluster in step.delete if cluster.name in self.broken),
        ]:
            record["failures"] = failures[-_MOST_FAILURES:]
        if self.hub is not None:
            record["hubVersion"] = self.hub
        self._book(record)

    def _failures(self) -> list[Tree]:
        """The clusters that were last deleted as broken, for the record."""
        failures = self.pools_pass.fleet.before(self.pool.id, "status", "muster", "failures")
        return failures if isinstance(failures, list) else []

    def _failure(self, cluster: Cluster) -> Tree:
        condition = self.decided[cluster.id]["Broken"]
        at = format_time(self.pools_pass.now)
        return {"cluster": cluster.name, "at": at, "reason": condition["reason"], "message": condition["message"]}

    def _bucket_counts(self) -> Tree:
        counts = Counter(shown_bucket(cluster, self.decided[cluster.id]).value for cluster in self.clusters)
        return dict(sorted(counts.items()))

    def _book(self, record: Tree) -> None:
        """Record what the next pass needs, next to other stages' bookkeeping."""
        for name, value in record.items():
            self._set(("status", "muster", name), value)

    def _set(self, path: tuple[str | tuple[str, ...], ...], value: Tree) -> None:
        if value is not None:
            self.ledger.set(self.pool.id, path, value, self.because)

    # -- the end of a pool

    def _wind_down(self, buckets: Buckets) -> None:
        """Delete unclaimed clusters; after the last one, nothing of the pool is kept."""
        if buckets.total == 0:
            return
        step = self.consent.within(self.pool, lambda pool, may_go: wind_down(pool, buckets, may_go))
        self._delete(step.delete)
        deleted = {cluster.name for cluster in step.delete}
        self._count(_without_clusters(buckets, deleted))
        self._set_condition(words.pending_cleanup(buckets))
        self._keep_conditions()
        record = {"nextOrdinal": self._next_ordinal(), "buckets": self._bucket_counts()}
        self._book(record | ({"failures": failures} if (failures := self._failures()) else {}))


def _after(buckets: Buckets, links: ClaimLinks) -> Buckets:
    """The buckets after linking: clusters no longer assignable count as claimed, even if claims contradict it."""
    unclaimed = {cluster.name for cluster in links.assignable}
    assignable = tuple(cluster for cluster in buckets.assignable if cluster.name in unclaimed)
    taken = tuple(cluster for cluster in buckets.assignable if cluster.name not in unclaimed)
    stale = buckets.stale.without({cluster.name for cluster in taken})
    return replace(buckets, assignable=assignable, claimed=(*buckets.claimed, *taken), stale=stale)


def _without_clusters(buckets: Buckets, names: set[str]) -> Buckets:

    def rest(clusters: Iterable[Cluster]) -> tuple[Cluster, ...]:
        return tuple(cluster for cluster in clusters if cluster.name not in names)

    return Buckets(
        rest(buckets.deleting),
        rest(buckets.marked),
        rest(buckets.claimed),
        rest(buckets.broken),
        rest(buckets.assignable),
        rest(buckets.installing),
        rest(buckets.standby),
    )
