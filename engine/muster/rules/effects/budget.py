"""Disruption budgets: how many clusters of a population may be disrupted or removed at once.

A disruptive effect is a taint that a policy adds, a remedy action, a traffic block, or a pool's replacement of a
cluster. The population is the clusters in service.

Overrides: a person states that the disruption is real, why, and until when.

    metadata:
      annotations:
        muster.dev/allow-disruption: "until 2026-01-01T13:00:00Z: the fire in eu-1 is confirmed"

On a cluster it allows that cluster's effects, on a DisruptionBudget that budget's, on the Fleet all. It expires, and
requires a reason, so that it is not left in place.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, DISRUPTION_BUDGET, FLEET, MANAGED_CLUSTER, is_cluster, of_kinds
from muster.data.times import try_duration, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.acceptance import is_accepted, is_only_reported
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.report_parts import report_sections
from muster.fleet.view import View
from muster.rules.policies.grounds import ground_of
from muster.rules.policies.selectors import LabelSelector

ALLOW_DISRUPTION = "muster.dev/allow-disruption"
FORM = "until <RFC 3339 time>: <reason>"


class Usage(NamedTuple):
    """The use of a budget: disrupted and allowed clusters, in its domain with the fewest left."""

    budget: str
    disrupted: int
    allowed: int


@dataclass(frozen=True, slots=True)
class Override:
    """Disruption is allowed until `expiry`, for a reason."""

    expiry: datetime
    reason: str

    def covers(self, now: datetime) -> bool:
        """Is it in force at an instant?"""
        return now < self.expiry


def override_of(obj: Object) -> Override | None:
    """Return the override in an object's annotation; None if missing or malformed."""
    text = obj.annotations.get(ALLOW_DISRUPTION)
    return parse_override(text) if isinstance(text, str) else None


def parse_override(text: str) -> Override | None:
    """Parse `until <time>: <reason>`, else None."""
    until, at, reason = [*text.split(maxsplit=2), "", "", ""][:3]
    expiry = try_time(at.removesuffix(":")) if until == "until" and at.endswith(":") and reason else None
    return Override(expiry, reason.rstrip()) if expiry else None


@dataclass(frozen=True, slots=True)
class Budget:
    """A parsed DisruptionBudget. `share` is in percent of the population if `most` is None, `share_removed` if
    `most_removed` is. `ground`: the digest of what it says. An `unread` one has an error: its terms are unknown, so it
    allows nothing new to any cluster."""

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
    ground: str = ""
    unread: bool = False

    @classmethod
    def unreadable(cls, id_: ObjectId) -> "Budget":
        """The budget in place of one with an error: it counts every cluster and allows nothing."""
        nothing = {"maxDisrupted": 0, "ignoreUpTo": 0, "maxRemoved": 0}
        return replace(cls.parse(Object(id_, {}, ()), nothing), unread=True)

    @classmethod
    def parse(cls, obj: Object, spec: Mapping[str, Tree]) -> "Budget":
        """Parse a budget with a valid spec; missing fields have the schema's defaults."""
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
            ground=ground_of(obj),
        )

    def allowed(self, population: int) -> int:
        """How many clusters of a population may be disrupted; a share is rounded down."""
        limit = self.most if self.most is not None else population * self.share // 100
        return max(limit, self.ignored)

    def removable(self, population: int) -> int:
        """How many clusters of a population may be removed at once; a share is rounded down, and at least two."""
        return max(2, population * self.share_removed // 100) if self.most_removed is None else self.most_removed

    @property
    def by_labels(self) -> bool:
        """Do labels decide which of its clusters a cluster counts among?"""
        return bool(self.selector.requirements or self.domain_label)

    def domain(self, obj: Object) -> str:
        """A cluster's failure domain; empty for the fleet as a whole."""
        domain = obj.labels.get(self.domain_label, "") if self.domain_label else ""
        return domain if isinstance(domain, str) else ""  # in a broken object it may have any type

    def counts(self, obj: Object) -> bool:
        """Does its selector select a cluster in service?"""
        return not self.selector.requirements or self.selector.matches(labels_of(obj))


def labels_of(obj: Object) -> dict[str, str]:
    """The labels of an object that may be broken, without values that are no text."""
    return {name: value for name, value in obj.labels.items() if isinstance(value, str)}


def _percent(value: Tree) -> int:
    return int(value.rstrip("%")) if isinstance(value, str) else 100


def budgets_of(fleet: Fleet) -> tuple[Budget, ...]:
    """Return the budgets in force, by name. One with an error allows nothing until it is repaired."""
    budgets = [Budget.parse(obj, obj.spec) for obj in fleet.policies(DISRUPTION_BUDGET)]
    budgets += map(Budget.unreadable, of_kinds(fleet.broken, DISRUPTION_BUDGET))
    return tuple(sorted(budgets, key=lambda budget: budget.id))


#: The name of the Fleet with fleet-wide conditions if the repository has none.
DEFAULT_FLEET = "fleet"
#: Annotation of a cluster that has never been available (`muster.rules.registration.first_day`).
NEVER_AVAILABLE = "muster.dev/never-available"


def sound_override(view: View, id_: ObjectId) -> Override | None:
    """The override in an object's annotation; none for a broken object."""
    obj = view.objects.get(id_)
    return override_of(obj) if obj is not None and id_ not in view.broken else None


def fleet_id(view: View) -> ObjectId:
    """The id of the Fleet with fleet-wide status: the repository's, else the default one."""
    fleets = sorted(of_kinds({*view.objects, *(view.broken & view.previous.keys())}, FLEET))
    return fleets[0] if fleets else FLEET.id(DEFAULT_FLEET)


def in_service(obj: Object) -> bool:
    """Is the cluster accepted (ManagedCluster) and not being removed?"""
    if obj.deleting:
        return False
    return obj.id.kind != MANAGED_CLUSTER.name or is_accepted(obj)


def never_available(view: View, id_: ObjectId) -> bool:
    """Has the cluster never been available, by the stage `first day`?"""
    return NEVER_AVAILABLE in mapping_at({"annotations": view.now(id_, "metadata", "annotations")}, "annotations")


def is_counted(view: View, obj: Object) -> bool:
    """Do budgets count the cluster: in service, and available at least once?"""
    return in_service(obj) and not never_available(view, obj.id)


def population(view: View) -> tuple[Object, ...]:
    """The clusters that budgets count, by id, including broken ones: a mistake in a file must not shrink a
    population."""
    sound = (obj for obj in view.clusters() if is_counted(view, obj))
    return tuple(sorted((*sound, *counted_broken_clusters(view)), key=lambda obj: obj.id))


def counted_broken_clusters(view: View) -> Iterator[Object]:
    """Yield the broken clusters that budgets count: those in service at the last run, and new ones that are available,
    by their files. As for sound ones, no other new one counts: files with mistakes must not raise what is allowed."""
    for id_ in view.broken:
        if not is_cluster(id_) or never_available(view, id_):
            continue
        obj = view.objects.get(id_)
        if id_ in view.previous:
            if was_in_service(view, id_):
                yield obj or Object(id_, {}, ())
        elif obj is not None and not is_only_reported(id_, obj.parts, None) and in_service(obj) and is_up(view, obj):
            yield obj


def is_up(view: View, obj: Object) -> bool:
    """Does the cluster's agent report that it is available?"""
    return bool(dig(view.reported(obj.id).get(obj.kind.headline), "status") == "True")


def has_known_labels(view: View, obj: Object) -> bool:
    """Can the labels of a cluster be read? Not if the part that declares it cannot, or two parts differ about them."""
    if obj.id not in view.broken:
        return True
    declaring = [mapping_at(part.body, "metadata", "labels") for part in obj.parts if not report_sections(part)]
    merged = {name: value for labels in declaring for name, value in labels.items()}
    return bool(declaring) and all(merged[name] == value for labels in declaring for name, value in labels.items())


def was_in_service(view: View, id_: ObjectId) -> bool:
    """Was the cluster accepted and not being removed at the last run, by its derived part?"""
    before = view.conditions_before(id_)
    if "Deleting" in before:
        return False
    return id_.kind != MANAGED_CLUSTER.name or dig(before.get(ACCEPTED), "status") == "True"


def headline(view: View, obj: Object) -> str:
    """The status of a cluster's headline condition; empty if missing."""
    decided = view.now(obj.id, "status", "conditions", (obj.kind.headline,))
    status = dig(decided, "status")
    return status if isinstance(status, str) else ""
