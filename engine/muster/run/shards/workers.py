"""What decides a whole fleet: this process alone, worker processes, or the workers of a Dask cluster."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muster.dataclass import dataclass

if TYPE_CHECKING:
    from muster.run.shards.executors import Executor

#: The number of files from which a fleet is decided in shards by default.
LARGE: Final = 10_000
#: About how many files are decided together.
FILES: Final = 2_000
DASK: Final = "dask://"


@dataclass(frozen=True, slots=True)
class Workers:
    """What decides a whole fleet: `count` processes (None: one per core for a large fleet), or the workers of a Dask
    cluster, by its scheduler's address or file."""

    count: int | None = None
    dask: str = ""
    files: int = FILES

    def executor(self, files: int) -> "Executor | None":
        """Return what decides the shards of a fleet with this number of files; None to decide it as a whole."""
        if self.dask:
            from muster.run.shards.on_dask import OnDask

            return OnDask(self.dask)
        count = self.count if self.count is not None else cores() if files >= LARGE else 1
        if count == 1 and files < LARGE:
            return None
        from muster.run.shards.evaluation import evaluate_shard
        from muster.run.shards.executors import Here, Processes

        return Processes(count, evaluate_shard) if count > 1 else Here()


#: One process for each core if a fleet is large.
ONE_PER_CORE: Final = Workers()


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers_of(text: str) -> Workers:
    """Parse `4`, `dask://host:port` or the path of a Dask scheduler's file. ValueError for anything else."""
    if text.isdigit() and int(text) > 0:
        return Workers(int(text))
    if text.startswith(DASK) and len(text) > len(DASK):
        return Workers(dask=f"tcp://{text.removeprefix(DASK)}")
    if Path(text).is_file():
        return Workers(dask=text)
    raise ValueError(f"{text!r} is neither a number, nor dask://HOST:PORT, nor a Dask scheduler's file")
