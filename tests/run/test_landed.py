"""What a run records holds as soon as the files that it wrote are there: evaluating everything again says the same.

So a run after one that wrote much costs what a run costs after which nothing happened.
"""

from pathlib import Path

import pytest

from muster.run.full_and_partial import run_whole
from muster.run.incremental import answer
from muster.run.memo.state import NeighbourhoodRecord
from muster.run.neighbourhood_records import KeptNeighbourhoods
from tests.run.test_incremental import state_in
from tests.support.living import Living
from tests.support.policy_happenings import OF_POLICIES


def lasting(living: Living, steps: int) -> int:
    """Let a fleet live, and compare what each run that writes something records with what the next one finds; return
    how many files were compared that are not evaluated again."""
    count, lived = 0, list[str]()
    for _ in range(steps):
        lived.append(living.step())
        found = run_whole(living.question(), "asked")
        living.land(found.settled)
        again = run_whole(living.question(), "asked")
        assert not again.settled.files, lived
        if found.kept is None or again.kept is None or found.facts is None or not found.facts.steady:
            continue
        after = {neighbourhood.name: neighbourhood for neighbourhood in again.kept.records}
        for neighbourhood in found.kept.records:
            if all(file.blob for file in neighbourhood.written):
                assert _record(neighbourhood) == _record(after[neighbourhood.name]), lived
                count += len(neighbourhood.written)
    return count


def _record(neighbourhood: NeighbourhoodRecord) -> object:
    """What must be the same. What a cluster asked of budgets it does not ask again."""
    return (
        neighbourhood.names,
        neighbourhood.files,
        neighbourhood.shared,
        neighbourhood.troubled,
        neighbourhood.due,
        neighbourhood.settled,
        neighbourhood.totals,
        neighbourhood.findings,
        neighbourhood.last_reports,
        neighbourhood.failures,
    )


@pytest.mark.parametrize("seed", (10, 21))
def test_what_is_recorded_holds_once_it_is_there(tmp_path: Path, seed: int) -> None:
    living = Living.small(tmp_path / "fleet", seed, 8)
    living.more = OF_POLICIES if seed % 2 else ()
    assert lasting(living, 15) > 20


def test_a_run_after_one_that_wrote_much_evaluates_nothing(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 3, 12), state_in(tmp_path)
    first = answer(living.question(), state)
    assert len(first.settled.files) > 12
    living.land(first.settled)
    first.remember(state)
    second = answer(living.question(), state)
    assert second.looked_at.startswith("nothing:")
    second.remember(state)
    assert answer(living.question(), state).looked_at.startswith("nothing:")


def test_what_did_not_land_is_decided_again(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 3, 12), state_in(tmp_path)
    first = answer(living.question(), state)
    first.remember(state)
    assert answer(living.question(), state).settled.files == first.settled.files


def test_what_people_changed_in_it_is_decided_again(tmp_path: Path) -> None:
    living, state = Living.small(tmp_path / "fleet", 3, 12), state_in(tmp_path)
    first = answer(living.question(), state)
    living.land(first.settled)
    first.remember(state)
    path, text = next((path, text) for path, text in first.settled.files.items() if "/c003." in path)
    assert text is not None
    living.put(path, text.replace("True", "False"))
    assert answer(living.question(), state).settled.files == {path: text}


def test_kept_neighbourhoods_name_what_was_written(tmp_path: Path) -> None:
    living = Living.small(tmp_path / "fleet", 3, 4)
    found = run_whole(living.question(), "asked")
    assert isinstance(found.kept, KeptNeighbourhoods)
    assert {
        file.path for neighbourhood in found.kept.records for file in neighbourhood.written
    } == found.settled.files.keys()
