"""A thousand simulated minutes: the invariants of `simulator.World.check` after every commit, and rest at the end.

`python -m tests.rules.pools.simulator SEEDS` simulates as many more as you like.
"""

import pytest

from tests.rules.pools.simulator import World

POOLS = {
    "plain": {"size": 3, "runningCount": 1, "powerstateTransitionToRunningTimeout": "20m"},
    "budgets": {
        "size": 4,
        "runningCount": 2,
        "maxSize": 7,
        "maxConcurrent": 2,
        "powerstateTransitionToRunningTimeout": "15m",
        "powerstateTransitionToHibernatingTimeout": "10m",
    },
}


@pytest.mark.parametrize("seed", range(1, 2))
@pytest.mark.parametrize("pool", sorted(POOLS))
def test_invariants_hold_and_the_pool_comes_to_rest(pool: str, seed: int) -> None:
    world = World(seed, POOLS[pool])
    world.run(120)
    assert world.assigned, "a simulation in which nobody gets a cluster shows nothing"
    world.calm(6 * 60)
    size = POOLS[pool]["size"]
    held = len(world.manifests()) - sum(world.buckets()[name] for name in ("standby", "assignable"))
    assert not world.buckets()["broken"], f"seed {seed}: {world.buckets()}"
    assert not world.buckets()["deleting"], f"seed {seed}: {world.buckets()}"
    assert not world.waiting(), f"seed {seed}: {world.waiting()} wait"
    assert world.buckets()["standby"] + world.buckets()["assignable"] == size, f"seed {seed}: {world.buckets()}"
    assert held == world.buckets()["claimed"], f"seed {seed}: {world.buckets()}"
    before = dict(world.files)
    world.dirty = True
    world.tick()
    assert world.files == before, f"seed {seed}: a pool at rest moves"
