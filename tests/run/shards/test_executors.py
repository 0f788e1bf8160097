"""Who decides shards may die of it, and is then replaced; a shard of which everybody dies is given up; nobody stays."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from muster.dataclass import dataclass
from muster.run.incremental import answer
from muster.run.shards.evaluation import evaluate_shard
from muster.run.shards.executors import Executor, Processes
from muster.run.shards.shard import Answered, Shard
from muster.run.shards.sharded import decide_in_shards
from muster.run.shards.workers import Workers
from tests.support.living import Living, told

_OF_VICTIM = "clusters/c003/"
_FILES = ["agents/c003:lease.yaml", "agents/c003:observed.yaml", "clusters/c003/cluster.yaml"]


def dying(marker: Path, often: int, shard: Shard) -> Answered:
    """Die of one cluster, so many times."""
    if any(piece.path.startswith(_OF_VICTIM) for piece in shard.files):
        with marker.open("a") as file:
            file.write("x")
        if marker.stat().st_size <= often:
            os.kill(os.getpid(), signal.SIGKILL)
    return evaluate_shard(shard)


def sleeping(pids: Path, shard: Shard) -> Answered:
    """Say who is at work, and come to no end."""
    (pids / str(os.getpid())).touch()
    time.sleep(600)
    return evaluate_shard(shard)


def raising(shard: Shard) -> Answered:
    """Fail on one cluster."""
    if any(piece.path.startswith(_OF_VICTIM) for piece in shard.files):
        raise ZeroDivisionError
    return evaluate_shard(shard)


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Living:
    return Living.small(tmp_path_factory.mktemp("fleet") / "fleet", 3, 8)


def test_what_a_lost_worker_had_in_hand_is_decided_by_another(living: Living, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    done = decide_in_shards(living.question(), "", Processes(2, partial(dying, marker, 2)), 8)
    assert marker.stat().st_size == 3
    assert told(done.settled) == living.whole()


def test_files_of_which_every_worker_dies_are_told_and_all_else_is_decided(living: Living, tmp_path: Path) -> None:
    deadly = Processes(2, partial(dying, tmp_path / "died", 1000))
    done = answer(living.question(), None, Given(these=deadly))
    found = [one for one in done.settled.findings if "WorkerLost" in one.message]
    assert [one.file for one in found] == _FILES
    files = dict(done.settled.files)
    others = {path: text for path, text in living.whole()["files"].items() if "c003" not in path}  # type: ignore[attr-defined]
    assert {path for path in others if path.startswith("derived/managedclusters")} <= files.keys()


def test_a_cluster_that_kills_every_worker_keeps_what_was_derived(living: Living, tmp_path: Path) -> None:
    """Its files are what they were at the last run, which read them."""
    living.land(living.cold())
    path = "derived/managedclusters/c003.yaml"
    assert living.repo.show(path, "main")
    deadly = Processes(2, partial(dying, tmp_path / "died", 1000))
    done = answer(living.question(), None, Given(these=deadly))
    assert [one.file for one in done.settled.findings if "WorkerLost" in one.message] == _FILES
    assert path not in done.settled.files
    assert not done.settled.changes


@pytest.mark.falls_back
def test_an_error_in_a_worker_is_no_end(living: Living) -> None:
    done = answer(living.question(), None, Given(these=Processes(2, raising)))
    assert "ZeroDivisionError" in done.looked_at
    assert told(done.settled) == living.whole()


@dataclass(frozen=True)
class Given(Workers):
    """Workers of a test."""

    these: Executor | None = None
    files: int = 8

    def executor(self, files: int) -> Executor | None:
        """Give them."""
        return self.these


#: A program that has two workers sleep, and one that is interrupted in starting them: the second is at work, and not on
#: the pool's list yet.
SCRIPT = """
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, UTC
from functools import partial
from pathlib import Path
from muster.run.shards.executors import Processes
from muster.run.shards.shard import SharedContext, Shard
from tests.run.shards.test_executors import sleeping
shard = Shard(SharedContext('', None, datetime.now(UTC), (), True, True, True), (), ())
"""
RUN = """
if __name__ == '__main__':
    with Processes(2, partial(sleeping, Path(sys.argv[1]))) as found:
        list(found.decide([shard] * 9))
"""
INTERRUPTED = """
spawn = ProcessPoolExecutor._spawn_process
def interrupted(pool):
    spawn(pool)
    if len(pool._processes) == 2:
        while len(list(Path(sys.argv[1]).iterdir())) < 2:
            time.sleep(0.05)
        pool._processes.popitem()
        raise KeyboardInterrupt
ProcessPoolExecutor._spawn_process = interrupted
"""


@contextmanager
def started(folder: Path, script: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run a script; yield the process, and the folder in which its workers leave their ids."""
    (folder / "script.py").write_text(script)
    pids = folder / "pids"
    pids.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(folder / "script.py"), str(pids)],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    try:
        yield process, pids
    finally:
        process.kill()
        process.wait()


def _all_ended(pids: Path) -> bool:
    return not any(map(_lives, (int(file.name) for file in pids.iterdir())))


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGKILL, signal.SIGINT))
def test_workers_end_with_whoever_started_them(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path, SCRIPT + RUN) as (process, pids):
        assert _soon(lambda: len(list(pids.iterdir())) == 2), "both are at work"
        process.send_signal(number)
        assert process.wait(20)
        assert _soon(lambda: _all_ended(pids))


def test_so_does_one_in_whose_start_it_was_interrupted(tmp_path: Path) -> None:
    """Else whoever ends waits for that worker, which waits for it to end."""
    with started(tmp_path, SCRIPT + INTERRUPTED + RUN) as (process, pids):
        assert process.wait(20)
        assert _soon(lambda: _all_ended(pids))


def _soon(holds: Callable[[], bool]) -> bool:
    for _ in range(400):
        if holds():
            return True
        time.sleep(0.05)
    return False


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
