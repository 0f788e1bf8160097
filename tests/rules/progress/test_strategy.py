"""A rolloutStrategy becomes a strategy, or an error at its field."""

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from muster.rules.progress.strategy import (
    ALL,
    GroupKey,
    RolloutLimits,
    Strategy,
    StrategyError,
    read_size,
    read_strategy,
    size_of,
)

_TEXT = (
    "failed to parse the provided maxConcurrency: '3' is an invalid maximum threshold value: string is not a percentage"
)


def test_a_progressive_strategy() -> None:
    body = {
        "minSuccessTime": "5m",
        "progressDeadline": "1h30m",
        "maxFailures": 2,
        "maxConcurrency": "12.5%",
        "mandatoryDecisionGroups": [{"groupName": "canary", "groupIndex": 3}, {}],
    }
    limits = RolloutLimits(timedelta(minutes=5), timedelta(minutes=90), 2, Fraction(1, 8))
    keys = (GroupKey("canary", 0), GroupKey("", 0))
    assert read_strategy({"type": "Progressive", "progressive": body}) == Strategy("Progressive", limits, keys)
    per_group = RolloutLimits(limits.min_success, limits.deadline, 2)
    expected = Strategy("ProgressivePerGroup", per_group, keys)
    assert read_strategy({"type": "ProgressivePerGroup", "progressivePerGroup": body}) == expected


@pytest.mark.parametrize("given", [{}, None, {"type": "All"}, {"all": {"minSuccessTime": "1h", "maxFailures": 3}}])
def test_all_neither_soaks_nor_counts(given: Any) -> None:
    assert read_strategy(given) == Strategy(ALL)


@pytest.mark.parametrize(
    ("strategy", "message", "path"),
    [
        ({"type": "Rapid"}, "incorrect rollout strategy type Rapid", ("type",)),
        ({"all": {"progressDeadline": "2d"}}, "invalid timeout format: 2d", ("all", "progressDeadline")),
        ({"all": {"progressDeadline": "10|"}}, "invalid timeout format: 10|", ("all", "progressDeadline")),
        (
            {"type": "Progressive", "progressive": {"maxConcurrency": "3"}},
            _TEXT,
            ("progressive", "maxConcurrency"),
        ),
        (
            {"type": "Progressive", "progressive": {"minSuccessTime": "soon"}},
            "invalid minSuccessTime soon",
            ("progressive", "minSuccessTime"),
        ),
    ],
)
def test_what_cannot_be_followed(strategy: Any, message: str, path: tuple[str, ...]) -> None:
    with pytest.raises(StrategyError) as caught:
        read_strategy(strategy)
    assert (caught.value.message, caught.value.path) == (message, path)


@pytest.mark.parametrize(
    ("size", "total", "default", "number"),
    [(None, 3, 3, 3), (0, 3, 3, 3), (-1, 3, 0, 0), (2, 3, 3, 2), (9, 3, 0, 3), ("34%", 3, 3, 2), ("0%", 4, 4, 4)],
)
def test_sizes(size: Any, total: int, default: int, number: int) -> None:
    assert size_of(read_size(size), total, default) == number
