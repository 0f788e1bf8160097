"""Who decides a whole fleet, by what is said on the command line and by how large it is."""

from pathlib import Path

import pytest

from muster.run.shards.executors import Here, Processes
from muster.run.shards.on_dask import OnDask
from muster.run.shards.workers import LARGE, Workers, cores, workers_of


def test_a_number_is_of_processes() -> None:
    assert workers_of("4") == Workers(4)
    assert isinstance(workers_of("4").executor(1), Processes)


def test_one_is_this_process_which_cuts_only_what_is_large() -> None:
    assert workers_of("1").executor(LARGE - 1) is None
    assert isinstance(workers_of("1").executor(LARGE), Here)


def test_without_a_word_a_large_fleet_has_all_cores() -> None:
    assert Workers().executor(LARGE - 1) is None
    assert isinstance(Workers().executor(LARGE), Processes if cores() > 1 else Here)


def test_dask_by_address_and_by_file(tmp_path: Path) -> None:
    assert workers_of("dask://hub:8786") == Workers(dask="tcp://hub:8786")
    file = tmp_path / "scheduler.json"
    file.write_text("{}")
    assert workers_of(str(file)) == Workers(dask=str(file))
    assert isinstance(workers_of(str(file)).executor(1), OnDask)


@pytest.mark.parametrize("text", ("", "0", "-1", "many", "dask://", "tcp://hub:8786"))
def test_anything_else_is_nobody(text: str) -> None:
    with pytest.raises(ValueError, match="neither a number"):
        workers_of(text)
