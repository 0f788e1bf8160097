"""The clusters of a Rollout as its step needs them: by stage and decision group, with their entries.

It is kept from run to run as a `StepRecord`: a cluster that makes progress changes one entry, and everything else (the
Placement's decisions, the labels by which stages select) is as the last wide run read it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from muster.data.codec import decode, encode
from muster.data.kinds import MANAGED_CLUSTER
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.placements.shards import decided_shards
from muster.rules.policies.selectors import Facets
from muster.rules.progress.step import DecisionGroup, groups_of
from muster.rules.rollouts.policy import ClusterRollout, Rollout, RolloutStage


@dataclass(slots=True)
class RolloutTable:
    """The Rollout's clusters.

    `stages`: the decision groups of each stage, with their clusters in order; `skipped`: the number of clusters that no
    stage selects; `absent`: those with an entry that the Placement dropped because they are not available;
    `group_length`: the Placement's `clustersPerDecisionGroup` as the number that it means; `entries`: what clusters
    have, by name.
    """

    stages: tuple[tuple[DecisionGroup, ...], ...]
    skipped: int
    group_length: int | None
    entries: dict[str, ClusterRollout]
    absent: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """The clusters of all stages."""
        return frozenset(name for groups in self.stages for group in groups for name in group.clusters)

    @property
    def placed(self) -> bool:
        """Does the Placement choose a cluster?"""
        return bool(self.skipped) or any(group.clusters for groups in self.stages for group in groups)

    def packed(self) -> bytes:
        """The record: columns, because there may be 10,000 entries."""
        entries = self.entries.values()
        return encode(
            _PackedRollout(
                self.stages,
                self.skipped,
                self.group_length,
                list(self.entries),
                [entry.revision for entry in entries],
                [entry.stage for entry in entries],
                [entry.state for entry in entries],
                [int(entry.since.timestamp()) for entry in entries],
                [entry.gate for entry in entries],
                [int(entry.silent_after.timestamp()) if entry.silent_after is not None else None for entry in entries],
                sorted(self.absent),
            )
        )

    @classmethod
    def unpacked(cls, data: bytes) -> "RolloutTable":
        """The table of a record."""
        record = decode(_PackedRollout, data)
        since = map(_instant, record.since)
        silent = (None if second is None else _instant(second) for second in record.silent_after)
        columns = zip(record.revisions, record.in_stages, record.states, since, record.gates, silent, strict=True)
        entries = dict(zip(record.names, (ClusterRollout(*row) for row in columns), strict=True))
        return cls(record.stages, record.skipped, record.group_length, entries, frozenset(record.absent))


class _PackedRollout(NamedTuple):
    """The stored form: entries as columns."""

    stages: tuple[tuple[DecisionGroup, ...], ...]
    skipped: int
    group_length: int | None
    names: list[str]
    revisions: list[str]
    in_stages: list[str]
    states: list[str]
    since: list[int]
    gates: list[str]
    silent_after: list[int | None]
    absent: list[str]


@lru_cache(1 << 10)
def _instant(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def table_of(
    rollout: Rollout,
    groups: Sequence[DecisionGroup],
    objects: Mapping[str, Object],
    entries: Mapping[str, ClusterRollout],
    group_length: int | None,
) -> RolloutTable:
    """Return the table of a Rollout. `groups`: the Placement's decisions; `objects`: those of its clusters that can be
    decided, by name."""
    if rollout.strategy is not None:
        chosen = tuple(DecisionGroup(g.name, g.index, tuple(filter(objects.__contains__, g.clusters))) for g in groups)
        return RolloutTable((chosen,), 0, group_length, dict(entries))
    group_of = {name: group.name for group in groups for name in group.clusters}
    labels = Facets({name: obj.labels for name, obj in objects.items()})
    left, stages = labels.everything, []
    for stage in rollout.stages:
        names = left & labels.selected(stage.selector)
        if stage.groups:
            names = frozenset(name for name in names if group_of[name] in stage.groups)
        left -= names
        stages.append((DecisionGroup("", 0, _sorted(stage, names, objects)),))
    return RolloutTable(tuple(stages), len(left), group_length, dict(entries))


def stages_of(view: View, rollout: Rollout) -> Iterator[tuple[RolloutStage, tuple[str, ...]]]:
    """Yield a Rollout's stages with their clusters, both in the order in which they get a revision; after a run."""
    groups = groups_of(decided_shards(view).get(rollout.placement, ()))
    sound = {obj.id.name: obj for obj in view.of(MANAGED_CLUSTER)}
    placed = {name: sound[name] for group in groups for name in group.clusters if name in sound}
    table = table_of(rollout, groups, placed, {}, None)
    for stage, stage_groups in zip(rollout.stages, table.stages, strict=True):
        yield stage, tuple(name for group in stage_groups for name in group.clusters)


def _sorted(stage: RolloutStage, names: Iterable[str], objects: Mapping[str, Object]) -> tuple[str, ...]:
    if not stage.sort_by:
        return tuple(sorted(names))
    values = {name: objects[name].labels.get(stage.sort_by, "") for name in names}
    whole = all(value.isascii() and value.isdigit() for value in values.values() if value)

    def key(name: str) -> tuple[bool, int, str, str]:
        value = values[name]
        return (not value, int(value) if value and whole else 0, value, name)

    return tuple(sorted(names, key=key))
