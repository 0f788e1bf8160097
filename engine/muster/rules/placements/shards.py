"""PlacementDecisions by Placement: those of the last run, under `derived/`, and those of this run."""

from collections.abc import Iterable, Mapping

from muster.data.decision import Path
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION, of_kinds
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.derived import derived_body
from muster.fleet.view import View

PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
GROUP_NAME_LABEL = "cluster.open-cluster-management.io/decision-group-name"
GROUP_INDEX_LABEL = "cluster.open-cluster-management.io/decision-group-index"


@dataclass(frozen=True, slots=True)
class DecisionShard:
    """One PlacementDecision: its name, its group, and its clusters in order."""

    name: str
    group: str
    index: int
    clusters: tuple[str, ...]

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its group, as upstream sets them, without the Placement's."""
        return {GROUP_NAME_LABEL: self.group, GROUP_INDEX_LABEL: str(self.index)}


def previous_shards(view: View) -> Mapping[ObjectId, tuple[DecisionShard, ...]]:
    """Return the last run's decisions by Placement, ordered by group and name."""
    return _by_placement((id_, view.previous[id_]) for id_ in of_kinds(view.previous, PLACEMENT_DECISION))


def decided_shards(view: View) -> Mapping[ObjectId, tuple[DecisionShard, ...]]:
    """Return this run's decisions in the same form."""
    decided = of_kinds(view.decided, PLACEMENT_DECISION)
    return _by_placement((id_, derived_body(id_, view.decisions(id_))) for id_ in decided)


def _by_placement(decisions: Iterable[tuple[ObjectId, Tree]]) -> Mapping[ObjectId, tuple[DecisionShard, ...]]:
    by_placement: dict[ObjectId, list[DecisionShard]] = {}
    for id_, body in decisions:
        owner = dig(body, "metadata", "labels", PLACEMENT_LABEL)
        if isinstance(owner, str) and owner:
            by_placement.setdefault(PLACEMENT.id(owner, id_.namespace), []).append(_shard(id_, body))
    return {id_: tuple(sorted(shards, key=_order)) for id_, shards in by_placement.items()}


def decision_name(placement: str, number: int) -> str:
    """Return the name of a Placement's PlacementDecision, counted from 1, as upstream names them."""
    return f"{placement}-decision-{number}"


def clusters_of(shards: Iterable[DecisionShard]) -> frozenset[str]:
    """All clusters of some shards."""
    return frozenset(name for shard in shards for name in shard.clusters)


def _shard(id_: ObjectId, body: Tree) -> DecisionShard:
    group = dig(body, "metadata", "labels", GROUP_NAME_LABEL)
    index = dig(body, "metadata", "labels", GROUP_INDEX_LABEL)
    entries = mappings_at(body, "status", "decisions")
    return DecisionShard(
        id_.name,
        group if isinstance(group, str) else "",
        int(index) if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10 else 0,
        tuple(name for entry in entries if isinstance(name := entry.get("clusterName"), str)),
    )


def _order(shard: DecisionShard) -> tuple[int, int, str]:
    """Names end in a number, so the shorter name of a group comes first."""
    return (shard.index, len(shard.name), shard.name)


def left_path(cluster: str) -> Path:
    """The path of a Placement's decision about a cluster that is no longer chosen."""
    return ("status", "muster", "left", cluster)
