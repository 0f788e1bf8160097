"""From the chosen clusters to PlacementDecisions: groups, chunks of a group's length, shards of at most 100.

Source: upstream's scheduling controller. Named groups come first, each cluster in the first that selects it; the rest
is the group without a name. A Placement that chooses nothing has one empty PlacementDecision.
"""

from collections.abc import Iterable, Iterator, Sequence

from muster.data.groups import grouped
from muster.data.tree import Tree
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.spec import PlacementSpec
from muster.rules.placements.standing import Shard

MOST_PER_DECISION = 100


def shards_of(
    candidates: Candidates, placement: str, spec: PlacementSpec, selected: Iterable[str]
) -> tuple[Shard, ...]:
    """Return the PlacementDecisions of a choice; their names number through all groups."""
    names = sorted(selected)
    length = spec.group_length(len(names))
    shards: list[Shard] = []
    index = 0
    for group, members in _groups(candidates, spec, names):
        for chunk in _chunks(members, length):
            for part in _chunks(chunk, MOST_PER_DECISION):
                shards.append(Shard(f"{placement}-decision-{len(shards) + 1}", group, index, tuple(part)))
            index += 1
    return tuple(shards) or (Shard(f"{placement}-decision-1", "", 0, ()),)


def _groups(candidates: Candidates, spec: PlacementSpec, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    rest: Sequence[str] = names
    for group in spec.groups:
        members = candidates.labels.selected(group.labels) & candidates.claims.selected(group.claims)
        yield group.name, [name for name in rest if name in members]
        rest = [name for name in rest if name not in members]
    yield "", list(rest)


def _chunks(names: Sequence[str], length: int) -> Iterator[Sequence[str]]:
    return (names[start : start + length] for start in range(0, len(names), length))


def group_status(shards: Iterable[Shard]) -> list[Tree]:
    """Return `status.decisionGroups` of a Placement."""
    return [
        {
            "decisionGroupIndex": index,
            "decisionGroupName": members[0].group,
            "decisions": [shard.name for shard in members],
            "clusterCount": sum(len(shard.clusters) for shard in members),
        }
        for index, members in sorted(grouped((shard.index, shard) for shard in shards).items())
    ]
