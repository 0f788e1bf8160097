"""An executor for tests: it decides shards in any order."""

import random
from collections.abc import Iterable, Iterator

from muster.run.shards.executors import Here
from muster.run.shards.shard import Answered, Shard


class Shuffled(Here):
    """Decides shards in this process, in any order."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def decide(self, shards: Iterable[Shard]) -> Iterator[tuple[Shard, Answered | None]]:
        """Yield each shard with what follows of it."""
        known = list(shards)
        self._chance.shuffle(known)
        return super().decide(known)
