"""What cannot be read changes nothing: every kind, in every way that its file can break, in a fleet where it matters.

While something is broken the run says so, decides nothing that a run without the edit would not, still counts silence
and sees recoveries; after the repair the derived files are as if nothing had happened. Here each kind meets some ways,
and each way some kinds; `tests/soak/test_unread.py` has all of them.
"""

import random
from pathlib import Path

import pytest

from muster.data.kinds import ALL
from muster.run.memo.state import open_state
from tests.support import subjects
from tests.support.breakages import WAYS, edit_of
from tests.support.episodes import Course, Episode, Line, Moment, begun, problems, remembered
from tests.support.underway import MOVES, UNDERWAY, broken_in, pair_of_breakages

#: Each kind meets one way in so many.
_SHARE = 48


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    return begun(tmp_path_factory.mktemp("matrix") / "fleet")


@pytest.fixture(scope="module")
def control(line: Line) -> Course:
    return Course.of(line)


def test_every_kind_is_in_it() -> None:
    assert {Path(path).stem.partition("-")[0] for path in subjects.SUBJECTS} == {
        kind.schema.partition("-")[0] for kind in ALL
    }


@pytest.mark.parametrize("path", [*subjects.SUBJECTS, *subjects.REPORTS])
def test_a_broken_file_changes_nothing(line: Line, control: Course, path: str) -> None:
    first = [*subjects.SUBJECTS, *subjects.REPORTS].index(path)
    for number, way in enumerate(WAYS):
        if (first + number) % _SHARE == 0 and (episode := Episode.of(path, way)):
            assert list(problems(control, Course.of(line, episode), episode)) == [], (path, way)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("path", "way"),
    [
        ("subjects/managedcluster.yaml", "a misspelt section"),
        ("subjects/resourcebinding.yaml", "broken YAML"),
        ("subjects/managedclusterset.yaml", "a tab in its path"),
        ("subjects/addonplacementscore.yaml", "a wrong type"),
        ("subjects/disruptionbudget.yaml", "an unknown field"),
        ("subjects/managedcluster-observed.yaml", "an empty file"),
        (f"{subjects.REF}:sent/managedcluster.yaml", "conflict markers"),
        (f"{subjects.REF}:sent/addonplacementscore.yaml", "UTF-16"),
    ],
)
def test_incremental_runs_decide_the_same(line: Line, control: Course, tmp_path: Path, path: str, way: str) -> None:
    state, episode = open_state(remembered(line, tmp_path / "state.sqlite")), Episode.of(path, way)
    assert state is not None
    assert episode is not None
    assert list(problems(control, Course.of(line, episode, state), episode)) == []


@pytest.mark.parametrize(
    ("path", "way"),
    [
        ("subjects/managedclusterset.yaml", "a wrong type"),
        (f"{subjects.REF}:sent/managedcluster.yaml", "a duplicate key"),
        (f"{subjects.REF}:sent/addonplacementscore.yaml", "a wrong type"),
    ],
)
def test_shards_decide_the_same(line: Line, path: str, way: str) -> None:
    episode = Episode.of(path, way)
    assert episode is not None
    assert Moment.of(line.commit(episode.edit), subjects.EDITED).decided_in_shards()


@pytest.mark.parametrize("way", ["a misspelt section", "broken YAML", "a link", "two writers"])
def test_a_cluster_that_falls_silent_with_a_broken_file_counts_as_disrupted(
    line: Line, control: Course, way: str
) -> None:
    path = f"clusters/{subjects.FALLS_SILENT}/cluster.yaml"
    edit = edit_of(way, path, subjects.SURROUNDINGS[path])
    assert edit
    moment = Moment.of(line.commit(edit), subjects.EDITED)
    assert moment.budgets() == control.edited.budgets() != []


@pytest.mark.parametrize(
    ("path", "way"), [("subjects/fleet.yaml", "an empty file"), ("subjects/rollout.yaml", "UTF-16")]
)
def test_shards_do_not_decide_without_a_setting_that_only_the_history_knows(line: Line, path: str, way: str) -> None:
    episode = Episode.of(path, way)
    assert episode is not None
    assert not Moment.of(line.commit(episode.edit), subjects.EDITED).decided_in_shards()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_two_broken_files_change_nothing(line: Line, control: Course, seed: int) -> None:
    name, episode = pair_of_breakages(line, random.Random(seed))
    assert list(problems(control, Course.of(line, episode), episode)) == [], name


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", UNDERWAY)
def test_a_broken_file_stops_nothing_that_is_under_way(line: Line, what: str) -> None:
    going = UNDERWAY[what](line)
    control = Course.of(going)
    assert control.edited.changes or control.healed.changes
    for seed in range(2):
        name, episode = broken_in(going, random.Random(seed), MOVES.get(what, ()))
        assert list(problems(control, Course.of(going, episode), episode)) == [], name
