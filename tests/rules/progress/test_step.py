"""What the upstream cases of the next step (tests/conformance/rollout.py) do not show."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from muster.rules.placements.shards import DecisionShard
from muster.rules.progress.step import (
    FAILED,
    PROGRESSING,
    SUCCEEDED,
    TO_APPLY,
    ClusterStatus,
    DecisionGroup,
    groups_of,
    next_step,
)
from muster.rules.progress.strategy import ALL, PROGRESSIVE, GroupKey, RolloutLimits, Strategy, StrategyError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
GROUPS = (DecisionGroup("", 0, ("a", "b", "c", "d")),)


def _progressive(limits: RolloutLimits, *mandatory: GroupKey) -> Strategy:
    return Strategy(PROGRESSIVE, limits, mandatory)


def test_shards_of_a_group_are_one_group() -> None:
    shards = [DecisionShard("x-2", "", 1, ("b",)), DecisionShard("x-1", "", 1, ("a",)), DecisionShard("x", "eu", 0, ())]
    assert groups_of(shards) == (DecisionGroup("eu", 0, ()), DecisionGroup("", 1, ("a", "b")))


def test_clusters_in_flight_with_an_earlier_revision_keep_their_places() -> None:
    strategy = _progressive(RolloutLimits(deadline=10 * MINUTE, max_concurrency=2))
    stale = [ClusterStatus("d", PROGRESSING, NOW - MINUTE), ClusterStatus("gone", PROGRESSING, NOW)]
    step = next_step(strategy, GROUPS, [], NOW, stale=stale)
    assert (sorted(step.to_apply), step.next) == (["a"], NOW + 9 * MINUTE)
    step = next_step(strategy, GROUPS, [], NOW + 9 * MINUTE, stale=stale)
    assert (sorted(step.to_apply), step.next) == (["a", "b"], None)


def test_a_cluster_in_flight_takes_the_new_revision_in_its_own_place() -> None:
    strategy = _progressive(RolloutLimits(max_concurrency=1))
    for state in (TO_APPLY, PROGRESSING):
        assert next_step(strategy, GROUPS, [], NOW, stale=[ClusterStatus("a", state)]).to_apply == {"a"}
    assert next_step(strategy, GROUPS, [], NOW, stale=[ClusterStatus("a", SUCCEEDED)]).to_apply == {"a"}


def test_the_length_of_a_group_is_the_default_of_max_concurrency() -> None:
    assert len(next_step(_progressive(RolloutLimits()), GROUPS, [], NOW, group_length=3).to_apply) == 3
    assert len(next_step(_progressive(RolloutLimits(max_concurrency=1)), GROUPS, [], NOW, group_length=3).to_apply) == 1
    assert len(next_step(_progressive(RolloutLimits()), GROUPS, [], NOW).to_apply) == 4


def test_it_is_finished_when_all_have_succeeded_and_soaked_or_failed_within_what_is_tolerated() -> None:
    strategy = _progressive(RolloutLimits(min_success=MINUTE, max_failures=Fraction(1, 4)))
    done = [ClusterStatus(name, SUCCEEDED, NOW) for name in "abc"]
    for last, finished in (
        (ClusterStatus("d", SUCCEEDED, NOW), True),
        (ClusterStatus("d", FAILED, NOW), True),
        (ClusterStatus("d", PROGRESSING, NOW), False),
        (ClusterStatus("d", SUCCEEDED, NOW + MINUTE), False),
    ):
        assert next_step(strategy, GROUPS, [*done, last], NOW + MINUTE).finished is finished
    step = next_step(strategy, GROUPS, done, NOW + MINUTE)
    assert (step.finished, step.pending, sorted(step.to_apply)) == (False, (), ["d"])
    failed = [ClusterStatus(name, FAILED, NOW) for name in "cd"]
    step = next_step(strategy, GROUPS, [*done[:2], *failed], NOW + MINUTE)
    assert (step.finished, step.breach, step.failures) == (False, True, ("c", "d"))


def test_what_waits_for_its_turn() -> None:
    step = next_step(_progressive(RolloutLimits(max_concurrency=1)), GROUPS, [], NOW)
    assert step.pending == ("b", "c", "d")
    assert next_step(Strategy(ALL), GROUPS, [], NOW).pending == ()


def test_an_unknown_mandatory_group_is_an_error() -> None:
    strategy = _progressive(RolloutLimits(), GroupKey("", 0), GroupKey("canry", 0))
    with pytest.raises(StrategyError, match="there is no decision group named 'canry'") as caught:
        next_step(strategy, GROUPS, [], NOW)
    assert caught.value.path == ("mandatoryDecisionGroups", 1)


def test_a_soak_in_fractions_ends_at_a_whole_second() -> None:
    strategy = _progressive(RolloutLimits(min_success=timedelta(milliseconds=1500)))
    step = next_step(strategy, GROUPS, [ClusterStatus("a", SUCCEEDED, NOW)], NOW)
    assert step.next == NOW + timedelta(seconds=2)
