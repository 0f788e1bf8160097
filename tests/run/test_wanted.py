"""What is asked of some objects, and of work trees: the same from what the last run left as from the whole fleet."""

from pathlib import Path

import pytest

from muster.cli.select import select, wanted
from muster.git.agents.listing import local_agent_refs
from muster.git.memory.pulses import Remembered
from muster.git.open import work_tree_snapshot
from muster.git.repository import open_repository, resolve
from muster.git.status import work_tree_changes
from muster.run.evaluate import evaluate_snapshot
from muster.run.incremental import answer
from muster.run.memo.state import RunState, open_state
from muster.run.question import FileSource, Question, read_work_tree
from muster.run.settle import settle
from tests.support.editing import Editing
from tests.support.living import Living, told


def state_in(folder: Path) -> RunState:
    state = open_state(folder / "kept" / "s")
    assert state is not None
    return state


@pytest.mark.parametrize("seed", (0,))
def test_of_some_objects(tmp_path: Path, seed: int) -> None:
    living, state, partial = Living.small(tmp_path / "fleet", seed, 12), state_in(tmp_path), 0
    for number in range(9):
        what = living.step() if number else "the beginning"
        asked = living.question()
        name = living.chance.choice(living.names)
        snapshot = asked.snapshot()
        whole = evaluate_snapshot(snapshot, asked.now)
        for target in (
            "clusters",
            f"cluster/{name}",
            "placements",
            "placement/apps/some",
            f"reports/{name}/validation",
            "policies",
            "leases",
        ):
            needed = wanted(target)
            if needed is None:
                continue
            found = answer(asked, state, wanted=needed)
            run = found.settled.first
            assert select(run, target) == select(whole, target), (number, what, target, found.looked_at)
            assert run.findings == whole.findings, (number, what, target, found.looked_at)
            assert run.held == whole.held, (number, what, target, found.looked_at)
            assert "Error" not in found.looked_at
            partial += run.fleet.partial
        if living.chance.random() < 0.8:
            found = answer(asked, state)
            living.land(found.settled)
            found.remember(state)
    assert partial > 8, "what this is about has happened"


@pytest.mark.parametrize("seed", (6,))
def test_of_work_trees(tmp_path: Path, seed: int) -> None:
    living, state, partial = Editing.small(tmp_path / "fleet", seed, 12), state_in(tmp_path), 0
    repository = open_repository(living.repo.path, living.repo.environ)
    for number in range(14):
        what = living.step() if number else "the beginning"
        heard, remembered, tip = local_agent_refs(repository), Remembered(repository), resolve(repository, "HEAD")
        changes = work_tree_changes(repository, tip)
        found = answer(
            Question(repository, tip, heard, living.now, remembered, 2, files=FileSource(read_work_tree, changes)),
            state,
        )
        whole = settle(work_tree_snapshot(repository, heard), living.now, remembered.memory)
        assert told(found.settled) == told(whole), (number, what, found.looked_at)
        assert found.settled.last.commit is None
        assert "Error" not in found.looked_at
        partial += found.settled.last.fleet.partial
        living.commit_or_not()
        if not living.repo.status():
            found = answer(living.question(), state)
            living.land(found.settled)
            found.remember(state)
    assert partial > 3, "what this is about has happened"
