"""Cluster sets: their members, and the conditions of sets and bindings.

Source: upstream's managedclusterset, managedclustersetbinding and default-set controllers. `default` and `global` exist
in every fleet without being committed, and are derived if a binding names them; a selector in a file has no effect
unless it has the annotation `cluster.open-cluster-management.io/autoupdate: "false"`. A cluster whose label names no
set is in `default`. A denied cluster is in no set; one that was never accepted, or is being deleted, is still a member.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision, Input
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, MANAGED_CLUSTER, MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING, of_kinds
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass
from muster.fleet.clusters import BUILT_IN, CLUSTER_SET, DEFAULT, is_managed, members_text
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.effects.budget import has_known_labels
from muster.rules.policies.selectors import Facets, LabelSelector
from muster.rules.stages import SPEC, STATUS, Local, Wide
from muster.rules.transitions import condition_decision, unchanged_condition

_EXCLUSIVE = frozenset({"", "ExclusiveClusterSetLabel", "LegacyClusterSetLabel"})
_MEMBERSHIP = Because("sets", (Input(("metadata", "labels")),), "a cluster that names no set is in `default`")
_BUILT_IN = Because("sets", OF_ITSELF, "upstream makes this set, and puts its selector right")
_MEMBERS = Because("sets", (Input(("spec", "clusterSelector")),), "the clusters that the set selects")
_BINDING = Because("sets", (Input(("spec", "clusterSet")),), "whether there is such a set")
_KEPT = Because("kept", OF_ITSELF, "the labels of some cluster are unknown, so the set stays unchanged")
_SET_EMPTY = "ClusterSetEmpty"


@dataclass(frozen=True, slots=True)
class Sets:
    """The sets of a fleet by name, with their selectors; `doubtful`: broken ones."""

    selectors: Mapping[str, Mapping[str, Tree]]
    doubtful: frozenset[str]

    @classmethod
    def of(cls, view: View) -> "Sets":
        """Read the sets of a fleet, including those that every fleet has."""
        selectors: dict[str, Mapping[str, Tree]] = dict(BUILT_IN)
        for obj in view.of(MANAGED_CLUSTER_SET):
            if not is_managed(obj):
                selectors[obj.id.name] = obj.spec.get("clusterSelector") or {}
        doubtful = {id_.name for id_ in view.broken if MANAGED_CLUSTER_SET.has(id_)} - BUILT_IN.keys()
        return cls(selectors, frozenset(doubtful))

    def __contains__(self, name: object) -> bool:
        """Does a set of that name exist, even if broken?"""
        return name in self.selectors or name in self.doubtful

    def members(self, name: str, labels: Facets) -> frozenset[str]:
        """The clusters in `labels` that are in the set; none for a broken set."""
        selector = self.selectors.get(name)
        if selector is None:
            return frozenset()
        if selector.get("selectorType", "") in _EXCLUSIVE:
            return labels.having(CLUSTER_SET, name)
        wanted = selector.get("labelSelector")
        return frozenset() if wanted is None else labels.selected(LabelSelector.parse(wanted))


def cluster_labels(obj: Object) -> Mapping[str, str]:
    """The labels of a cluster as upstream's webhook leaves them: one without a set is in `default`."""
    labels = obj.labels
    return labels if labels.get(CLUSTER_SET) else {**labels, CLUSTER_SET: DEFAULT}


def membership(view: View) -> Iterator[Decision]:
    """Decide the label of each cluster without a set."""
    for obj in view.of(MANAGED_CLUSTER):
        if not obj.labels.get(CLUSTER_SET) and not was_denied(view, obj.id):
            yield Decision(obj.id, ("metadata", "labels"), {CLUSTER_SET: DEFAULT}, _MEMBERSHIP)


def stage(shared: Shared, now: datetime) -> Iterator[Decision | Finding]:
    """Decide the built-in sets, and the conditions of sets and bindings."""
    clusters = [obj for obj in shared.of(MANAGED_CLUSTER) if not was_denied(shared, obj.id)]
    broken = of_kinds(shared.broken & shared.previous.keys(), MANAGED_CLUSTER)
    readable = [obj for id_ in broken if (obj := shared.objects.get(id_)) is not None]
    sets = Sets.of(shared)
    members = [*clusters, *(obj for obj in readable if not was_denied(shared, obj.id))]
    labels = Facets({obj.id.name: cluster_labels(obj) for obj in members})
    bindings = shared.of(MANAGED_CLUSTER_SET_BINDING)
    shown = {obj.id.name for obj in shared.of(MANAGED_CLUSTER_SET)} | {obj.spec["clusterSet"] for obj in bindings}
    if shared.uncertain(MANAGED_CLUSTER_SET_BINDING):
        shown |= {name for name in BUILT_IN if MANAGED_CLUSTER_SET.id(name) in shared.previous}
    yield from _built_in(shared, shown)
    for name in sorted(sets.selectors.keys() & shown):
        yield _as_it_was(shared, name) or _emptiness(shared, name, len(sets.members(name, labels)), now)
    yield from each(bindings, lambda obj: [_bound(shared, obj, sets, now)])


def _built_in(shared: Shared, shown: Collection[str]) -> Iterator[Decision]:
    """Upstream creates these sets and reverts their selectors; the derived part does the same."""
    for name, selector in BUILT_IN.items():
        obj = shared.objects.get(MANAGED_CLUSTER_SET.id(name))
        if name in shown and (obj is None or is_managed(obj)):
            written = mapping_at(obj.body, "spec", "clusterSelector") if obj else {}
            value = _overlay(written, selector)
            yield Decision(MANAGED_CLUSTER_SET.id(name), ("spec", "clusterSelector"), value, _BUILT_IN)


def _overlay(written: Tree, wanted: Tree) -> Tree:
    """The overlay that turns `written` into `wanted`: null removes a field that only the file has."""
    if not isinstance(written, dict) or not isinstance(wanted, Mapping):
        return wanted
    return {key: _overlay(written.get(key), wanted.get(key)) for key in sorted({*written, *wanted})}


def was_denied(view: View, id_: ObjectId) -> bool:
    """Was the cluster accepted once, and is no longer?"""
    condition = view.now(id_, "status", "conditions", (ACCEPTED,))
    return isinstance(condition, dict) and condition.get("status") == "False"


def _as_it_was(shared: Shared, name: str) -> Decision | None:
    """The set's last condition, while some cluster's labels are unknown; None otherwise."""
    id_ = MANAGED_CLUSTER_SET.id(name)
    before = shared.conditions_before(id_).get(_SET_EMPTY)
    if before is None or not (shared.unidentified or any(_is_lost(shared, lost) for lost in shared.broken)):
        return None
    return unchanged_condition(id_, _SET_EMPTY, before, _KEPT)


def _is_lost(shared: Shared, id_: ObjectId) -> bool:
    """Is this a cluster of the last run whose labels are unknown now?"""
    obj = shared.objects.get(id_)
    unknown = obj is None or "spec" not in obj.body or not has_known_labels(shared, obj)
    return MANAGED_CLUSTER.has(id_) and unknown and id_ in shared.previous


def _emptiness(shared: Shared, name: str, members: int, now: datetime) -> Decision:
    statement = (*(("False", "ClustersSelected") if members else ("True", "NoClusterMatched")), members_text(members))
    return condition_decision(shared, MANAGED_CLUSTER_SET.id(name), _SET_EMPTY, statement, _MEMBERS, now)


def _bound(shared: Shared, obj: Object, sets: Sets, now: datetime) -> Decision:
    exists = obj.spec.get("clusterSet") in sets
    statement = ("True", "ClusterSetBound", "") if exists else ("False", "ClusterSetNotFound", "")
    return condition_decision(shared, obj.id, "Bound", statement, _BINDING, now)


MEMBERSHIP = Local("membership", membership, derives=(((MANAGED_CLUSTER,), (("metadata", "labels"),)),))


STAGE = Wide("sets", stage, derives=(((MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING), (SPEC, STATUS)),))
