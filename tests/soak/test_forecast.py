"""More fleets whose forecasts are what runs at every second derive."""

from pathlib import Path

import pytest

from tests.acts.test_forecast import equal_to_runs_at_every_second


@pytest.mark.parametrize("seed", [seed for seed in range(1, 12) if seed != 2])
def test_it_equals_runs_at_every_second(tmp_path: Path, seed: int) -> None:
    equal_to_runs_at_every_second(tmp_path, seed)
