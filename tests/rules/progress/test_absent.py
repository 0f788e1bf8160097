"""Where clusters go that their Placement dropped while they were in flight."""

import pytest

from muster.rules.progress.absent import with_absent
from muster.rules.progress.step import DecisionGroup
from muster.rules.progress.strategy import PROGRESSIVE_PER_GROUP, GroupKey, Strategy


@pytest.mark.parametrize(
    ("groups", "begun", "mandatory", "expected"),
    [
        pytest.param("x:a y:b z:c", "ab", "", "x:a y:bS z:c", id="the last that has begun"),
        pytest.param("x:a y:b z:c", "ac", "z", "x:aS y:b z:c", id="mandatory groups go first"),
        pytest.param("y:b z:c", "", "", ":S y:b z:c", id="their group is gone, the first of all"),
        pytest.param("", "", "", ":S", id="all groups are gone"),
        pytest.param("x:a y:b", "", "y", "x:a y:bS", id="a mandatory group that has not begun"),
    ],
)
def test_the_group_of_absent_clusters(groups: str, begun: str, mandatory: str, expected: str) -> None:
    decided = [DecisionGroup(word[0], index, tuple(word[2:])) for index, word in enumerate(groups.split())]
    strategy = Strategy(PROGRESSIVE_PER_GROUP, mandatory=tuple(GroupKey(name, 0) for name in mandatory))
    found = with_absent(strategy, decided, {"S"}, {*begun, "S"})
    assert " ".join(f"{group.name}:{''.join(group.clusters)}" for group in found) == expected
    assert with_absent(strategy, decided, (), begun) == tuple(decided)
