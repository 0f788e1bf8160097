"""The clusters that Placements may choose, indexed for fast selection.

Candidates are accepted clusters that are not being deleted; upstream looks at taints alone, and may choose a cluster
before it is accepted. A cluster with a broken or unreadable file is no candidate, but stays where it was chosen: a
typing error is no reason to move work.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, cached_property

from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, MANAGED_CLUSTER, MANAGED_CLUSTER_SET_BINDING, of_kinds
from muster.data.times import try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.acceptance import is_accepted
from muster.fleet.derived import derived_body
from muster.fleet.objects import Object
from muster.fleet.settings import Settings
from muster.fleet.view import View
from muster.regex import Regex
from muster.rules.placements.policy import ClusterView
from muster.rules.placements.spec import Taint
from muster.rules.policies.selectors import Facets
from muster.rules.sets.stage import Sets, cluster_labels

_QUANTITY = Regex(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?")
_FACTORS = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}


#: Larger quantities are capped (the API conventions' "no number may be greater than 2^63-1 in magnitude").
_MOST = float(2**63)


def approximate(value: Tree) -> float | None:
    """Return a quantity's value as a float; None if it is no quantity."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(max(-_MOST, min(value, _MOST)))
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) and len(value) <= 64 else None
    if match is None:
        return None
    number = float(match[1])
    factor = _FACTORS[match[2]] if match[2] else 10.0 ** min(int(match[3] or 0), 300)
    return max(-_MOST, min(number * factor, _MOST))


def is_candidate(obj: Object) -> bool:
    """May a sound cluster be chosen?"""
    return is_accepted(obj) and not obj.deleting


@dataclass(frozen=True, slots=True)
class ReportedScores:
    """The content of one AddOnPlacementScore: values by score, and the instant until which they count (None:
    always)."""

    values: Mapping[str, int]
    until: datetime | None

    @classmethod
    def read(cls, body: Tree) -> "ReportedScores":
        """Parse the object; of several scores with one name the first counts."""
        entries = [entry for entry in mappings_at(body, "status", "scores") if "name" in entry and "value" in entry]
        values = {entry["name"]: entry["value"] for entry in reversed(entries)}
        return cls(values, try_time(dig(body, "status", "validUntil")))

    def value(self, score: str, now: datetime) -> int:
        """The value of a score at an instant; 0 if missing or expired."""
        return self.values.get(score, 0) if self.until is None or now <= self.until else 0


NO_SCORES = ReportedScores({}, None)


@dataclass(frozen=True)
class Candidates:
    """The clusters of a fleet as Placements see them. Indexes are built on first use.

    `names` are sorted. `taints` has the tainted clusters only, by this run's decisions.
    """

    fleet: View
    settings: Settings
    objects: Mapping[str, Object]
    names: tuple[str, ...]
    taints: Mapping[str, tuple[Taint, ...]]
    labels: Facets
    sets: Sets

    @classmethod
    def of(cls, view: View, settings: Settings) -> "Candidates":
        """Collect the candidates of a fleet after its taints are decided."""
        objects = {obj.id.name: obj for obj in view.of(MANAGED_CLUSTER) if is_candidate(obj)}
        tainted = ((name, tuple(_taints(view, obj.id))) for name, obj in objects.items())
        return cls(
            fleet=view,
            settings=settings,
            objects=objects,
            names=tuple(sorted(objects)),
            taints={name: taints for name, taints in tainted if taints},
            labels=Facets({name: cluster_labels(obj) for name, obj in objects.items()}),
            sets=Sets.of(view),
        )

    @cached_property
    def claims(self) -> Facets:
        """The clusters indexed by their `status.clusterClaims`."""
        return Facets({name: _claims(obj.body) for name, obj in self.objects.items()})

    @cached_property
    def bindings(self) -> Mapping[str, tuple[str, ...]]:
        """The existing sets bound to each namespace."""
        named = ((obj.id.namespace, obj.spec["clusterSet"]) for obj in self.fleet.of(MANAGED_CLUSTER_SET_BINDING))
        by_namespace = grouped((namespace, name) for namespace, name in named if name in self.sets)
        return {namespace: tuple(sorted(set(names))) for namespace, names in by_namespace.items()}

    def uncertain(self, name: str) -> bool:
        """Is the cluster broken, or possibly in an unreadable file?"""
        return self.fleet.is_unread(MANAGED_CLUSTER.id(name))

    @cached_property
    def members(self) -> Callable[[str], frozenset[str]]:
        """The candidates in a set, by its name."""
        sets, labels = self.sets, self.labels
        return cache(lambda name: sets.members(name, labels))

    @cached_property
    def view(self) -> Callable[[str], ClusterView]:
        """The whole cluster with this run's decisions, for expressions, by name."""
        fleet, scores = self.fleet, self.scores
        return cache(lambda name: ClusterView(fleet.whole(MANAGED_CLUSTER.id(name)), scores.get(name, {})))

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, Tree]]:
        """AddOnPlacementScores by cluster and name: those that this run derived, and those that others write."""
        by_cluster: dict[str, dict[str, Tree]] = {}
        for id_ in of_kinds(self.fleet.decided, ADD_ON_PLACEMENT_SCORE):
            by_cluster.setdefault(id_.namespace, {})[id_.name] = derived_body(id_, self.fleet.decisions(id_))
        for obj in self.fleet.of(ADD_ON_PLACEMENT_SCORE):
            by_cluster.setdefault(obj.id.namespace, {})[obj.id.name] = obj.body
        return by_cluster

    @cached_property
    def reported_scores(self) -> Callable[[str], Mapping[str, ReportedScores]]:
        """The scores of one AddOnPlacementScore name by cluster, parsed once for all Placements."""
        scores = self.scores
        return cache(
            lambda resource: {
                cluster: ReportedScores.read(by_name[resource])
                for cluster, by_name in scores.items()
                if resource in by_name
            }
        )

    @cached_property
    def allocatable(self) -> Callable[[str], Mapping[str, float]]:
        """The allocatable amount of a resource by cluster, if it reports allocatable and capacity."""
        objects = self.objects
        return cache(lambda resource: dict(_allocatable(objects, resource)))


def _allocatable(objects: Mapping[str, Object], resource: str) -> Iterator[tuple[str, float]]:
    for name, obj in objects.items():
        status = mapping_at(obj.body, "status")
        amount = approximate(dig(status, "allocatable", resource))
        if amount is not None and approximate(dig(status, "capacity", resource)) is not None:
            yield name, amount


def _claims(body: Tree) -> Mapping[str, str]:
    return {
        claim["name"]: claim.get("value") or ""
        for claim in mappings_at(body, "status", "clusterClaims")
        if "name" in claim
    }


def _taints(view: View, id_: ObjectId) -> Iterator[Taint]:
    decided = view.decisions(id_)
    for path in decided:
        element = path[-1]
        if path[1] == "taints" and isinstance(element, tuple) and (value := decided[path].value) is not None:
            yield Taint.read(element[0], element[1], value)
