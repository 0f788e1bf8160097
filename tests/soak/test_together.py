"""Eight branches, and every set of up to three of them merged and reconciled; as often as the soak has time for."""

from pathlib import Path

import pytest

from tests.features.plan.test_together import check


@pytest.mark.parametrize("seed", range(2, 8))
def test_every_set_of_three(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed, 56)
