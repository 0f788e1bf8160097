"""Where shards are decided: in this process, in processes of its own, or wherever Dask has workers (`on_dask`).

An executor takes only as many shards ahead as keep its workers busy, and yields each with its answer, in any order. A
lost worker costs a repetition. A shard that twice loses a worker while it is alone with it has no answer.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar

from muster.run.shards.evaluation import evaluate_shard
from muster.run.shards.shard import Answered, Shard
from muster.version import __version__

#: The number of shards at each worker, or on the way to it.
_AHEAD: Final = 2
#: How often a shard may lose a worker while it is alone with it.
_ATTEMPTS: Final = 2
_W = TypeVar("_W")
_A = TypeVar("_A")


class Executor(Protocol):
    """Decides shards. A context manager: what it started ends with the block."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def decide(self, shards: Iterable[Shard]) -> Iterator[tuple[Shard, Answered | None]]:
        """Yield each shard with its answer; None if it killed its workers."""
        ...


class Here:
    """Decides shards in this process, one after the other."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def decide(self, shards: Iterable[Shard]) -> Iterator[tuple[Shard, Answered | None]]:
        """Yield each shard with its answer."""
        for shard in shards:
            yield shard, evaluate_shard(shard)


class Processes(Generic[_W, _A]):
    """Answers shards, or other pieces of work, by `evaluate` in worker processes, which end with this one.

    A server process that has done nothing else forks them, because this process may have threads. They keep compiled
    expressions where this process does.
    """

    def __init__(self, count: int, evaluate: Callable[[_W], _A]) -> None:
        self._count, self._evaluate = count, evaluate
        self._pool: ProcessPoolExecutor | None = None
        self._context = _context()
        self._others: frozenset[int | None] = frozenset()
        self._minds_terms = False

    def __enter__(self) -> Self:
        """Begin. Until the end SIGTERM raises an exception, unless it is handled already, so that open files are
        closed.

        The server process takes a third of a second to start: meanwhile this process makes the first shards.
        """
        if self._context.get_start_method() == "forkserver":
            forkserver.ensure_running()
        free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if free and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _leave)
            self._minds_terms = True
        return self

    def __exit__(self, sort: type[BaseException] | None, *_: object) -> None:
        self._stop(at_once=sort is not None)
        if self._minds_terms:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def decide(self, shards: Iterable[_W]) -> Iterator[tuple[_W, _A | None]]:
        """Yield each shard with its answer; None if it killed its workers."""
        left, pending = iter(shards), dict[Future[_A], _W]()
        while True:
            while len(pending) < self._count * _AHEAD and (shard := next(left, None)) is not None:
                pending[self._submit(shard)] = shard
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            lost = []
            for future in done:
                shard = pending.pop(future)
                try:
                    answered = future.result()
                except BrokenProcessPool:
                    lost.append(shard)
                else:
                    yield shard, answered
            if lost:
                lost.extend(pending.values())
                pending.clear()
                yield from ((shard, self._alone(shard)) for shard in lost)

    def _alone(self, shard: _W) -> _A | None:
        for _ in range(_ATTEMPTS):
            try:
                return self._submit(shard).result()
            except BrokenProcessPool:
                continue
        return None

    def _submit(self, shard: _W) -> "Future[_A]":
        if self._pool is not None:
            with contextlib.suppress(BrokenProcessPool):
                return self._pool.submit(self._evaluate, shard)
            self._stop(at_once=True)
        self._others = frozenset(process.pid for process in multiprocessing.active_children())
        self._pool = ProcessPoolExecutor(self._count, self._context, _begin, (_cache_directory(),))
        return self._pool.submit(self._evaluate, shard)

    def _stop(self, *, at_once: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if at_once:
            # Not only those in the pool's list: a process whose start was interrupted is not in it, and this process
            # would wait for it at the end.
            for process in multiprocessing.active_children():
                if process.pid not in self._others:
                    process.kill()
        pool.shutdown(wait=True, cancel_futures=True)


def _context() -> BaseContext:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    context.set_forkserver_preload([__name__])
    return context


def _leave(number: int, _: object) -> None:
    sys.exit(128 + number)


def _cache_directory() -> Path | None:
    from muster.cel import cache as expressions

    store = expressions.current()
    return None if store is None else store.directory


def _begin(cache: Path | None) -> None:
    """Set up a worker: it ignores Ctrl-C, and ends when its parent ends."""
    from muster.cel import cache as expressions

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True, name="muster-parent").start()
    expressions.use(cache, __version__)
