"""More fleets whose forecasts are what runs at every second derive."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.features.forecast.test_forecast import equal_to_runs_at_every_second


@pytest.mark.parametrize("seed", range(1, 12))
def test_it_equals_runs_at_every_second(tmp_path: Path, seed: int) -> None:
    equal_to_runs_at_every_second(tmp_path, seed)


@pytest.mark.parametrize("seed", (12, 13))
def test_over_an_hour(tmp_path: Path, seed: int) -> None:
    equal_to_runs_at_every_second(tmp_path, seed, timedelta(hours=1))
