"""What cannot be read changes nothing: every kind in every way, in full, incremental and sharded runs.

All of it is less than twenty minutes of one core, and half of that with `-n 2`. `tests/fleet/test_unread.py` has a
twelfth of it.
"""

from pathlib import Path

import pytest

from muster.run.state import copy_of
from tests.support import subjects
from tests.support.breakages import WAYS
from tests.support.episodes import Course, Episode, Line, Moment, begun, problems, remembered
from tests.support.loose import puts

#: Of these nothing depends on the fleet's state: losing one is a finding at most.
_IDLE = frozenset((
    "managedclusteraddon", "manifestwork", "clustertaintpolicy", "endpointslice", "pulsepolicy", "notificationpolicy",
    "disruptionbudget-second", "policytest", "waiver", "approval", "calendar", "placementdecision",
    "placementdecision.multicluster.x-k8s.io", "clusterprofile",
))  # fmt: skip


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
    state = copy_of(settled, tmp_path / "state.sqlite")
    assert state is not None
    course = Course.of(line, episode, state)
    state.close()
    assert list(problems(control, course, episode)) == []
    course.edited.decided_in_shards()


@pytest.mark.parametrize("path", [path for path in subjects.SUBJECTS if Path(path).stem not in _IDLE])
def test_a_lost_object_matters(line: Line, control: Course, path: str) -> None:
    gone = Moment.of(line.commit(puts({path: None})), subjects.EDITED)
    assert gone.changes != control.edited.changes
