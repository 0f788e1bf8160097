"""What cannot be read changes nothing: every kind in every way, full runs and incremental ones."""

from pathlib import Path

import pytest

from muster.run.incremental import answer
from muster.run.state import open_state
from tests.support import subjects
from tests.support.breakages import WAYS, Entry
from tests.support.episodes import Course, Line, Moment, begun, decided_in_shards, problems

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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", [*subjects.SUBJECTS, *subjects.REPORTS])
def test_a_broken_file_changes_nothing(line: Line, control: Course, tmp_path: Path, path: str, way: str) -> None:
    state = open_state(tmp_path / "state.sqlite")
    assert state is not None
    answer(line.question(subjects.SETTLED), state).remember(state)
    assert list(problems(control, line, path, way, state)) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", [*subjects.SUBJECTS, *subjects.REPORTS])
def test_shards_decide_the_same(line: Line, path: str, way: str) -> None:
    decided_in_shards(line, path, way)


@pytest.mark.parametrize("path", [path for path in subjects.SUBJECTS if Path(path).stem not in _IDLE])
def test_a_lost_object_matters(line: Line, control: Course, path: str) -> None:
    gone = Moment.of(line.commit({path.encode(): Entry(None)}), subjects.EDITED)
    assert gone.changes != control.edited.changes
