"""The history of every case that has one, step by step with a state: each run decides what one from nothing does."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from muster.git.agents.listing import local_agent_refs
from muster.git.memory.pulses import Remembered
from muster.git.repository import Repository, open_repository
from muster.run.incremental import answer
from muster.run.memo.state import RunState
from muster.run.question import Question
from muster.run.settle import settle
from tests.conformance import hive, hyperfleet, karmada, ocm
from tests.conformance.evaluating import steps
from tests.support.git import new_repository
from tests.support.living import told

CASES = Path(__file__).parent / "cases"
#: Of each system what reads its cases, and what judges one.
SYSTEMS: dict[str, tuple[Any, Any]] = {
    "ocm": (ocm.cases, ocm.judge),
    "karmada": (karmada.cases, karmada.judge),
    "hyperfleet": (hyperfleet.cases, hyperfleet.judge),
    "hive": (hive.load, hive.judge),
}


def histories(system: str) -> Iterator[tuple[str, list[tuple[dict[str, str], datetime]]]]:
    """Of each case with several steps, in the order of time, its id and what it evaluates."""
    read, judge = SYSTEMS[system]
    for case in read(CASES):
        with steps() as noted:
            judge(case)
        taken = [step for number, step in enumerate(noted) if not number or step != noted[number - 1]]
        if len(taken) > 1 and all(earlier <= later for (_, earlier), (_, later) in pairwise(taken)):
            yield case["id"], taken


@pytest.mark.parametrize("system", ["ocm", "karmada", "hyperfleet"])  # every case of Hive's has one step
def test_step_by_step(tmp_path: Path, system: str) -> None:
    compared = partial = 0
    for id_, history in histories(system):
        repo = new_repository(tmp_path / str(compared))
        repository = open_repository(repo.path, repo.environ)
        state = RunState(tmp_path / f"kept-{compared}" / "state")
        before = dict[str, str]()
        for files, now in history:
            repo.commit({**dict.fromkeys(before.keys() - files.keys()), **files})
            before = files
            partial += same(repository, repo.tip(), state, now, id_)
            compared += 1
        state.close()
    assert compared > 3, "some cases have several steps"
    assert partial, "and some of those are looked at in part"


def same(repository: Repository, commit: str, state: RunState, now: datetime, id_: str) -> bool:
    """Compare what is decided from what is kept and from nothing; return whether only a part was looked at."""
    heard = local_agent_refs(repository)
    asked = Question(repository, commit, heard, now, Remembered(repository, listed=heard.own), most=2)
    found = answer(asked, state)
    snapshot = asked.snapshot()
    assert told(found.settled) == told(settle(snapshot, now, asked.remembered.memory)), (id_, now, found.looked_at)
    assert "Error" not in found.looked_at, id_
    found.remember(state)
    return not found.looked_at.startswith("the whole fleet")
