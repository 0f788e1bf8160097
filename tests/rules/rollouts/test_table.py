"""A Rollout's record gives back its clusters, in order, with what they have."""

from datetime import UTC, datetime

from muster.rules.progress.step import DecisionGroup
from muster.rules.rollouts.policy import ClusterRollout
from muster.rules.rollouts.table import RolloutTable


def test_a_record_gives_back_the_table() -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    entries = {
        "b": ClusterRollout("v1", "canary", "Succeeded", since),
        "a": ClusterRollout("v0", "rest", "Failed", since, "ok"),
        "d": ClusterRollout("v1", "rest", "Progressing", since, silent_after=since),
    }
    stages = ((DecisionGroup("", 0, ("b",)),), (DecisionGroup("", 0, ("a", "c")),))
    table = RolloutTable(stages, 2, 3, entries, frozenset(("d",)))
    assert RolloutTable.unpacked(table.packed()) == table
    assert table.names() == {"a", "b", "c"}
    assert table.placed
    assert not RolloutTable(((),), 0, None, {}).placed
