"""Shards on a Dask cluster: each worker gets shards and returns their answers.

If a worker is lost, the scheduler retries its shards elsewhere. Workers keep nothing and need no repository, only the
same version of muster.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from muster.data.extras import install_command
from muster.git.errors import RepositoryError
from muster.run.shards.evaluation import evaluate_shard
from muster.run.shards.shard import Answered, Evaluate, Shard

if TYPE_CHECKING:
    from distributed import Client, Future

#: The number of shards at each worker thread, or on the way to it.
_AHEAD: Final = 2
#: How long a scheduler may take to answer, and how long to wait for a first worker.
_PATIENCE_SECONDS: Final = 20


class OnDask:
    """Decides shards on the Dask cluster of a scheduler, by its address or its file."""

    def __init__(self, scheduler: str, evaluate: Evaluate = evaluate_shard) -> None:
        self._scheduler, self._evaluate = scheduler, evaluate
        self._client: Client | None = None

    def __enter__(self) -> Self:
        try:
            from distributed import Client
        except ImportError as error:
            raise RepositoryError(
                "workers of Dask are asked for, and Dask is not installed", install_command("dask")
            ) from error
        where = {"scheduler_file": self._scheduler} if Path(self._scheduler).is_file() else {"address": self._scheduler}
        try:
            self._client = Client(**where, timeout=_PATIENCE_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise RepositoryError(f"no Dask scheduler answers at {self._scheduler}", "is it running?") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def decide(self, shards: Iterable[Shard]) -> Iterator[tuple[Shard, Answered | None]]:
        """Yield each shard with its answer; None if it killed its workers."""
        from distributed import wait

        client, left, pending = self._client, iter(shards), dict["Future[Answered]", Shard]()
        assert client is not None
        self._require_workers(client)
        while True:
            most = max(sum(client.nthreads().values()), 1) * _AHEAD
            while len(pending) < most and (shard := next(left, None)) is not None:
                pending[client.submit(self._evaluate, shard, pure=False)] = shard
            if not pending:
                return
            try:
                with client.as_current():
                    wait(list(pending), timeout=_PATIENCE_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                self._require_workers(client)
                continue
            for future in [future for future in pending if future.done()]:
                yield pending.pop(future), self._result(future)

    def _result(self, future: "Future[Answered]") -> Answered | None:
        from distributed import KilledWorker

        try:
            answered: Answered = future.result()
        except KilledWorker:
            return None
        except ImportError as error:
            raise RepositoryError(
                f"a Dask worker has no muster, or another one: {error}", "give all workers the version that runs here"
            ) from error
        return answered

    def _require_workers(self, client: "Client") -> None:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE_SECONDS)
        except (OSError, TimeoutError) as error:
            raise RepositoryError(
                f"the Dask cluster of {self._scheduler} has no workers", f"dask worker {self._scheduler}"
            ) from error
