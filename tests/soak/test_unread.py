"""What cannot be read changes nothing: every kind in every way, in full, incremental and sharded runs.

Two files at a time, too, and while other things go on. All of it is half an hour of one core, and half of that with
`-n 2`. `tests/fleet/test_unread.py` has a twelfth of it.
"""

import random
from pathlib import Path

import pytest

from muster.run.memo.state import copy_of
from tests.support import subjects
from tests.support.breakages import WAYS
from tests.support.episodes import Course, Episode, Line, Moment, begun, problems, remembered
from tests.support.loose import puts
from tests.support.underway import MOVES, UNDERWAY, broken_in, pair_of_breakages

#: Of these nothing depends on the fleet's state: losing one is a finding at most.
_IDLE = frozenset(
    (
        "manifestwork",
        "endpointslice",
        "notificationpolicy",
        "disruptionbudget-second",
        "policytest",
        "approval",
        "placementdecision",
        "placementdecision.multicluster.x-k8s.io",
        "clusterprofile",
    )
)


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    return begun(tmp_path_factory.mktemp("matrix") / "fleet")


@pytest.fixture(scope="module")
def control(line: Line) -> Course:
    return Course.of(line)


@pytest.fixture(scope="module")
def settled(line: Line, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of the run before the edit."""
    return remembered(line, tmp_path_factory.mktemp("states") / "settled.sqlite")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", [*subjects.SUBJECTS, *subjects.REPORTS])
def test_a_broken_file_changes_nothing(
    line: Line, control: Course, settled: Path, tmp_path: Path, path: str, way: str
) -> None:
    if (episode := Episode.of(path, way)) is None:
        return
    assert problems_of(line, control, settled, tmp_path, episode) == []


def problems_of(line: Line, control: Course, settled: Path, tmp_path: Path, episode: Episode) -> list[str]:
    """What is wrong in full and incremental runs; shards are asserted to decide the same."""
    state = copy_of(settled, tmp_path / "state.sqlite")
    assert state is not None
    course = Course.of(line, episode, state)
    state.close()
    course.edited.decided_in_shards()
    return list(problems(control, course, episode))


@pytest.mark.parametrize("seed", range(200))
def test_two_broken_files_change_nothing(line: Line, control: Course, settled: Path, tmp_path: Path, seed: int) -> None:
    name, episode = pair_of_breakages(line, random.Random(seed))
    assert problems_of(line, control, settled, tmp_path, episode) == [], name


@pytest.fixture(scope="module")
def underway(line: Line) -> dict[str, tuple[Line, Course]]:
    lines = {what: begin(line) for what, begin in UNDERWAY.items()}
    return {what: (begun_line, Course.of(begun_line)) for what, begun_line in lines.items()}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("what", UNDERWAY)
def test_a_broken_file_stops_nothing_that_is_under_way(
    underway: dict[str, tuple[Line, Course]], settled: Path, tmp_path: Path, what: str, seed: int
) -> None:
    line, control = underway[what]
    name, episode = broken_in(line, random.Random(seed), MOVES.get(what, ()))
    assert problems_of(line, control, settled, tmp_path, episode) == [], name


@pytest.mark.parametrize("path", [path for path in subjects.SUBJECTS if Path(path).stem not in _IDLE])
def test_a_lost_object_matters(line: Line, control: Course, path: str) -> None:
    gone = Moment.of(line.commit(puts({**subjects.NEWS, path: None})), subjects.EDITED)
    assert gone.effects != control.edited.effects
