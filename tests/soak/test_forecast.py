"""More fleets whose forecasts are what runs at every second derive, or at some instants of a longer time."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.features.forecast.test_forecast import equal_to_runs_at_every_second
from tests.support.instants import equals_forecast
from tests.support.living import Living
from tests.support.policy_happenings import OF_POLICIES


@pytest.mark.parametrize("seed", range(1, 12))
def test_it_equals_runs_at_every_second(tmp_path: Path, seed: int) -> None:
    equal_to_runs_at_every_second(tmp_path, seed)


@pytest.mark.parametrize("seed", (12, 13))
def test_over_an_hour(tmp_path: Path, seed: int) -> None:
    equal_to_runs_at_every_second(tmp_path, seed, timedelta(hours=1))


@pytest.mark.parametrize("seed", range(400, 420))
def test_it_equals_runs_at_its_moments_and_at_others(tmp_path: Path, seed: int) -> None:
    living = Living.small(tmp_path / "fleet", seed, 8)
    living.more = OF_POLICIES
    for number in range(40):
        living.step()
        living.land(living.cold())
        if number % 8 == 7:
            span = living.chance.choice((timedelta(minutes=1), timedelta(minutes=20), timedelta(hours=3)))
            seconds = (living.chance.randint(1, int(span.total_seconds())) for _ in range(4))
            equals_forecast(living, span, [living.now + timedelta(seconds=second) for second in seconds])
