"""Disruption budgets: whose new disruptive effects are held.

A disruptive effect is a taint that a policy adds, a remedy action, a traffic block, or a pool's replacement of a
cluster. Which budgets hold at present is decided once, by the stage `budgets` (`muster.decide.disruption`), and
stands in the Fleet's status; every stage that would cause a new effect asks here:

    allowance(fleet, now).holds(cluster_id, "remedy TrafficControl")  # Held, or None: go ahead

Conditions are never held: they tell the truth. What stands already is not asked for again, and recovery is free.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muster.fleet.acceptance import is_left_alone
from muster.fleet.builtin import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.model.decision import Because, Held
from muster.model.ids import ObjectId
from muster.model.kinds import ACCEPTED, DISRUPTION_BUDGET, FLEET, MANAGED_CLUSTER, is_cluster
from muster.model.times import LAST, format_time, later, try_duration, try_time
from muster.model.tree import Tree, dig, mapping_at, mappings_at
from muster.policy.overrides import Override, override_of
from muster.policy.selectors import LabelSelector

#: Where the state of the budgets that hold lies, in the derived part of the Fleet.
STATE = ("status", "muster", "budgets")
#: The name of the Fleet that carries fleet-wide conditions where no repository names one.
DEFAULT_FLEET = "fleet"

#: On the derived part of a cluster that has never been available (`muster.decide.first_day`).
NEVER_AVAILABLE = "muster.dev/never-available"


@dataclass(frozen=True, slots=True)
class Budget:
    """A DisruptionBudget, read. `share` is in percent of the population where `most` is None, `share_removed` where
    `most_removed` is."""

    id: ObjectId
    selector: LabelSelector
    domain_label: str
    most: int | None
    share: int
    ignored: int
    most_removed: int | None
    share_removed: int
    cooldown: timedelta
    suspicious_share: int
    min_backends: int
    override: Override | None

    @classmethod
    def parse(cls, obj: Object, spec: Mapping[str, Tree]) -> "Budget":
        """Read a budget whose spec its schema has accepted; what it does not say takes the schema's defaults."""
        most = spec.get("maxDisrupted", "55%")
        removed = spec.get("maxRemoved", "10%")
        cooldown = try_duration(spec.get("cooldown", "10m"))
        return cls(
            id=obj.id,
            selector=LabelSelector.parse(spec.get("selector")),
            domain_label=spec.get("domainLabel", ""),
            most=most if isinstance(most, int) else None,
            share=_percent(most),
            ignored=spec.get("ignoreUpTo", 2),
            most_removed=removed if isinstance(removed, int) else None,
            share_removed=_percent(removed),
            cooldown=timedelta(minutes=10) if cooldown is None else cooldown,
            suspicious_share=_percent(spec.get("suspectObserverAt", "90%")),
            min_backends=spec.get("minAvailableBackends", 0),
            override=override_of(obj),
        )

    def allowed(self, population: int) -> int:
        """How many of so many clusters may be disrupted; a share is rounded down."""
        limit = self.most if self.most is not None else population * self.share // 100
        return max(limit, self.ignored)

    def removable(self, population: int) -> int:
        """How many of so many clusters may be removed at once; a share is rounded down, and never less than two."""
        return max(2, population * self.share_removed // 100) if self.most_removed is None else self.most_removed

    def domain(self, obj: Object) -> str:
        """The failure domain in which the budget counts a cluster; empty for the fleet as a whole."""
        return labels_of(obj).get(self.domain_label, "") if self.domain_label else ""

    def counts(self, obj: Object) -> bool:
        """Whether its selector takes in a cluster, which is in service."""
        return self.selector.matches(labels_of(obj))


def labels_of(obj: Object) -> dict[str, str]:
    """The labels of an object that may be broken: what is no text is left out."""
    return {name: value for name, value in obj.labels.items() if isinstance(value, str)}


def _percent(value: Tree) -> int:
    return int(value.rstrip("%")) if isinstance(value, str) else 100


def budgets_of(fleet: Fleet) -> tuple[Budget, ...]:
    """Return the budgets in force, by name.

    A budget with an error in it is no licence: until it is mended, the built-in one of its name counts in its place,
    else the defaults.
    """
    found = [Budget.parse(obj, obj.spec) for obj in fleet.policies(DISRUPTION_BUDGET)]
    for id_ in fleet.broken:
        if DISRUPTION_BUDGET.has(id_) and id_ in fleet.objects:
            builtin = builtin_objects().get(id_)
            budget = Budget.parse(fleet.objects[id_], builtin.spec if builtin else {})
            found.append(replace(budget, override=None))
    return tuple(sorted(found, key=lambda budget: budget.id))


def sound_override(fleet: Fleet, id_: ObjectId) -> Override | None:
    """What an object's annotation lets through; an object with an error in it lets nothing through."""
    obj = fleet.objects.get(id_)
    return override_of(obj) if obj is not None and id_ not in fleet.broken else None


def fleet_id(fleet: Fleet) -> ObjectId:
    """The id of the Fleet whose status speaks for all clusters: the repository's, else the default one."""
    own = sorted(id_ for id_ in fleet.objects if FLEET.has(id_))
    return own[0] if own else FLEET.id(DEFAULT_FLEET)


def in_service(obj: Object) -> bool:
    """Whether a cluster is part of the fleet: it was accepted (ManagedCluster) and is not being removed."""
    if obj.deleting:
        return False
    return obj.id.kind != MANAGED_CLUSTER.name or obj.spec.get("hubAcceptsClient") is True


def never_available(fleet: Fleet, id_: ObjectId) -> bool:
    """Whether a cluster has never been available, as the stage `first day` has decided."""
    return NEVER_AVAILABLE in mapping_at({"annotations": fleet.now(id_, "metadata", "annotations")}, "annotations")


def is_counted(fleet: Fleet, obj: Object) -> bool:
    """Whether budgets count a cluster: it is in service, and was available at least once."""
    return in_service(obj) and not never_available(fleet, obj.id)


def population(fleet: Fleet) -> tuple[Object, ...]:
    """The clusters that budgets count, by id, the broken ones among them: a slip is no way out of a population."""
    sound = (obj for obj in fleet.clusters() if is_counted(fleet, obj))
    return tuple(sorted((*sound, *kept_clusters(fleet)), key=lambda obj: obj.id))


def kept_clusters(fleet: Fleet) -> Iterator[Object]:
    """Yield the broken clusters that budgets count. Of one that its file has lost only what was derived is known."""
    for id_ in fleet.broken:
        if not is_cluster(id_) or never_available(fleet, id_):
            continue
        obj = fleet.objects.get(id_)
        if obj is not None and "spec" in obj.body and not is_left_alone(id_, obj.parts, fleet.previous.get(id_)):
            if in_service(obj):
                yield obj
        elif id_ in fleet.previous and was_in_service(fleet, id_):
            yield obj or Object(id_, {}, ())


def was_in_service(fleet: Fleet, id_: ObjectId) -> bool:
    """Whether the last run found a cluster accepted and not being removed, as far as what it derived tells."""
    before = fleet.conditions_before(id_)
    if "Deleting" in before:
        return False
    return id_.kind != MANAGED_CLUSTER.name or dig(before.get(ACCEPTED), "status") == "True"


def headline(fleet: Fleet, obj: Object) -> str:
    """The status of the condition by which a cluster is judged; empty where it has none."""
    decided = fleet.now(obj.id, "status", "conditions", (obj.kind.headline,))
    status = dig(decided, "status")
    return status if isinstance(status, str) else ""


@dataclass(frozen=True, slots=True)
class Holding:
    """A budget that holds, in one of its domains: over since `since`, met again since `met` (None while it is over)."""

    budget: Budget
    domain: str
    disrupted: int
    population: int
    allowed: int
    suspicious: bool
    since: datetime
    met: datetime | None

    @property
    def until(self) -> datetime | None:
        """When it lets go if nothing else happens; None while it is over."""
        return None if self.met is None else later(self.met, self.budget.cooldown) or LAST

    @property
    def text(self) -> str:
        """What holds and why, in one sentence without its full stop."""
        where = f" in {self.domain}" if self.domain else ""
        name = f"budget {self.budget.id.name!r}"
        since = f"since {format_time(self.since)}"
        if self.met is not None and self.until is not None:
            exceeded = f"was exceeded from {format_time(self.since)} to {format_time(self.met)}"
            return f"{name}{where} {exceeded} and cools down until {format_time(self.until)}"
        count = f"{self.disrupted} of {self.population} clusters are disrupted{where}, {name} allows {self.allowed}"
        return f"{count}, {since}"

    def entry(self) -> Tree:
        """The holding as it stands in the Fleet's derived part."""
        entry: Tree = {"budget": self.budget.id.name}
        if self.domain:
            entry["domain"] = self.domain
        entry |= {"disrupted": self.disrupted, "population": self.population, "allowed": self.allowed}
        if self.suspicious:
            entry["observerSuspect"] = True
        entry["since"] = format_time(self.since)
        if self.met is not None:
            entry["met"] = format_time(self.met)
        return entry


def holdings(state: Tree, budgets: Iterable[Budget]) -> tuple[Holding, ...]:
    """Read back what `Holding.entry` wrote; entries of budgets that are gone are left out."""
    by_name = {budget.id.name: budget for budget in budgets}
    found = []
    for entry in mappings_at({"entries": state}, "entries"):
        budget, since = by_name.get(str(entry.get("budget"))), try_time(entry.get("since"))
        if budget is None or since is None:
            continue
        counts = [entry.get(name) for name in ("disrupted", "population", "allowed")]
        disrupted, total, allowed = (count if isinstance(count, int) else 0 for count in counts)
        domain = entry.get("domain")
        found.append(
            Holding(
                budget, domain if isinstance(domain, str) else "", disrupted, total, allowed,
                entry.get("observerSuspect") is True, since, try_time(entry.get("met")),
            )
        )  # fmt: skip
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Tells the stages after `budgets` whether a new disruptive effect may happen. Asking changes nothing."""

    fleet: Fleet
    now: datetime
    budgets: tuple[Budget, ...]
    holding: tuple[Holding, ...]

    def holds(self, cluster: ObjectId, effect: str) -> Held | None:
        """Return why a *new* effect on a cluster (or a pool's ClusterDeployment) is held, or None where it may happen.

        `effect` names it for people: `taint key:NoSelect`, `remedy TrafficControl`, `replacement`. Callers ask for
        effects that do not stand yet; a cluster that no earlier run has seen was never in service, so what keeps work
        away from it disrupts nothing. One that has never been available is not counted, but held like any other.
        """
        holding = self._holding(cluster)
        if holding is None or (self._is_cluster(cluster) and cluster not in self.fleet.previous):
            return None
        override = sound_override(self.fleet, cluster)
        if override is not None and override.covers(self.now):
            return None
        because = Because(str(holding.budget.id), text=holding.text)
        return Held(cluster, effect, holding.text, because, holding.until)

    def freezes(self, cluster: ObjectId) -> bool:
        """Whether the effects on a cluster stay exactly as they are: its budget holds, and nothing is heard of it.

        Silence is no recovery: while the observer is under suspicion it must not take effects off either.
        """
        if not self.holding or self._holding(cluster) is None:
            return False
        obj = self.fleet.objects.get(cluster)
        return obj is not None and headline(self.fleet, obj) == "Unknown"

    def min_backends(self, cluster: ObjectId) -> tuple[int, ObjectId | None]:
        """How many clusters must go on serving a backend that this cluster serves, and which budget says so."""
        obj = self.fleet.objects.get(cluster)
        if obj is None:
            return 0, None
        wanted = [(budget.min_backends, budget.id) for budget in self.budgets if budget.counts(obj)]
        most = max((number for number, _ in wanted), default=0)
        return (most, min(id_ for number, id_ in wanted if number == most)) if most else (0, None)

    def _holding(self, cluster: ObjectId) -> Holding | None:
        """The first budget that holds and counts this object."""
        obj = self.fleet.objects.get(cluster)
        labels = labels_of(obj) if obj else {}
        for holding in self.holding:
            budget = holding.budget
            override = budget.override
            if (override is not None and override.covers(self.now)) or not budget.selector.matches(labels):
                continue
            if self._is_cluster(cluster):
                if obj is not None and in_service(obj) and budget.domain(obj) == holding.domain:
                    return holding
            elif not holding.domain:
                return holding  # a pool's cluster is no place of work yet: it waits while the fleet as a whole does
        return None

    @staticmethod
    def _is_cluster(id_: ObjectId) -> bool:
        return is_cluster(id_)


def allowance(fleet: Fleet, now: datetime) -> Allowance:
    """Return what the budgets of this run allow. Before the stage `budgets` has run, everything."""
    fleet_ = fleet_id(fleet)
    budgets = budgets_of(fleet)
    state = fleet.now(fleet_, *STATE)
    if state is None:
        state = mapping_at({"muster": fleet.now(fleet_, *STATE[:2])}, "muster").get(STATE[2])
    override = sound_override(fleet, fleet_)
    lifted = override is not None and override.covers(now)
    return Allowance(fleet, now, budgets, () if lifted else holdings(state, budgets))
