"""Disruption budgets: whose new disruptive effects are held.

A disruptive effect is a taint that a policy adds, a remedy action, a traffic block, or a pool's replacement of a
cluster. Which budgets hold at present is decided by the stage `budgets` (`muster.decide.disruption`); what they let
happen is said in `muster.decide.allowance`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from muster.fleet.acceptance import is_left_alone
from muster.fleet.builtin import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.model.ids import ObjectId
from muster.model.kinds import ACCEPTED, DISRUPTION_BUDGET, FLEET, MANAGED_CLUSTER, is_cluster
from muster.model.times import try_duration
from muster.model.tree import Tree, dig, mapping_at
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


def sound_override(view: View, id_: ObjectId) -> Override | None:
    """What an object's annotation lets through; an object with an error in it lets nothing through."""
    obj = view.objects.get(id_)
    return override_of(obj) if obj is not None and id_ not in view.broken else None


def fleet_id(view: View) -> ObjectId:
    """The id of the Fleet whose status speaks for all clusters: the repository's, else the default one."""
    own = sorted(id_ for id_ in view.objects if FLEET.has(id_))
    return own[0] if own else FLEET.id(DEFAULT_FLEET)


def in_service(obj: Object) -> bool:
    """Whether a cluster is part of the fleet: it was accepted (ManagedCluster) and is not being removed."""
    if obj.deleting:
        return False
    return obj.id.kind != MANAGED_CLUSTER.name or obj.spec.get("hubAcceptsClient") is True


def never_available(view: View, id_: ObjectId) -> bool:
    """Whether a cluster has never been available, as the stage `first day` has decided."""
    return NEVER_AVAILABLE in mapping_at({"annotations": view.now(id_, "metadata", "annotations")}, "annotations")


def is_counted(view: View, obj: Object) -> bool:
    """Whether budgets count a cluster: it is in service, and was available at least once."""
    return in_service(obj) and not never_available(view, obj.id)


def population(view: View) -> tuple[Object, ...]:
    """The clusters that budgets count, by id, the broken ones among them: a slip is no way out of a population."""
    sound = (obj for obj in view.clusters() if is_counted(view, obj))
    return tuple(sorted((*sound, *kept_clusters(view)), key=lambda obj: obj.id))


def kept_clusters(view: View) -> Iterator[Object]:
    """Yield the broken clusters that budgets count. Of one that its file has lost only what was derived is known."""
    for id_ in view.broken:
        if not is_cluster(id_) or never_available(view, id_):
            continue
        obj = view.objects.get(id_)
        if obj is not None and "spec" in obj.body and not is_left_alone(id_, obj.parts, view.previous.get(id_)):
            if in_service(obj):
                yield obj
        elif id_ in view.previous and was_in_service(view, id_):
            yield obj or Object(id_, {}, ())


def was_in_service(view: View, id_: ObjectId) -> bool:
    """Whether the last run found a cluster accepted and not being removed, as far as what it derived tells."""
    before = view.conditions_before(id_)
    if "Deleting" in before:
        return False
    return id_.kind != MANAGED_CLUSTER.name or dig(before.get(ACCEPTED), "status") == "True"


def headline(view: View, obj: Object) -> str:
    """The status of the condition by which a cluster is judged; empty where it has none."""
    decided = view.now(obj.id, "status", "conditions", (obj.kind.headline,))
    status = dig(decided, "status")
    return status if isinstance(status, str) else ""
