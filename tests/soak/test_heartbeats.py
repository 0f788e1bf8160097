"""Real agents beside a real hub, at the durations at which every second counts: a minute without one flap."""

from pathlib import Path

from tests.support.beating import beating

DURATIONS = {"two": 2, "five": 5, "ten": 10}


def test_agents_obey_short_durations_for_a_minute_and_never_flap(tmp_path: Path) -> None:
    with beating(tmp_path, DURATIONS) as world:
        commits = world.commits()
        gaps = world.gaps(tuple(DURATIONS), 60)
        for name, seconds in DURATIONS.items():
            said = world.statuses(name)
            assert said[said.index("True") :] == ["True"], (name, said, world.agents[name].lines)
            assert world.obeys(name) == seconds
            assert len(gaps[name]) >= 60 / seconds * 0.8, gaps
            assert max(gaps[name]) < 5 * seconds, gaps
        # Whoever is only heard of makes no commit.
        assert world.commits() == commits


def test_agents_follow_a_duration_that_changes_and_never_flap(tmp_path: Path) -> None:
    with beating(tmp_path, {"changing": 30}, interval=2) as world:
        for before, seconds in ((30, 5), (5, 2), (2, 10)):
            world.set_duration("changing", seconds)
            # At once: with the renewal that was due anyway.
            world.gaps(("changing",), before + 5)
            assert world.obeys("changing") == seconds
            world.gaps(("changing",), 6 * seconds)
        said = world.statuses("changing")
        assert said[said.index("True") :] == ["True"], (said, world.agents["changing"].lines)
