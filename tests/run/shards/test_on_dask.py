"""Shards on a real Dask cluster: a scheduler and three workers, each a process, on the loopback interface.

Three, because a shard of which a worker dies goes to another one before it is given up, and somebody has to be left.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from muster.dataclass import dataclass
from muster.git.errors import RepositoryError
from muster.run.incremental import answer
from muster.run.shards.on_dask import OnDask
from muster.run.shards.sharded import decide_in_shards
from tests.run.shards.test_executors import Given, dying
from tests.support.living import Living, told

pytest.importorskip("distributed", reason="the extra `dask` is not installed")


@dataclass
class Cluster:
    """A scheduler, its file, and its workers."""

    file: Path
    processes: list[subprocess.Popen[bytes]]

    def start(self, *arguments: str) -> None:
        """Start a scheduler or a worker."""
        root = Path(__file__).parents[3]
        env = {**os.environ, "PYTHONPATH": str(root), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(self.file)],
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.file.parent,
            )
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("dask") / "scheduler.json", [])
    try:
        made.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        for _ in range(3):
            made.start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        for _ in range(600):
            if made.file.exists():
                break
            time.sleep(0.05)
        yield made
    finally:
        for process in made.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Living:
    return Living.small(tmp_path_factory.mktemp("fleet") / "fleet", 3, 8)


def test_the_same_is_decided(cluster: Cluster, living: Living) -> None:
    done = decide_in_shards(living.question(), "", OnDask(str(cluster.file)), 8)
    assert told(done.settled) == living.whole()


def test_what_a_lost_worker_had_in_hand_goes_to_another_and_is_told_where_that_dies_too(
    cluster: Cluster, living: Living, tmp_path: Path
) -> None:
    marker = tmp_path / "died"
    deadly = OnDask(str(cluster.file), partial(dying, marker, 2))
    done = answer(living.question(), None, Given(these=deadly, files=1))
    assert marker.stat().st_size == 2
    assert "clusters/c003/cluster.yaml" in {one.file for one in done.settled.findings if "WorkerLost" in one.message}


def test_where_nobody_answers_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.run.shards.on_dask._PATIENCE_SECONDS", 0.3)
    with pytest.raises(RepositoryError, match="no Dask scheduler answers"), OnDask("tcp://127.0.0.1:9"):
        pass
