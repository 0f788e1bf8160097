"""Some thousand random pools live their lives, and rest at every instant.

`SEED` and `ROUNDS` in the environment choose others, and more: `ROUNDS` counts pools, ten to a fleet.
"""

import os

import pytest

from tests.rules.pools.lives import Life

SEED = int(os.environ.get("SEED", "100000"))
ROUNDS = int(os.environ.get("ROUNDS", "2000"))
POOLS, INSTANTS = 10, 60


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS // POOLS))
def test_a_fleet_of_pools_rests_at_every_instant(seed: int) -> None:
    Life(seed, pools=POOLS).live(INSTANTS)
