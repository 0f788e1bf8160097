"""The fleet whose agents sign, for longer: see `tests/run/test_signed.py`."""

from pathlib import Path

import pytest

from tests.run.test_signed import compare, signing_fleet


@pytest.mark.parametrize("seed", range(12))
def test_warm_and_in_shards_and_cold(tmp_path: Path, seed: int) -> None:
    compare(signing_fleet(tmp_path, seed), tmp_path, 40)
